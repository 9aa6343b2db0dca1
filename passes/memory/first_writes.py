"""Initial values of arrays that a loop over all elements, or most, overwrites or could set itself.

An adjoint makes an array of zeros and adds to each element in the loop that follows. That loop can store the zero
itself, element by element, and forwarding turns the zero into a store of the first term. The same goes for an array
that begins as a copy, as in ``new = u.copy(); new[1:-1] += f(u)``. A ``copy`` or ``fill`` before a loop that stores
every element is removed. If a loop leaves out the rim, only the rim is filled or copied. Each saves a pass over the
array.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property, partial
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import place_in
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extents import Extents, shadowed
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, ELEMENT, TARGET, accessed
from adc.passes.analysis.nests import (
    Box,
    copy_outside,
    covered_box,
    fill_outside,
    is_visible,
    loop_body_of,
    loops_between,
)
from adc.passes.due import due

_INITIAL = frozenset({ops.fill, ops.copy})


@dataclass(frozen=True)
class FirstWrites:
    """Remove the initial value of an array, or store it in the loop that goes through all elements first."""

    name: ClassVar[str] = "first-writes"
    needs = _INITIAL

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in due(self, module, partial(Memory.asked, summaries=summaries)):
            _FirstWrites(func, summaries).block(func.body)
        return module


class _FirstWrites:
    def __init__(self, func: Func, summaries: Summaries) -> None:
        self._memory = Memory.asked(func, summaries)
        self._integers = Integers()
        self._shadows = shadowed(func)
        self._extents = Extents(like=self._shadows)
        self._before: dict[Op, list[Op]] = {}  # operations to be put before a loop

    @cached_property
    def _handed_out(self) -> set[Value]:
        """Memory that others may reach before the function returns."""
        found: set[Value] = set()
        for op in self._memory.alias.carriers:
            if op.opdef in (ops.pack, ops.call, ops.store, ops.fill):
                handed = op.operands if op.opdef in (ops.pack, ops.call) else op.operands[:1]
                found = found.union(*(self._memory.reach(v) for v in handed if isinstance(v.type, MemRefType)))
        return found

    def block(self, block: Block) -> None:
        waiting: dict[Value, Op] = {}  # memory that has its initial value and has not been touched since
        dead: set[Op] = set()
        for op in block.ops:
            effects = self._memory.effects(op)
            if COLD in op.attrs or ops.LIKELY in op.attrs:
                touched = effects.reads | effects.writes
                for memref in [m for m, initial in waiting.items() if m in touched and initial.opdef is ops.fill]:
                    dead.add(_sink(waiting.pop(memref), op))
            for region in op.regions:
                self.block(region)
            if op.opdef in _INITIAL:
                target = op.operands[1]
                touched = set(effects.reads)
                if op.opdef is ops.fill and self._is_whole(target):
                    waiting[target] = op
                    continue
                if op.opdef is ops.copy and self._is_whole(target) and not self._memory.may_overlap(*op.operands):
                    self._touch(waiting, op, touched)
                    waiting[target] = op
                    continue
            if waiting and op.opdef in COUNTED:
                for memref in [m for m in waiting if m in effects.reads or m in effects.writes]:
                    if self._start_in(op, memref, waiting[memref]):
                        dead.add(waiting[memref])
            if effects.everything:
                waiting.clear()
            self._touch(waiting, op, effects.reads | effects.writes)
        if dead:
            for op in dead:
                op.drop()
            block.set_ops([new for op in block.ops for new in (*self._before.pop(op, ()), op) if new not in dead])

    def _touch(self, waiting: dict[Value, Op], op: Op, roots: Set[Value]) -> None:
        """Forget what ``op``, which reads or writes memory of these ``roots``, may touch."""
        for memref in [memref for memref in waiting if memref in roots]:
            if self._may_touch(op, memref):
                del waiting[memref]

    def _may_touch(self, op: Op, memref: Value) -> bool:
        """Whether ``op`` may touch ``memref``, which may share its names with other arrays in other steps of a loop."""
        if op.regions:
            return any(self._may_touch(inner, memref) for region in op.regions for inner in region.ops)
        effects = self._memory.effects(op)
        if memref not in effects.reads | effects.writes and not effects.everything:
            return False
        if op.opdef is not ops.copy and op.opdef not in ELEMENT:
            return True
        arrays = op.operands if op.opdef is ops.copy else [accessed(op)[0]]
        return any(self._memory.may_overlap(array, memref) for array in arrays)

    def _is_whole(self, memref: Value) -> bool:
        """Whether ``memref`` itself is an allocation all of whose uses are known; or a shadow, or an array that is
        returned, which others see only when the function ends without an error."""
        if memref in self._shadows:
            return True
        if memref.op is None or memref.op.opdef is not ops.alloc:
            return False
        return self._memory.is_local(memref) or memref not in self._handed_out

    def _start_in(self, loop: Op, memref: Value, initial: Op) -> bool:
        """Let ``loop`` begin with the initial value of each element; False if it may not go through all elements."""
        accesses = self._accesses(loop, memref)
        if not accesses:
            return False
        first = accesses[0]
        subscripts = accessed(first)[1:]
        if not subscripts:  # one element, which a loop goes through more than once
            return False
        body = loop_body_of(first)
        loops = loops_between(body, loop) if body is not None else None
        if body is None or loops is None or not all(is_visible(s, body) for s in subscripts):
            return False
        # The loops of the nest are those that the subscripts need; the last of them may contain further loops.
        while len(loops) > len(subscripts):
            loops = loops[1:]
        body = loops[0].regions[0]
        if not all(is_visible(s, body) for s in subscripts):
            return False
        box = covered_box(loops, subscripts, self._extents.shape(memref), self._integers, self._extents)
        if box is None:
            return False
        if any(box):
            # That the loop runs must imply that the subscripts are in range.
            surely = any(access.parent is body for access in accesses)
            if loops[-1] is not loop or not surely or not self._may_be_later(initial, loop):
                return False
        for access in accesses:
            place = place_in(body, access)
            if place is None or accessed(access)[1:] != subscripts:
                return False
        if first.opdef is ops.store and first.parent is body:
            self._fill_around(loop, memref, initial, box)
            return True  # overwritten before it is read
        kept = initial.opdef is ops.fill or self._may_be_later(initial, loop, within=True)
        if not kept or (initial.opdef is ops.copy and first.parent is not body):
            return False
        self._fill_around(loop, memref, initial, box)
        place = place_in(body, first)
        assert place is not None
        at = body.ops.index(place)
        start = Block()
        with insert_at(start, initial.loc):
            value = initial.operands[0]
            if initial.opdef is ops.copy:
                value = ops.load(value, *subscripts)
            build(ops.store, [value, memref, *subscripts])
        body.set_ops([*body.ops[:at], *start.ops, *body.ops[at:]])
        return True

    def _may_be_later(self, initial: Op, loop: Op, *, within: bool = False) -> bool:
        """Whether the source of the initial value is still unchanged before ``loop``, which is in the same block; or
        ``within`` the loop, too."""
        if initial.opdef is ops.fill:
            return True
        block, source = initial.parent, initial.operands[0]
        if block is None or loop.parent is not block or self._memory.may_overlap(*initial.operands):
            return False
        between = block.ops[block.ops.index(initial) + 1 : block.ops.index(loop) + within]
        return not any(self._may_change(op, source) for op in between)

    def _may_change(self, op: Op, array: Value) -> bool:
        """Whether ``op`` may change ``array``, given the names by which it can be known at this moment."""
        if not self._memory.may_write(op, array):
            return False
        if op.regions:
            return any(self._may_change(inner, array) for region in op.regions for inner in region.ops)
        return op.opdef not in TARGET or self._memory.may_overlap(op.operands[1], array)

    def _fill_around(self, loop: Op, memref: Value, initial: Op, box: Box) -> None:
        """Set what is outside the box before ``loop``."""
        if not any(box):
            return
        slabs = Block()
        with insert_at(slabs, initial.loc):
            outside = fill_outside if initial.opdef is ops.fill else copy_outside
            outside(initial.operands[0], memref, box)
        self._before.setdefault(loop, []).extend(slabs.ops)

    def _accesses(self, loop: Op, memref: Value) -> list[Op]:
        """Loads, stores and accumulations of elements of ``memref`` in ``loop``; none if it is used in another way."""
        found: list[Op] = []
        for op in loop.regions[0].walk():
            if op.regions:
                if any(self._memory.roots(v) & {memref} for v in op.operands if v.type == memref.type):
                    return []
                continue
            effects = self._memory.effects(op)
            if memref in effects.reads or memref in effects.writes or effects.everything:
                position = ELEMENT.get(op.opdef)
                if position is None:
                    return []
                if op.operands[position] is memref:
                    found.append(op)
                elif self._memory.may_overlap(op.operands[position], memref):
                    return []
        return found


def _sink(initial: Op, branch: Op) -> Op:
    """Begin both sides of ``branch`` with a copy of ``initial``, which is to be dropped."""
    for region in branch.regions:
        start = Block()
        with insert_at(start, initial.loc):
            clone_op(initial, {})
        region.set_ops([*start.ops, *region.ops])
    return initial
