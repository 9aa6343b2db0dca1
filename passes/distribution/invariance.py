"""What is the same in each iteration of a loop: numbers, and the arrays that iterations make and fill alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import defined_in, with_enclosing
from adc.ir.types import MemRefType
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.kinds import COUNTED, PURE, STRUCTURED, TARGET, TERMINATORS, VIEWS


class Invariance:
    """``arrays``: those made in ``loop``, in no inner one, that are filled alike in each iteration, with the
    operations that write to them; ``known``: the values in the loop that are the same in each iteration; ``plain``: the
    blocks in it that run equally often in each of them."""

    def __init__(self, loop: Op, memory: Memory) -> None:
        self.loop, self.memory = loop, memory
        self.body = loop.regions[0]
        self.inner = defined_in(self.body)
        self._unwritten: dict[Value, bool] = {}
        self.position: dict[Op, int] = {}  # of what no inner loop is around
        self._number(self.body)
        # What comes after an error might not have run.
        self.limit = min((n for op, n in self.position.items() if self._may_end(op)), default=len(self.position))
        self.root: dict[Value, Value] = {}  # of arrays made in the body, and of their views
        self.arrays: dict[Value, list[Op]] = {}
        for op in self.position:
            if op.opdef is ops.alloc and not isinstance(op.result.type.element, MemRefType):  # type: ignore[attr-defined]
                self._candidate(op)
        self.settle()

    def _number(self, block: Block) -> None:
        for op in block.ops:
            if op.opdef is ops.if_:
                for region in op.regions:
                    self._number(region)
            else:
                self.position[op] = len(self.position)

    def _may_end(self, op: Op) -> bool:
        effects = self.memory.effects(op)
        return effects.traps or effects.everything

    def _candidate(self, alloc: Op) -> None:
        """Add an array, if it has the same extents in each iteration and is only written and read there."""
        if not self.inner.isdisjoint(alloc.operands):
            return
        views, writes = [alloc.result], []
        for view in views:
            for user, position in view.uses:
                if user.opdef in VIEWS and position == 0:
                    views.append(user.result)
                elif user.opdef in TARGET and position == 1:
                    writes.append(user)
                elif not (user.opdef in (ops.load, ops.copy) and position == 0) and user.opdef is not ops.dim:
                    return
        self.root.update(dict.fromkeys(views, alloc.result))
        self.arrays[alloc.result] = writes

    def leave(self, arrays: Iterable[Value]) -> None:
        """Take arrays for ones that differ from iteration to iteration."""
        for array in arrays:
            del self.arrays[array]
        self.settle()

    def settle(self) -> None:
        """Find out what is the same, given that ``arrays`` are; those that turn out not to be are left out."""
        while True:
            self.known: set[Value] = set(self.arrays)
            self.plain: set[Block] = {self.body}
            self._block(self.body)
            differ = [a for a, writes in self.arrays.items() if not all(map(self._is_same_write, writes))]
            for array in differ:
                del self.arrays[array]
            if not differ:
                return

    def place(self, op: Op) -> int:
        """The place of an operation in the body, with what is in its branches, in order."""
        return next(self.position[around] for around in with_enclosing(op) if around in self.position)

    def is_same(self, value: Value) -> bool:
        return value in self.known or value not in self.inner

    def _all_same(self, values: Iterable[Value]) -> bool:
        return all(map(self.is_same, values))

    def _is_same_write(self, write: Op) -> bool:
        if write.parent not in self.plain or self.place(write) >= self.limit:
            return False
        return self._all_same(write.operands) and (write.opdef is not ops.copy or self._is_readable(write.operands[0]))

    def _is_readable(self, array: Value) -> bool:
        """Whether what an array contains is the same in each iteration."""
        if array in self.inner:
            return self.root.get(array) in self.arrays
        if array not in self._unwritten:
            self._unwritten[array] = not self.memory.may_write(self.loop, array)
        return self._unwritten[array]

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op.opdef in COUNTED:
                self._loop(op)
            elif op.opdef is ops.if_:
                self._branch(op)
            elif op.opdef is ops.load:
                if self._all_same(op.operands) and self._is_readable(op.operands[0]):
                    self.known.add(op.result)
            elif op.opdef in PURE and op.opdef is not ops.ruled and self._all_same(op.operands):
                self.known.update(op.results)

    def _branch(self, op: Op) -> None:
        if not self.is_same(op.operands[0]) or op.parent not in self.plain:
            return
        self.plain.update(op.regions)
        for region in op.regions:
            self._block(region)
        for k, result in enumerate(op.results):
            if self._all_same(region.terminator.operands[k] for region in op.regions):
                self.known.add(result)

    def _loop(self, op: Op) -> None:
        if not self._all_same(op.operands[:3]) or op.parent not in self.plain:
            return
        (body,) = op.regions
        self.plain.add(body)
        before = set(self.known)
        starts = op.operands[3:]
        same = [k for k, start in enumerate(starts) if self.is_same(start)]
        while True:
            self.known = before | {body.args[0]}
            if op.opdef is ops.for_:
                self.known.update(body.args[1 + k] for k in same)
            self._block(body)
            still = [k for k in same if self.is_same(body.terminator.operands[k])]
            if still == same or op.opdef is ops.parallel:
                break
            same = still
        self.known.update(op.results[k] for k in still)


class Slice:
    """Operations of the loop that compute ``values``, or do what ``roots`` do, with the loops and branches around them;
    values that are ``homed`` are had otherwise."""

    def __init__(self, of: Invariance, homed: Iterable[Value] = ()) -> None:
        self._of = of
        self._homed = frozenset(homed)
        self.ops: set[Op] = set()
        self.values: set[Value] = set()

    def add(self, roots: Iterable[Op], values: Iterable[Value] = ()) -> None:
        work = list(values)
        for op in roots:
            if op not in self.ops:
                self.ops.add(op)
                work += op.operands
                self._around(op.parent, work)
        while work:
            value = work.pop()
            if value in self.values or value not in self._of.inner:
                continue
            self.values.add(value)
            if value in self._homed:
                continue
            if value.op is not None:
                self._around(value.op.parent, work)
                self._take(value.op, value.index, work)
            elif (loop := value.block.parent_op) is not self._of.loop and loop is not None:  # type: ignore[union-attr]
                self._around(value.block, work)
                if value.index:  # 0: a counter
                    self._take(loop, value.index - 1, work)

    def _take(self, op: Op, k: int, work: list[Value]) -> None:
        """Add what gives result ``k`` of an operation."""
        self.ops.add(op)
        if op.opdef not in STRUCTURED:
            work += op.operands
            return
        work += op.operands[: 1 if op.opdef is ops.if_ else 3]
        if op.opdef in COUNTED:
            work.append(op.operands[3 + k])
        if op.opdef is ops.for_:
            work.append(op.regions[0].args[1 + k])
        work += [region.terminator.operands[k] for region in op.regions]
        work.append(op.results[k])

    def _around(self, block: Block | None, work: list[Value]) -> None:
        while block is not None and block is not self._of.body:
            op = block.parent_op
            assert op is not None
            if op in self.ops and op.opdef in STRUCTURED:
                return
            self.ops.add(op)
            work += op.operands[: 1 if op.opdef is ops.if_ else 3] if op.opdef in STRUCTURED else op.operands
            block = op.parent


def effective(of: Invariance, without: Sequence[Op]) -> list[Op]:
    """The operations of the loop that are there for what they do, or that are not understood, except ``without``."""
    left = set(without)
    found: list[Op] = []

    def visit(block: Block) -> None:
        for op in block.ops:
            if op.opdef in STRUCTURED:
                for region in op.regions:
                    visit(region)
            elif op.regions:  # in ``scf.while`` everything decides
                found.append(op)
                found.extend(o for region in op.regions for o in region.walk())
            elif op in left or (op.opdef in TERMINATORS and block is not of.body):
                continue
            elif op.opdef is not ops.load and op.opdef is not ops.alloc and op.opdef not in PURE:
                found.append(op)

    visit(of.body)
    return found
