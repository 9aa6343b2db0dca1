"""Dead code elimination: nothing is kept unless something that can be observed needs it.

The pass marks from what is observed (results, memory of the caller, errors, loops that may not end) backwards and
sweeps the rest. Whatever is only needed by itself goes: a value that a loop carries for its own next value alone, an
array that is updated but from which nothing is read.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing, Roots
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import of_kinds
from adc.ir.types import MemRefType
from adc.passes.analysis.kinds import READS, REGIONS, TARGET, TERMINATORS, WRITES
from adc.passes.due import due
from adc.passes.rewrite import keep_carried, keep_while

_LOCAL = frozenset({ops.alloc, ops.grow})
_ALWAYS = frozenset({ops.assert_, ops.call, ops.while_})  # a while may not end, a call may do anything
_SEEDS = _ALWAYS | TARGET | WRITES | {ops.return_, ops.bound, ops.dealloc}


@dataclass(frozen=True)
class DCE:
    """Remove code whose absence cannot be observed."""

    name: ClassVar[str] = "dce"
    settles: ClassVar[bool] = True

    def run(self, module: Module) -> Module:
        for func in due(self, module, partial(Aliasing.asked, module=module)):
            marks = _Marks(func, module)
            marks.sweep(func.body)
        return module


class _Marks:
    """What is live. Operations that carry values by position are live as a whole and value by value."""

    def __init__(self, func: Func, module: Module) -> None:
        self.func = func
        self.ops: set[Op] = set()
        self.values: set[Value] = set()  # block arguments, and results of operations with regions
        self.memory: set[Value] = set()  # roots that something reads
        self.alias = Aliasing.asked(func, module)
        self._work: list[Op | Value] = []
        self._writers: dict[Value, list[Op]] = {}
        self._frees: dict[Value, list[Op]] = {}
        self._seed(func.body)
        self._solve()

    def _seed(self, body: Block) -> None:
        for op in of_kinds(body, _SEEDS):
            kind = op.opdef
            if kind in _ALWAYS or kind is ops.return_ or (kind is ops.bound and op.attrs["check"]):
                self._mark(op)
            elif kind is ops.dealloc:
                self._when_live(op, op.operands[0], self._frees)
            elif kind in TARGET:
                self._when_live(op, op.operands[1], self._writers)
            elif kind in WRITES and kind is not ops.grow:
                self._mark(op)

    def _when_live(self, op: Op, memref: Value, table: dict[Value, list[Op]]) -> None:
        """Let ``op`` wait until the memory of ``memref`` is read, unless that memory is visible from outside."""
        roots = self.alias.roots(memref)
        if not roots or any(root.op is None or root.op.opdef not in _LOCAL for root in roots):
            self._mark(op)
        else:
            for root in roots:
                table.setdefault(root, []).append(op)

    # Marking ----------------------------------------------------------------------------------------------------------

    def _mark(self, op: Op) -> None:
        if op not in self.ops:
            self.ops.add(op)
            self._work.append(op)

    def _need(self, value: Value) -> None:
        op = value.op
        if op is not None and op.opdef not in REGIONS:
            self._mark(op)
        elif value not in self.values:
            self.values.add(value)
            self._work.append(value)

    def _read(self, roots: Roots) -> None:
        for root in roots - self.memory:
            self.memory.add(root)
            for op in self._writers.pop(root, ()):
                self._mark(op)

    def _expose(self, memref: Value) -> None:
        """Mark everything that can be reached from ``memref`` as read, since others may read it."""
        roots = self.alias.roots(memref)
        while roots - self.memory:
            new = roots - self.memory
            self._read(new)
            roots = frozenset().union(*(self.alias.contents(root) for root in new))

    def _solve(self) -> None:
        work = self._work
        while work:
            item = work.pop()
            if isinstance(item, Op):
                self._visit_op(item)
            else:
                self._visit_value(item)

    def _visit_op(self, op: Op) -> None:
        kind = op.opdef
        parent = op.parent
        assert parent is not None
        around = parent.parent
        if type(around) is Op:
            self._mark(around)
        if kind in REGIONS:
            if kind is ops.while_:
                self._need(op.regions[0].terminator.operands[0])
            else:
                for operand in op.operands[: 1 if kind is ops.if_ else 3]:
                    self._need(operand)
            return
        marked, work = self.ops, self._work
        for operand in op.operands:  # as _need does
            source = operand.op
            if source is None or source.opdef in REGIONS:
                self._need(operand)
            elif source not in marked:
                marked.add(source)
                work.append(source)
        if kind is ops.load or kind is ops.copy:
            self._read(self.alias.roots(op.operands[0]))
        elif kind in (ops.store, ops.fill):
            if isinstance(op.operands[0].type, MemRefType):
                self._expose(op.operands[0])
        elif kind is ops.return_ or kind is ops.pack or (kind in READS and kind is not ops.accumulate):
            for operand in op.operands:
                if isinstance(operand.type, MemRefType):
                    self._expose(operand)
        if kind in _LOCAL:
            for free in self._frees.pop(op.result, ()):
                self._mark(free)

    def _visit_value(self, value: Value) -> None:
        """Mark what flows into a block argument, or into a result of an operation that carries values."""
        if isinstance(value.owner, Op):
            op, position = value.owner, value.index
            self._mark(op)
            if op.opdef is ops.while_:
                self._need(op.regions[0].terminator.operands[1 + position])
            elif op.opdef is ops.if_:
                for region in op.regions:
                    self._need(region.terminator.operands[position])
            else:
                self._carried(op, position)
            return
        parent = value.owner.parent
        if not isinstance(parent, Op):
            return
        self._mark(parent)
        if parent.opdef is ops.for_ and value.index > 0:
            self._carried(parent, value.index - 1)
        elif parent.opdef is ops.while_:
            before, after = parent.regions
            if value.owner is before:
                self._need(parent.operands[value.index])
                self._need(after.terminator.operands[value.index])
            else:
                self._need(before.terminator.operands[1 + value.index])

    def _carried(self, op: Op, position: int) -> None:
        body = op.regions[0]
        self._need(op.operands[3 + position])
        self._need(body.terminator.operands[position])
        if op.opdef is ops.for_:
            self.values.add(body.args[1 + position])
        self.values.add(op.results[position])

    # Sweeping ---------------------------------------------------------------------------------------------------------

    def sweep(self, block: Block) -> None:
        live = self.ops
        dead = [op for op in block.ops if op not in live and op.opdef not in TERMINATORS]
        # Users come after what they use, so dropping backwards leaves nothing dangling.
        for op in reversed(dead):
            op.drop()
        kept = [op for op in block.ops if op in live or op.opdef in TERMINATORS] if dead else block.ops
        owners = [op for op in kept if op.regions]
        for owner in owners:
            for region in owner.regions:
                self.sweep(region)
        narrowed = {owner: new for owner in owners if (new := self._narrow(owner)) is not owner}
        if narrowed:
            kept = [narrowed.get(op, op) for op in kept]
        if dead or narrowed:
            block.set_ops(kept)

    def _narrow(self, op: Op) -> Op:
        live = self.values
        if op.opdef is ops.while_:
            before, after = op.regions
            carried = [k for k, arg in enumerate(before.args) if arg in live]
            passed = [k for k, arg in enumerate(after.args) if arg in live or op.results[k] in live]
            if len(carried) == len(before.args) and len(passed) == len(after.args):
                return op
            return keep_while(op, carried, passed)
        keep = [k for k, result in enumerate(op.results) if result in live]
        return op if len(keep) == len(op.results) else keep_carried(op, keep)
