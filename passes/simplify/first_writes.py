"""Initial values of arrays that a loop over all elements would overwrite, or could set itself.

An adjoint makes an array of zeros and adds to each element in the loop that follows. The zero then is stored by that
loop, element by element, where forwarding turns it into a store of the first term; and ``copy`` or ``fill`` before a
loop that stores every element go altogether. Each saves a pass over the array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import place_in
from adc.ir.rewrite import clone_op
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, ELEMENT
from adc.passes.analysis.nests import Box, covered_box, fill_outside, is_visible, loop_body_of, loops_between

_INITIAL = frozenset({ops.fill, ops.copy})


@dataclass(frozen=True)
class FirstWrites:
    """Leave out the initial value of an array, or store it in the loop that goes through all elements first."""

    name: ClassVar[str] = "first-writes"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            if any(op.opdef in _INITIAL for op in func.body.walk()):
                walk = _FirstWrites(func, summaries)
                walk.block(func.body)
        return module


class _FirstWrites:
    def __init__(self, func: Func, summaries: Summaries) -> None:
        self._memory = Memory.asked(func, summaries)
        self._integers = Integers()
        self._shadows = {
            arg: func.args[int(attrs["adc.shadow"])]
            for arg, attrs in zip(func.args, func.arg_attrs, strict=True)
            if "adc.shadow" in attrs and "adc.alias" not in attrs
        }
        self._extents = Extents(like=self._shadows)
        self._before: dict[Op, list[Op]] = {}  # what is to stand in front of a loop

    def block(self, block: Block) -> None:
        waiting: dict[Value, Op] = {}  # memory that has its initial value and was not touched since
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
                if op.opdef is ops.copy and self._is_whole(target) and target not in touched:
                    waiting.pop(op.operands[0], None)
                    self._touch(waiting, touched)
                    waiting[target] = op
                    continue
            if waiting and op.opdef in COUNTED:
                for memref in [m for m in waiting if m in effects.reads or m in effects.writes]:
                    if self._start_in(op, memref, waiting[memref]):
                        dead.add(waiting[memref])
            if effects.everything:
                waiting.clear()
            self._touch(waiting, effects.reads | effects.writes)
        if dead:
            for op in dead:
                op.drop()
            block.set_ops([new for op in block.ops for new in (*self._before.pop(op, ()), op) if new not in dead])

    @staticmethod
    def _touch(waiting: dict[Value, Op], roots: set[Value]) -> None:
        for memref in list(waiting):
            if memref in roots:
                del waiting[memref]

    def _is_whole(self, memref: Value) -> bool:
        """Whether ``memref`` is an allocation itself, of which all uses can be seen; or a shadow, which is seen by
        others when the function ends without an error."""
        if memref in self._shadows:
            return True
        return memref.op is not None and memref.op.opdef is ops.alloc and self._memory.is_local(memref)

    def _start_in(self, loop: Op, memref: Value, initial: Op) -> bool:
        """Have ``loop`` begin with the initial value of each element; False if it cannot be seen to go through all."""
        accesses = self._accesses(loop, memref)
        if not accesses:
            return False
        first = accesses[0]
        subscripts = first.operands[ELEMENT[first.opdef] + 1 :]
        if not subscripts:  # one element, which a loop goes through more than once
            return False
        body = loop_body_of(first)
        loops = loops_between(body, loop) if body is not None else None
        if body is None or loops is None or not all(is_visible(s, body) for s in subscripts):
            return False
        # The loops of the nest are those that the subscripts need; what is inside the last of them may loop on.
        while len(loops) > len(subscripts):
            loops = loops[1:]
        body = loops[0].regions[0]
        if not all(is_visible(s, body) for s in subscripts):
            return False
        box = covered_box(loops, subscripts, self._extents.shape(memref), self._integers, self._extents)
        if box is None:
            return False
        if any(box):
            # That the subscripts are in range must follow from the loop's running.
            surely = any(access.parent is body for access in accesses)
            if initial.opdef is not ops.fill or loops[-1] is not loop or not surely:
                return False
        for access in accesses:
            place = place_in(body, access)
            if place is None or access.operands[ELEMENT[access.opdef] + 1 :] != subscripts:
                return False
        if first.opdef is ops.store and first.parent is body:
            self._fill_around(loop, memref, initial, box)
            return True  # overwritten before it is read
        if initial.opdef is not ops.fill:
            return False
        self._fill_around(loop, memref, initial, box)
        place = place_in(body, first)
        assert place is not None
        at = body.ops.index(place)
        start = Block()
        with insert_at(start, initial.loc):
            build(ops.store, [initial.operands[0], memref, *subscripts])
        body.set_ops([*body.ops[:at], *start.ops, *body.ops[at:]])
        return True

    def _fill_around(self, loop: Op, memref: Value, initial: Op, box: Box) -> None:
        """Before ``loop``, fill what is outside the box."""
        if not any(box):
            return
        slabs = Block()
        with insert_at(slabs, initial.loc):
            fill_outside(initial.operands[0], memref, box)
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
                if position is None or op.operands[position] is not memref:
                    return []
                found.append(op)
        return found


def _sink(initial: Op, branch: Op) -> Op:
    """Begin both sides of ``branch`` with a copy of ``initial``, which is to be dropped."""
    for region in branch.regions:
        start = Block()
        with insert_at(start, initial.loc):
            clone_op(initial, {})
        region.set_ops([*start.ops, *region.ops])
    return initial
