"""NumPy's functions that make, copy, reshape and reduce arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from adc.frontend import arrays, nests, reductions, subscripts
from adc.frontend.attributes import extent, size
from adc.frontend.convert import as_scalar, convert, promote_types, store_scalar, to_element
from adc.frontend.creation import dtype_argument, shape_argument
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.loops import counted, make_range
from adc.frontend.matmul import matmul
from adc.frontend.methods import astype, copy, cumulative_axes, mean, reduce_with
from adc.frontend.rules import Rule, no_keywords, positional, take
from adc.frontend.values import (
    AbstractValue,
    Array,
    Lazy,
    Scalar,
    Static,
    Tuple,
    describe_type,
    is_array,
    is_numeric,
)
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, current_loc
from adc.ir.types import Type, f64, i64

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _filled(name: str, number: float | None) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        shape, dtype = take(f"np.{name}", ["shape", "dtype"], args, kwargs)
        assert shape is not None
        result = nests.allocate(frame, shape_argument(shape), dtype_argument(dtype, f64))
        return result if number is None else fill(result, Static(number))

    return rule


def fill(target: Array, value: AbstractValue) -> Array:
    """All elements set to one number."""
    element = to_element(convert(as_scalar(value), target.dtype), target.dtype)
    build(ops.fill, [element, target.memref])
    return target


def _full(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    shape, value, dtype = take("np.full", ["shape", "fill_value", "dtype"], args, kwargs, 2)
    assert shape is not None and value is not None
    if is_array(value):
        result = nests.allocate(frame, shape_argument(shape), dtype_argument(dtype, value.dtype))  # type: ignore[attr-defined]
        arrays.store(frame, result, value)
        return result
    result = nests.allocate(frame, shape_argument(shape), dtype_argument(dtype, as_scalar(value).dtype))
    return fill(result, value)


def _filled_like(name: str, number: float | None) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        model, dtype, shape = take(f"np.{name}", ["a", "dtype", "shape"], args, kwargs)
        result = _allocate_like(frame, name, model, dtype, shape)
        return result if number is None else fill(result, Static(number))

    return rule


def _full_like(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    model, value, dtype = take("np.full_like", ["a", "fill_value", "dtype"], args, kwargs, 2)
    assert value is not None
    result = _allocate_like(frame, "full_like", model, dtype, None)
    if is_array(value):
        arrays.store(frame, result, value)
        return result
    return fill(result, value)


def _allocate_like(
    frame: Frame, name: str, model: AbstractValue | None, dtype: AbstractValue | None, shape: AbstractValue | None
) -> Array:
    if not isinstance(model, Array | Lazy):
        shown = "nothing" if model is None else describe_type(model)
        raise refuse(current_loc(), f"np.{name}() takes an array, not {shown}")
    dims = model.dims if shape is None else shape_argument(shape)
    return nests.allocate(frame, dims, dtype_argument(dtype, model.dtype))


def _copy(frame: Frame, x: AbstractValue) -> AbstractValue:
    if is_numeric(x):
        x = _array_of(frame, Tuple((x,)), None)
        assert isinstance(x, Array)
        return subscripts.locate(x, [subscripts.Item(current_loc(), Static(0))])  # type: ignore[return-value]
    return copy(frame, _need_array("np.copy", x))


def _array(name: str, copies: bool) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        value, dtype = take(name, ["a", "dtype"], args, kwargs)
        assert value is not None
        if isinstance(value, Array | Lazy):
            wanted = dtype_argument(dtype, value.dtype)
            if not copies and wanted == value.dtype and isinstance(value, Array):
                return value
            return copy(frame, astype(value, wanted))
        if isinstance(value, Tuple):
            return _array_of(frame, value, dtype)
        raise refuse(
            current_loc(), f"{name}() of {describe_type(value)} is not supported", "pass an array or a tuple of numbers"
        )

    return rule


def _array_of(frame: Frame, value: Tuple, dtype: AbstractValue | None) -> Array:
    """An array from nested tuples of numbers."""
    shape: list[int] = []
    level: list[AbstractValue] = [value]
    while level and isinstance(level[0], Tuple):
        lengths = {len(v.items) if isinstance(v, Tuple) else -1 for v in level}
        if len(lengths) != 1:
            raise refuse(current_loc(), "the rows differ in length")
        shape.append(lengths.pop())
        level = [item for v in level if isinstance(v, Tuple) for item in v.items]
    if not all(is_numeric(v) for v in level):
        raise refuse(current_loc(), "an array is made of numbers", "make it with np.zeros, and store the rows")
    wanted = dtype_argument(dtype, _array_dtype(level))
    result = nests.allocate(frame, shape, wanted)
    for k, item in enumerate(level):
        place = [const_index(int(i)) for i in np.unravel_index(k, shape)]
        store_scalar(item, result.memref, place, wanted)
    return result


def _array_dtype(numbers: Sequence[AbstractValue]) -> Type:
    """The dtype of an array of numbers: here Python's count like NumPy's."""
    dtypes = [as_scalar(v).dtype for v in numbers] or [f64]
    return reduce(lambda a, b: promote_types(a, False, b, False), dtypes)


def _need_array(name: str, v: AbstractValue | None) -> Array | Lazy:
    if not isinstance(v, Array | Lazy):
        shown = "nothing" if v is None else describe_type(v)
        raise refuse(current_loc(), f"{name}() takes an array, not {shown}")
    return v


def _reduction(name: str, r: reductions.Reduction) -> Rule:
    def rule(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
        value, axis = take(f"np.{name}", ["a", "axis"], args, kwargs)
        if isinstance(value, Tuple):
            value = _array_of(frame, value, None)
        return reduce_with(frame, r, _need_array(f"np.{name}", value), axis)

    return rule


def _mean(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axis = take("np.mean", ["a", "axis"], args, kwargs)
    return mean(frame, _need_array("np.mean", value), axis)


def _dot(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    if is_numeric(a) or is_numeric(b):
        return arrays.operate(frame, "*", a, b)
    return matmul(frame, a, b)


def _transpose(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    value, axes = take("np.transpose", ["a", "axes"], args, kwargs)
    owner = _need_array("np.transpose", value)
    if axes is None:
        return subscripts.transpose(owner, tuple(reversed(range(owner.rank))))
    return subscripts.transpose(owner, cumulative_axes(axes, owner.rank))


def _shape(frame: Frame, x: AbstractValue) -> AbstractValue:
    return Tuple(tuple(extent(d) for d in _need_array("np.shape", x).dims))


def _size(frame: Frame, x: AbstractValue) -> AbstractValue:
    return size(_need_array("np.size", x).dims)


def _ndim(frame: Frame, x: AbstractValue) -> AbstractValue:
    return Static(x.rank if isinstance(x, Array | Lazy) else 0)


def _arange(frame: Frame, args: Args, kwargs: Keywords) -> AbstractValue:
    no_keywords("np.arange", kwargs)
    r = make_range(args)
    trip = counted(r)
    count = ops.ceildivsi(trip.upper - trip.lower, trip.step)
    count = ops.maxsi(count, const_index(0))
    result = nests.allocate(frame, [count], i64)

    def assign(i: list[Any]) -> None:
        value = trip.value(trip.lower + i[0] * trip.step)
        store_scalar(Scalar(value, i64), result.memref, i, i64)

    nests.nest([count], assign)
    return result


def _axis_free(name: str, r: reductions.Reduction) -> dict[Any, Rule]:
    return {getattr(np, name): _reduction(name, r)}


TABLE: dict[Any, Rule] = {
    np.zeros: _filled("zeros", 0),
    np.ones: _filled("ones", 1),
    np.empty: _filled("empty", None),
    np.full: _full,
    np.zeros_like: _filled_like("zeros_like", 0),
    np.ones_like: _filled_like("ones_like", 1),
    np.empty_like: _filled_like("empty_like", None),
    np.full_like: _full_like,
    np.copy: positional("np.copy", 1, _copy),
    np.array: _array("np.array", copies=True),
    np.asarray: _array("np.asarray", copies=False),
    np.arange: _arange,
    **_axis_free("sum", reductions.SUM),
    **_axis_free("prod", reductions.PROD),
    **_axis_free("min", reductions.MIN),
    **_axis_free("max", reductions.MAX),
    np.mean: _mean,
    np.dot: positional("np.dot", 2, _dot),
    np.vdot: positional("np.vdot", 2, _dot),
    np.matmul: positional("np.matmul", 2, matmul),
    np.transpose: _transpose,
    np.shape: positional("np.shape", 1, _shape),
    np.size: positional("np.size", 1, _size),
    np.ndim: positional("np.ndim", 1, _ndim),
}
