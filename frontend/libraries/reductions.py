"""Reductions over arrays: nested ``scf.parallel`` loops whose order of summation is adc's own, not that of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adc.frontend.abstract import value_type
from adc.frontend.data.dims import Dim, dim_value, static_dim
from adc.frontend.data.values import AbstractValue, Array, Lazy, Scalar
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import INT64, convert, kind, nonzero, to_element, trap_unless
from adc.frontend.numeric.nests import allocate, lazy_of, materialise, nest, versioned
from adc.ir import kinds, ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import Type, i1, i64, index


@dataclass(frozen=True)
class Reduction:
    """``kind`` as ``scf.reduce`` names it. ``empty`` is what NumPy says of an array without elements, if it minds."""

    name: str
    kind: str
    empty: str = ""

    def accumulator(self, dtype: Type) -> Type:
        """The dtype of the result: sums of small integers are int64."""
        if self.kind in ("add", "mul") and kind(dtype) < 2:
            return i64
        return dtype

    def identity(self, dtype: Type) -> Value:
        if self.kind == "add":
            return const(0, value_type(dtype))
        if self.kind == "mul":
            return const(1, value_type(dtype))
        if dtype.is_float:
            return const(float("inf") if self.kind == "min" else float("-inf"), dtype)
        return const(INT64.max if self.kind == "min" else INT64.min, index)


SUM = Reduction("sum", "add")
PROD = Reduction("prod", "mul")
MIN = Reduction("min", "min", "zero-size array to reduction operation minimum which has no identity")
MAX = Reduction("max", "max", "zero-size array to reduction operation maximum which has no identity")


def reduce(frame: Frame, r: Reduction, value: Array | Lazy, axes: Sequence[int] | None = None) -> AbstractValue:
    """All elements reduced to a number, or those along ``axes`` to an array."""
    lazy = lazy_of(value)
    dtype = r.accumulator(lazy.dtype)
    over = range(lazy.rank) if axes is None else axes
    if r.empty:
        for k in over:
            _check_not_empty(lazy.dims[k], r.empty)
    if axes is not None and len(axes) < lazy.rank:
        return _along(frame, r, lazy, tuple(axes), dtype)

    def total(dims: Sequence[Dim], general: bool) -> Value:
        return nested(list(dims), [], lambda i: _operand(lazy.element(i, general), dtype), r, dtype)

    found = versioned(lazy, lambda: total(lazy.plain, False), lambda: total(lazy.dims, True))
    assert found is not None
    return Scalar(_from_operand(found, dtype), dtype, weak=False)


def _check_not_empty(d: Dim, message: str) -> None:
    known = static_dim(d)
    if known is None or known == 0:
        trap_unless(ops.cmpi(dim_value(d), const_index(0), predicate="sgt"), "ValueError", message)


def _operand(s: Scalar, dtype: Type) -> Value:
    """An element as it is accumulated: bools as integers."""
    return convert(s, i64 if dtype == i1 else dtype)


def _from_operand(value: Value, dtype: Type) -> Value:
    return nonzero(Scalar(value, i64)) if dtype == i1 else value


def nested(
    dims: list[Dim], outer: list[Value], body: Callable[[list[Value]], Value], r: Reduction, dtype: Type
) -> Value:
    if not dims:
        return body(outer)
    block = Block([index], [f"i{len(outer)}"])
    with insert_at(block):
        partial = nested(dims[1:], [*outer, block.args[0]], body, r, dtype)
        build(ops.reduce, [partial], {"kinds": (r.kind,)})
    init = r.identity(partial.type)
    bounds = [const_index(0), dim_value(dims[0]), const_index(1)]
    return build(ops.parallel, [*bounds, init], result_types=[partial.type], regions=[block]).result


def _along(frame: Frame, r: Reduction, lazy: Lazy, axes: tuple[int, ...], dtype: Type) -> Array:
    if lazy.equalities:
        lazy = lazy_of(materialise(frame, lazy))
    kept = [k for k in range(lazy.rank) if k not in axes]
    result = allocate(frame, [lazy.plain[k] for k in kept], dtype)

    def element(outer: list[Value], inner: list[Value]) -> Value:
        place = dict(zip((*kept, *axes), (*outer, *inner), strict=True))
        return _operand(lazy.element([place[k] for k in range(lazy.rank)], False), dtype)

    def assign(outer: list[Value]) -> None:
        total = nested([lazy.plain[k] for k in axes], [], lambda inner: element(outer, inner), r, dtype)
        build(ops.store, [to_element(_from_operand(total, dtype), dtype), result.memref, *outer])

    nest([lazy.plain[k] for k in kept], assign)
    return result


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, checked."""
    result = []
    for axis in axes:
        if not -rank <= axis < rank:
            raise refuse(
                current_loc(), f"axis {axis} is out of bounds for a {rank}-D array", kind=kinds.INVALID_AXIS
            )
        result.append(axis % rank)
    if len(set(result)) != len(result):
        raise refuse(current_loc(), "an axis is named twice", kind=kinds.INVALID_AXIS)
    return tuple(result)


def count(value: Array | Lazy, axes: Sequence[int] | None) -> Value:
    """How many elements each result of a reduction combines."""
    total = const_index(1)
    for k in range(value.rank) if axes is None else axes:
        total = ops.muli(total, dim_value(value.dims[k]))
    return total
