"""Loops that go through the elements of an array one by one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build
from adc.ir.core import Block, Op, Value
from adc.passes.analysis.extents import Extents, Shape
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED


def loop_body_of(op: Op) -> Block | None:
    """The body of the innermost loop around ``op``; branches are looked through."""
    block = op.parent
    while block is not None and (parent := block.parent_op) is not None:
        if parent.opdef is not ops.if_:
            return block
        block = parent.parent
    return None


def loops_between(body: Block, outermost: Op) -> list[Op] | None:
    """The loops from the one with this ``body`` out to ``outermost``; None if one has no counter."""
    found: list[Op] = []
    block: Block | None = body
    while block is not None and (parent := block.parent_op) is not None:
        if parent.opdef in COUNTED:
            found.append(parent)
        elif parent.opdef is not ops.if_:
            return None
        if parent is outermost:
            return found
        block = parent.parent
    return None


def is_visible(value: Value, block: Block) -> bool:
    """Whether ``value`` is defined in ``block`` or around it."""
    home = value.block
    around: Block | None = block
    while around is not None:
        if home is around:
            return True
        parent = around.parent_op
        around = parent.parent if parent is not None else None
    return False


def match_counters(loops: Sequence[Op], subscripts: Sequence[Value], integers: Integers) -> list[int] | None:
    """For each loop, the position of a subscript that it alone, of these loops, moves; None unless each has its own.

    No element is then visited in two iterations.
    """
    counters = {loop.regions[0].args[0]: k for k, loop in enumerate(loops)}
    positions: list[int | None] = [None] * len(loops)
    for d, subscript in enumerate(subscripts):
        moving = [counters[v] for v in integers.linear(subscript).terms if v in counters]
        if len(moving) == 1 and positions[moving[0]] is None:
            coefficient = integers.linear(subscript).terms[loops[moving[0]].regions[0].args[0]]
            if coefficient in (1, -1):
                positions[moving[0]] = d
    return None if None in positions else [d for d in positions if d is not None]


Box = list[tuple[Value, Value] | None]
"""Per dimension: all of it, or from the one subscript to before the other one."""


def covered_box(
    loops: Sequence[Op], subscripts: Sequence[Value], shape: Shape, integers: Integers, extents: Extents
) -> Box | None:
    """The elements of an array of this shape that the loops, the innermost first, visit exactly once each.

    Bounds that are not those of a whole dimension are visible before the loops. None if it is not a box.
    """
    positions = match_counters(loops, subscripts, integers)
    if positions is None or len(positions) != len(shape):
        return None
    for inner, outer in itertools.pairwise(loops):
        if inner.parent is not outer.regions[0]:
            return None
    box: Box = [None] * len(shape)
    before = loops[-1].parent
    for loop, d in zip(loops, positions, strict=True):
        lower, upper, step = loop.operands[:3]
        counter = loop.regions[0].args[0]
        if extents.extent(step) != 1 or before is None:
            return None
        subscript = integers.linear(subscripts[d])
        forwards = subscript.terms == {counter: 1} and subscript.constant == 0
        if extents.extent(lower) == 0 and extents.extent(upper) == shape[d]:
            # Or backwards: subscript + counter == extent - 1.
            rest = subscript.plus(integers.linear(counter)).plus(integers.linear(upper), -1)
            if not forwards and (rest.terms or rest.constant != -1):
                return None
        elif forwards and is_visible(lower, before) and is_visible(upper, before):
            box[d] = lower, upper
        else:
            return None
    return box


def fill_outside(value: Value, memref: Value, box: Box) -> None:
    """Append what fills an array outside of a box with a value: slabs at both ends of each dimension, within those of
    the dimensions before."""
    zero, one = const_index(0), const_index(1)
    extents = [ops.dim(memref, dim=d) for d in range(len(box))]
    offsets, sizes = [zero] * len(box), list(extents)

    def fill(d: int, start: Value, size: Value) -> None:
        at, counts = [*offsets], [*sizes]
        at[d], counts[d] = start, ops.maxsi(size, zero)
        attrs = {"static_steps": (1,) * len(box), "dropped": ()}
        view = build(ops.subview, [memref, *at, *counts, *([one] * len(box))], attrs).result
        build(ops.fill, [value, view])

    for d, bounds in enumerate(box):
        if bounds is None:
            continue
        # Where the loops run at all, 0 <= lower < upper <= extent: their subscripts are in range.
        lower, upper = bounds
        first = ops.maxsi(lower, zero)
        end = ops.maxsi(upper, first)
        if constant_of(lower) != 0:
            fill(d, zero, ops.minsi(first, extents[d]))
        fill(d, end, extents[d] - end)
        offsets[d], sizes[d] = first, ops.maxsi(ops.minsi(end, extents[d]) - first, zero)
