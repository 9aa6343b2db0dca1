"""Code hoisting: what both branches do is done once before them, or after them.

Both sides of a branch of the reverse sweep read and clear the cotangents of what the two sides of the primal stored.
Without these loads and stores, branches are shorter, and loops around them vectorise with fewer masks, or none.
Stores are only moved past computations here, not before differentiation: the reverse sweep would then clear cotangents
before it reads the tape, with nothing in between to keep LLVM from moving those loads into the branch, under masks.
Before differentiation it is loads that are moved: their adjoints, which add to shadows, are behind the branch then.

Reference: very busy expressions; Muchnick, Advanced Compiler Design and Implementation, 1997, section 13.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import PURE, SILENT
from adc.passes.analysis.subscripts import differ
from adc.passes.canonicalize.sink_stores import sink_stores

_MOVED = (ops.load, ops.store, ops.bound)

# Reads and writes that stay in a branch while others are moved past them; enough for one point of a program.
MOST_CROSSED = 32


@dataclass(frozen=True)
class HoistCommon:
    """Move operations that both regions of an ``scf.if`` share out of it, where nothing is in their way, and move
    their final stores to one element behind it. ``differentiable``: for code that is yet to be differentiated, loads
    and their subscripts only."""

    differentiable: bool = False
    name: ClassVar[str] = "hoist-common"
    needs = frozenset({ops.if_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            _Hoisting(func, summaries, self.differentiable).block(func.body)
        return module


class _Hoisting:
    def __init__(self, func: Func, summaries: Summaries, differentiable: bool) -> None:
        self._differentiable = differentiable
        self._memory = Memory.asked(func, summaries)
        self._integers = Integers()

    def block(self, block: Block) -> None:
        kept: list[Op] = []
        for op in block.ops:
            for region in op.regions:
                self.block(region)
            if op.opdef is ops.if_ and COLD not in op.attrs:
                kept += [*self._hoist(op), op, *([] if self._differentiable else sink_stores(op, past=True))]
                continue
            kept.append(op)
        block.set_ops(kept)

    def _hoist(self, branch: Op) -> list[Op]:
        """Take out of both regions what they share; returns it in the order in which it is to run."""
        then, other = branch.regions
        shared: list[Op] = []
        crossed: list[Op] = []  # what stays in the first region and touches memory, or may end the program
        for op in then.ops[:-1]:
            twin = self._twin(op, other) if self._is_movable(op, then) and self._passes(op, crossed) else None
            if twin is None:
                if op.opdef not in SILENT:
                    crossed.append(op)
                continue
            for result, same in zip(op.results, twin.results, strict=True):
                same.replace_uses(result)
            other.set_ops([o for o in other.ops if o is not twin])
            twin.drop()
            op.parent = branch.parent  # its users may follow
            shared.append(op)
        if shared:
            gone = set(shared)
            then.set_ops([op for op in then.ops if op not in gone])
        return shared

    def _is_movable(self, op: Op, region: Block) -> bool:
        """Whether an operation of ``region`` uses nothing that is made there, and is of a kind that is moved."""
        if any(isinstance(v.type, MemRefType | RecordType) for v in op.results) or op.regions:
            return False
        if op.opdef is ops.store and isinstance(op.operands[0].type, MemRefType | RecordType):
            return False
        if self._differentiable:
            kind = op.opdef is ops.load or (op.opdef in PURE and not any(v.type.is_float for v in op.results))
        else:
            kind = op.opdef in PURE or op.opdef in _MOVED
        return kind and all(v.block is not region for v in op.operands)

    def _twin(self, op: Op, other: Block) -> Op | None:
        """The operation of the second region that does the same, and could be the first there."""
        crossed: list[Op] = []
        for twin in other.ops[:-1]:
            if twin.opdef is op.opdef and twin.operands == op.operands and attr_key(twin.attrs) == attr_key(op.attrs):
                return twin if self._passes(twin, crossed) else None
            if twin.opdef not in SILENT:
                crossed.append(twin)
        return None

    def _passes(self, op: Op, crossed: Sequence[Op]) -> bool:
        """Whether ``op`` may run before all of ``crossed``."""
        if op.opdef in PURE:
            return True
        if op.opdef is ops.bound:
            return all(other.opdef is ops.load for other in crossed)  # what was stored before an error is seen after it
        return len(crossed) <= MOST_CROSSED and not any(self._in_the_way(other, op) for other in crossed)

    def _in_the_way(self, other: Op, op: Op) -> bool:
        if self._memory.effects(other).traps:
            return True  # a load may rely on a check, and what is stored after an error is not seen
        place, at = _element(op)
        if other.opdef is ops.load or other.opdef is ops.store:
            if op.opdef is ops.load and other.opdef is ops.load:
                return False
            its_place, its_at = _element(other)
            if its_place is place:
                return not differ(self._integers, at, its_at)
            return self._memory.may_overlap(place, its_place)
        written = self._memory.may_write(other, place)
        return written or (op.opdef is ops.store and self._memory.may_read(other, place))


def _element(op: Op) -> tuple[Value, Sequence[Value]]:
    """The memref and the subscripts of a load or a store."""
    first = 1 if op.opdef is ops.store else 0
    return op.operands[first], op.operands[first + 1 :]
