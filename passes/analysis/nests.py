"""Loops that visit the elements of an array one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

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
    """For each loop, the position of a subscript that only this loop moves; None unless each loop has one.

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


RIM = "adc.rim"
"""Attribute of a copy: it copies what the one store that follows it, in a loop, leaves as it was."""


class Bounds(NamedTuple):
    """The range from one subscript to before another one: ``offset`` and the limits of a loop."""

    lower: Value
    upper: Value
    offset: int = 0

    def built(self) -> tuple[Value, Value]:
        """Append the two subscripts; they are equal if the loop does not run. If it does, they are in range."""
        if not self.offset:
            return self.lower, self.upper
        upper = ops.maxsi(self.upper, self.lower)
        ends = tuple(ops.addi(end, const_index(self.offset)) for end in (self.lower, upper))
        if constant_of(self.lower) is None:  # the sums may have wrapped around
            runs = ops.cmpi(self.lower, upper, predicate="slt")
            ends = tuple(ops.select(runs, end, const_index(0)) for end in ends)
        return ends[0], ends[1]


Box = list[Bounds | None]
"""For each dimension: all of it, or a part."""


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
        elif subscript.terms == {counter: 1} and is_visible(lower, before) and is_visible(upper, before):
            box[d] = Bounds(lower, upper, subscript.constant)
        else:
            return None
    return box


def fill_outside(value: Value, memref: Value, box: Box) -> None:
    """Append the operations that fill an array outside a box with a value."""
    for slab in _slabs(memref, box):
        build(ops.fill, [value, slab(memref)])


def copy_outside(source: Value, memref: Value, box: Box) -> None:
    """Append the operations that copy an array outside a box from another one of the same shape."""
    for slab in _slabs(memref, box):
        build(ops.copy, [slab(source), slab(memref)], {RIM: True})


def _slabs(memref: Value, box: Box) -> list[Callable[[Value], Value]]:
    """The part of an array outside a box, as functions that build views of it: slabs at both ends of each dimension,
    limited to the box in the dimensions before."""
    zero, one = const_index(0), const_index(1)
    extents = [ops.dim(memref, dim=d) for d in range(len(box))]
    offsets, sizes = [zero] * len(box), list(extents)
    attrs = {"static_steps": (1,) * len(box), "dropped": ()}
    slabs: list[Callable[[Value], Value]] = []

    def add(d: int, start: Value, size: Value) -> None:
        at, counts = [*offsets], [*sizes]
        at[d], counts[d] = start, ops.maxsi(size, zero)
        slabs.append(lambda array: build(ops.subview, [array, *at, *counts, *([one] * len(box))], attrs).result)

    for d, bounds in enumerate(box):
        if bounds is None:
            continue
        # Where the loops run at all, 0 <= lower < upper <= extent: their subscripts are in range.
        lower, upper = bounds.built()
        first = ops.maxsi(lower, zero)
        end = ops.maxsi(upper, first)
        if constant_of(lower) != 0:
            add(d, zero, ops.minsi(first, extents[d]))
        add(d, end, extents[d] - end)
        offsets[d], sizes[d] = first, ops.maxsi(ops.minsi(end, extents[d]) - first, zero)
    return slabs
