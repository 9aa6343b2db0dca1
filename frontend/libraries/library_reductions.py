"""NumPy's functions that combine the elements of arrays: sums and their kin, products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.data.values import NONE, AbstractValue, Array, Lazy, Scalar, Static, Tuple, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import reductions
from adc.frontend.libraries.creation import array_of, need_array
from adc.frontend.libraries.matmul import matmul, product
from adc.frontend.libraries.methods import astype, axes_of, mean, reduce_with
from adc.frontend.numeric import arrays, slices, subscripts
from adc.frontend.numeric.convert import as_scalar, kind
from adc.frontend.numeric.rules import Rule, positional, take
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.types import f64, i1, i64

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _arguments(name: str, frame: Frame, args: Args, kwargs: Keywords) -> tuple[Array | Lazy, AbstractValue | None]:
    value, axis = take(f"np.{name}", ["a", "axis"], args, kwargs)
    if isinstance(value, Tuple):
        value = array_of(frame, value, None)
    return need_array(f"np.{name}", value), axis


def _reduction(name: str, r: reductions.Reduction) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        value, axis = _arguments(name, frame, args, kwargs)
        return reduce_with(frame, r, value, axis)

    return rule


def _mean(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axis = _arguments("mean", frame, args, kwargs)
    return mean(frame, value, axis)


def _variance(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axis = _arguments("var", frame, args, kwargs)
    if axis is not None and axes_of(axis, value.rank) is not None:
        raise refuse(
            current_loc(),
            "np.var() and np.std() along an axis are not supported",
            "use np.mean twice",
            kind=kinds.UNSUPPORTED_OPTION,
        )
    value = value if kind(value.dtype) == 2 else astype(value, f64)
    off = arrays.operate(frame, "-", value, mean(frame, value, None))
    square = arrays.elementwise(product, off, off)
    assert isinstance(square, Lazy)
    return mean(frame, square, None)


def _deviation(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    return _root(_variance(frame, args, kwargs))


def _root(v: AbstractValue) -> AbstractValue:
    """The root of a sum of squares: with derivative zero where they all are zero."""
    s = as_scalar(v)
    zero = const(0.0, s.value.type)
    root = ops.select(ops.cmpf(s.value, zero, predicate="oeq"), zero, ops.sqrt(s.value))
    return Scalar(root, s.dtype, weak=False)


def _norm(frame: Frame, x: AbstractValue) -> AbstractValue:
    """The Euclidean norm of all elements."""
    value = need_array("np.linalg.norm", x)
    value = value if kind(value.dtype) == 2 else astype(value, f64)
    square = arrays.elementwise(product, value, value)
    assert isinstance(square, Lazy)
    return _root(reductions.reduce(frame, reductions.SUM, square))


def _test(name: str, r: reductions.Reduction, finish: Callable[[Scalar], Scalar]) -> Rule:
    """any, all, count_nonzero: reductions of the truth of elements."""

    def rule(frame: Frame, x: AbstractValue) -> AbstractValue:
        value = astype(need_array(name, x), i1)
        numbers = astype(value, i64)
        total = reductions.reduce(frame, r, numbers)
        assert isinstance(total, Scalar)
        return finish(total)

    return positional(f"np.{name}", 1, rule, f"along an axis, use a loop: out[i] = np.{name}(x[i])")


def _truth(s: Scalar) -> Scalar:
    return Scalar(ops.cmpi(s.value, as_scalar(Static(0)).value, predicate="sgt"), i1, weak=False)


def _count(s: Scalar) -> Scalar:
    return Scalar(s.value, i64, weak=_COUNTS_ARE_PYTHON)


_COUNTS_ARE_PYTHON = not isinstance(np.count_nonzero(np.zeros(1)), np.generic)  # not in newer versions of NumPy
_ANY = reductions.Reduction("any", "max")
_ALL = reductions.Reduction("all", "min")


def _dot(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if is_numeric(a) or is_numeric(b):
        return arrays.operate(frame, "*", a, b)
    return matmul(frame, a, b)


def _vdot(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    for v in (a, b):
        if need_array("np.vdot", v).rank != 1:
            raise refuse(
                current_loc(),
                "np.vdot() of matrices is not supported",
                "use np.sum(a * b)",
                kind=kinds.UNSUPPORTED_OPTION,
            )
    return matmul(frame, a, b)


def _outer(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    columns, rows = (arrays.settled(frame, need_array("np.outer", v)) for v in (a, b))
    assert isinstance(columns, Array) and isinstance(rows, Array)
    if columns.rank != 1 or rows.rank != 1:
        raise refuse(
            current_loc(), "np.outer() takes two vectors", "multiply a[:, None] by b[None, :]", kind=kinds.WRONG_TYPE
        )
    whole = slices.Item(current_loc(), slices.Slice())
    column = subscripts.with_new_axes(columns, [whole, slices.Item(current_loc(), NONE)])
    return arrays.operate(frame, "*", column, rows)


TABLE: dict[Any, Rule] = {
    np.sum: _reduction("sum", reductions.SUM),
    np.prod: _reduction("prod", reductions.PROD),
    np.min: _reduction("min", reductions.MIN),
    np.max: _reduction("max", reductions.MAX),
    np.mean: _mean,
    np.var: _variance,
    np.std: _deviation,
    np.any: _test("any", _ANY, _truth),
    np.all: _test("all", _ALL, _truth),
    np.count_nonzero: _test("count_nonzero", reductions.SUM, _count),
    np.linalg.norm: positional("np.linalg.norm", 1, _norm),
    np.dot: positional("np.dot", 2, _dot),
    np.vdot: positional("np.vdot", 2, _vdot),
    np.matmul: positional("np.matmul", 2, matmul),
    np.outer: positional("np.outer", 2, _outer),
}
