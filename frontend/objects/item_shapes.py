"""What lists of run-time length are made like: the shapes of arrays in their items, and runs of equal items."""

from __future__ import annotations

from collections.abc import Sequence, Set

from adc.frontend import abstract
from adc.frontend.data.compounds import Contents
from adc.frontend.data.dims import Dim, same_dim
from adc.frontend.data.values import AbstractValue, Scalar, Static, is_static_number
from adc.frontend.frame import Frame
from adc.frontend.objects import columns, rows
from adc.ir import ops
from adc.ir.core import Block, Value
from adc.ir.types import MemRefType

_LONG_RUN = 4  # equal items that a loop writes


def shapes_in(held: Contents) -> list[columns.Shape]:
    """The shapes in a list of run-time length."""
    return columns.shapes_of(rows.buffers(held))


def shapes_for(
    frame: Frame, held: Contents, item: abstract.Abstract, like: Contents | None
) -> Sequence[columns.Shape]:
    """The shapes in a list of run-time length when ``item`` becomes the type of its items."""
    before, after = columns.leaves(rows.row_of(held)), columns.leaves(item)
    if len(before) == len(after):
        return shapes_in(held)
    if not columns.has_arrays(item):
        return [() for _ in after]
    if not rows.has_arrays(held):
        return like_those(frame, like, item)
    if columns.beside_none(item) is None or len(before) + 1 != len(after):
        raise columns.several_kinds()
    return [(), *shapes_in(held)]


def like_those(frame: Frame, like: Contents | None, item: abstract.Abstract) -> list[columns.Shape]:
    """The shapes of arrays in the items of a list, as far as they are known at the insertion point."""
    if like is not None and rows.is_growing(like):
        found = columns.usable(shapes_in(like))
        missing = len(columns.leaves(item)) - len(found)  # where those of the other list are never None, or always
        return [*[None] * missing, *found]
    if like is not None and like.items:
        if not columns.has_arrays(item):  # what it takes to look at an item of a loop is not there ahead of it
            return [() for _ in columns.leaves(item)]
        return columns.usable(columns.shapes(columns.parts(frame, like.items[0], item)))
    return [None for _ in columns.leaves(item)]


def are_uneven(frame: Frame, key: str, own: Sequence[columns.Shape], wanted: Sequence[columns.Shape]) -> bool:
    """Whether arrays of the shapes ``wanted`` are seen not to fit into the list ``key``: an extent follows from what
    changes in a loop, or the list has another from the start. The others are compared when the code runs."""
    fixed = {frame.func.body, *(c.appends.body for c in frame.loops if key not in c.before)}
    pairs = [two for a, b in zip(own, wanted, strict=True) if a and b for two in zip(a, b, strict=True)]
    return any(not same_dim(a, b) and (_is_determined(a, fixed) or _varies(b, fixed)) for a, b in pairs)


def _is_determined(d: Dim, fixed: Set[Block | None]) -> bool:
    """Whether an extent of arrays in a list is there before a loop or branch that sets items."""
    if isinstance(d, int):
        return d != 0
    of = d.op.operands[0] if d.op is not None and d.op.opdef is ops.dim else None
    return of is None or (of.block in fixed and (of.op is None or not of.op.regions))


def _varies(start: Dim, fixed: Set[Block | None]) -> bool:
    """Whether an extent follows from what changes inside of the blocks that are ``fixed``. Extents of what a function
    returns follow from those of its arguments, and from integers among these."""
    seen, work = set[Value](), [start]
    while work:
        v = work.pop()
        if isinstance(v, int) or v in seen or v.block in fixed:
            continue
        seen.add(v)
        if v.op is None or v.op.regions or v.op.opdef is ops.load:
            return True
        operands = v.op.operands
        if v.op.opdef is ops.subview:
            t = operands[0].type
            assert isinstance(t, MemRefType)
            operands = operands[1 + t.rank : 1 + 2 * t.rank]
        work += [x for x in operands if not x.type.is_float]
    return False


def runs(items: Sequence[AbstractValue]) -> list[tuple[int, int]]:
    """Where runs of items that are known to be the same number begin and end; short ones are single items."""
    ends = [k for k in range(1, len(items)) if not _is_same(items[k - 1], items[k])]
    found: list[tuple[int, int]] = []
    for start, end in zip([0, *ends], [*ends, len(items)], strict=True):
        found += [(start, end)] if end - start > _LONG_RUN else [(k, k + 1) for k in range(start, end)]
    return found


def _is_same(a: AbstractValue, b: AbstractValue) -> bool:
    if isinstance(a, Static) and isinstance(b, Static):
        if a.value is None or b.value is None:
            return a.value is b.value
        return type(a.value) is type(b.value) and repr(a.value) == repr(b.value) and is_static_number(a)
    return a is b and isinstance(a, Scalar)
