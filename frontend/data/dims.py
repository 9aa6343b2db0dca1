"""Extents of arrays, known or IR values: which of them are known to be equal, and which not to be 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Literal, NamedTuple

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, building_in
from adc.ir.core import Func, Op, Value
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import MemRefType, index

Dim = int | Value

NOT_ONE = "adc.not_one"
"""The attribute of an argument of a function that lists its extents that are not 1: such arrays are never stretched. On
an operation that reads an extent that is not 1 it is True; it also stands for an extent of which nothing else is known.
"""

SHAPE_ERROR = "ShapeError"
"""The error of an assertion about extents. Where the result of ``equal_dims`` is asserted, one extent represents the
other."""

BOUNDS_ERROR = "BoundsError"
"""The error of an assertion about subscripts, including those about the extents of index arrays."""

AS_BEFORE: Literal["as before"] = "as before"
"""Stands for an extent that a loop does not change."""


def read_dim(array: Value, k: int, *, not_one: bool = False) -> Value:
    """The extent ``k`` of an array."""
    return build(ops.dim, [array], {"dim": k, **({NOT_ONE: True} if not_one else {})}).result


def dim_value(d: Dim) -> Value:
    """An extent as an IR value."""
    return const_index(d) if isinstance(d, int) else d


def static_dim(d: Dim) -> int | None:
    """The extent, if it is known."""
    if isinstance(d, int):
        return d
    known = constant_of(d)
    return None if known is None else int(known)


def is_one(d: Dim) -> bool | None:
    """Whether an extent is 1; None if that is not known."""
    d = representative(d)
    known = static_dim(d)
    if known is not None:
        return known == 1
    assert isinstance(d, Value)
    if d.op is not None and d.op.attrs.get(NOT_ONE):
        return False
    read = _argument_of(d)
    if read is None:
        return None
    func, (position, axis) = read
    attrs = func.arg_attrs[position : position + 1]  # none as yet, if the function is being made
    return False if attrs and axis in attrs[0].get(NOT_ONE, ()) else None


def may_be_one(d: Dim) -> bool:
    """Whether an extent may be 1, as far as is known."""
    return is_one(d) is not False


def is_short(own: Dim, d: Dim) -> bool:
    """Whether the extent of an operand is 1, or at most 1 like that of ``a[k : k + 1]``, and that of the result may be
    more: then the operand is usually stretched, and so it is where nothing else is ("plain")."""
    return _at_most_one(own) and static_dim(d) != 1 and not same_dim(own, d)


def _at_most_one(d: Dim) -> bool:
    if isinstance(d, int) or constant_of(d) is not None:
        return static_dim(d) == 1
    span = _part_of(d, ops.maxsi)
    if span is None or span.opdef is not ops.subi:
        return False
    stop, start = (_clamped(v) for v in span.operands)
    if stop is None or start is None or stop.op is None or stop.op.opdef is not ops.addi:
        return False
    return constant_of(stop.op.operands[1]) == 1 and same_value(_bare(stop.op.operands[0]), start)


def _part_of(v: Value, opdef: OpDef) -> Op | None:
    """What computes the first operand of the operation that ``v`` is the result of, if that is of this kind."""
    return v.op.operands[0].op if v.op is not None and v.op.opdef is opdef else None


def _clamped(v: Value) -> Value | None:
    """The bound of a slice that ``v`` is within an axis, counted from the end if it is negative."""
    compare = _part_of(v, ops.select)
    return _bare(compare.operands[0]) if compare is not None and compare.opdef is ops.cmpi else None


def _bare(v: Value) -> Value:
    found = _uncast(v)
    assert isinstance(found, Value)
    return found


def representative(d: Dim) -> Dim:
    """The extent that represents all those that were checked to be equal to ``d`` before this point in the code."""
    d = _uncast(d)
    while isinstance(d, Value) and constant_of(d) is None and (other := _checked_equal(d)) is not None:
        d = _uncast(other)
    return d


def _uncast(d: Dim) -> Dim:
    """The extent without casts of ``index`` to itself."""
    while isinstance(d, Value) and d.op is not None and d.op.opdef is ops.index_cast:
        if d.op.operands[0].type != d.type:
            break
        d = d.op.operands[0]
    return d


def _checked_equal(v: Value) -> Value | None:
    """The value that an assertion found equal to ``v``, its second operand, if that assertion has held at this point in
    the code."""
    for compare, position in v.uses:
        if position != 1 or compare.opdef is not ops.cmpi or compare.attrs["predicate"] != "eq":
            continue
        for check, first in compare.result.uses:
            asserted = check.opdef is ops.assert_ and first == 0 and check.attrs["error"] in (SHAPE_ERROR, BOUNDS_ERROR)
            if asserted and check.parent is not None and building_in(check.parent):
                return compare.operands[0]
    return None


def equal_dims(a: Dim, b: Dim) -> Value:
    """Whether two extents that are not known to be equal are equal (i1). If that is asserted as a ``SHAPE_ERROR``, one
    represents the other from then on."""
    x, y = representative(a), representative(b)
    if static_dim(x) is None and static_dim(y) is not None:
        x, y = y, x
    return ops.cmpi(dim_value(x), dim_value(y), predicate="eq")


def is_usable(d: Any) -> bool:
    """Whether what a type says of an extent is a number, or a value that is available at this point in the code."""
    return isinstance(d, int) or (isinstance(d, Value) and d.block is not None and building_in(d.block))


class ArgumentDim(NamedTuple):
    """An extent of a function's result that is that of an argument of its IR function, or, if ``axis`` is None, an
    argument itself."""

    position: int
    axis: int | None


class ComputedDim(NamedTuple):
    """An extent of a function's result that is computed from ``operands``, which are such extents, too, or numbers.
    ``operation``: the name of one of those in ``_COMPUTED``."""

    operation: str
    operands: tuple[ArgumentDim | ComputedDim | int, ...]


ToldDim = ArgumentDim | ComputedDim

_COMPUTED = {
    definition.name: definition for definition in (ops.addi, ops.subi, ops.muli, ops.minsi, ops.maxsi, ops.floordivsi)
}
_TOLD_DEPTH = 4


def argument_dim(d: Dim, depth: int = _TOLD_DEPTH) -> ToldDim | None:
    """How the extent ``d`` follows from the arguments of the function that is being made; None if it is not known."""
    d = _uncast(d)
    if isinstance(d, int):
        return None
    if d.op is None:
        func = d.block.parent if d.block is not None else None
        return ArgumentDim(d.index, None) if isinstance(func, Func) and d.type == index else None
    if d.op.opdef is ops.dim:
        read = _argument_of(d)
        return None if read is None else read[1]
    if depth == 0 or _COMPUTED.get(d.op.opdef.name) is not d.op.opdef or d.type != index:
        return None
    if d.op.opdef is ops.floordivsi and not constant_of(d.op.operands[1]):
        return None
    found = [known if (known := static_dim(v)) is not None else argument_dim(v, depth - 1) for v in d.op.operands]
    operands = tuple(x for x in found if x is not None)
    return ComputedDim(d.op.opdef.name, operands) if len(operands) == len(found) else None


def dim_in_call(told: ToldDim, argument: Callable[[ArgumentDim], Dim | None]) -> Dim | None:
    """The extent that a function tells, computed where it is called from what ``argument`` finds."""
    if isinstance(told, ArgumentDim):
        return argument(told)
    found = [x if isinstance(x, int) else dim_in_call(x, argument) for x in told.operands]
    operands = [dim_value(x) for x in found if x is not None]
    if len(operands) < len(found):
        return None
    return build(_COMPUTED[told.operation], operands).result


def _argument_of(d: Dim) -> tuple[Func, ArgumentDim] | None:
    """The function, and its argument, whose extent ``d`` is."""
    if isinstance(d, int) or d.op is None or d.op.opdef is not ops.dim:
        return None
    array = d.op.operands[0]
    func = array.block.parent if array.op is None and array.block is not None else None
    return (func, ArgumentDim(array.index, d.op.attrs["dim"])) if isinstance(func, Func) else None


def told_dims(dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Extents as they are in types: numbers where they are known."""
    return tuple(d if (known := static_dim(d)) is None else known for d in dims)


def as_before(d: Any) -> Any:
    """An extent as recorded for a loop that is traced again: values of the IR will be different then."""
    return AS_BEFORE if isinstance(d, Value) else d


def common_dims(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """The extents, as far as known, of an array that is one of two; () if nothing is known."""
    return tuple(map(_common, a, b)) if a and b else ()


def _common(a: Any, b: Any) -> Any:
    if a is AS_BEFORE or b is AS_BEFORE:
        return b if a is AS_BEFORE else a
    if isinstance(a, int | Value) and isinstance(b, int | Value) and same_dim(a, b):
        return a
    if a == b:
        return a
    return NOT_ONE if _is_not_one(a) and _is_not_one(b) else None


def _is_not_one(d: Any) -> bool:
    return is_one(d) is False if isinstance(d, int | Value) else d is NOT_ONE


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two extents are known to be equal."""
    a, b = representative(a), representative(b)
    x, y = static_dim(a), static_dim(b)
    if x is not None or y is not None:
        return x == y
    assert isinstance(a, Value) and isinstance(b, Value)
    return same_value(a, b)


_DEPTH = 12


def same_value(a: Value, b: Value, depth: int = _DEPTH) -> bool:
    """Whether two values are computed in the same way from the same values, by pure operations."""
    if a is b:
        return True
    x, y = a.op, b.op
    if x is None or y is None or depth == 0 or x.opdef is not y.opdef or x.regions:
        return False
    if not x.opdef.pure and x.opdef is not ops.bound:  # if neither traps, two checks give the same
        return False
    if a.index != b.index or a.type != b.type or x.attrs != y.attrs or len(x.operands) != len(y.operands):
        return False
    return all(same_value(p, q, depth - 1) for p, q in zip(x.operands, y.operands, strict=True))


def brought_here(d: Any, depth: int = _DEPTH) -> Dim | None:
    """An extent that is computed elsewhere, as one that is available at this point in the code: computed again, if it
    follows from available values. None if it does not."""
    if is_usable(d):
        return d  # type: ignore[no-any-return]
    op = d.op if isinstance(d, Value) and not isinstance(d.type, MemRefType) else None
    if op is None or depth == 0 or op.regions or not op.opdef.pure or Trait.DIVISION in op.opdef.traits:
        return None
    operands = [brought_here(v, depth - 1) for v in op.operands]
    if not all(isinstance(v, Value) for v in operands):
        return None
    return build(op.opdef, operands, dict(op.attrs)).results[0]  # type: ignore[arg-type]


def unravelled(k: Value, dims: Sequence[Dim]) -> list[Value]:
    """The subscripts of element ``k`` of an array, in row-major order."""
    found: list[Value] = []
    for d in reversed(dims[1:]):
        found.insert(0, ops.remsi(k, dim_value(d)))
        k = ops.divsi(k, dim_value(d))
    return [k, *found][: len(dims)]


def count_of(dims: Sequence[Dim]) -> Dim:
    """The number of elements."""
    sizes = [static_dim(d) for d in dims]
    known = [size for size in sizes if size is not None]
    return math.prod(known) if len(known) == len(sizes) else reduce(ops.muli, map(dim_value, dims))
