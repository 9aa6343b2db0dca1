"""Common subexpressions, redundant loads and repeated checks, in one walk down the dominator tree.

With structured control flow dominance is nesting: what was computed before in this block or in an enclosing one is
available. Memory is followed on the same walk (``adc.passes.memory.available``), so a load of what was just loaded or
stored takes the value that is known. Equalities are followed as well: after an assertion that two integers are equal,
and in a branch that is taken if they are, one replaces the other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import partial
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.conditions import comparisons
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.integers import says_more
from adc.passes.analysis.kinds import COMMUTATIVE, COUNTED, PURE, READS, WRITES
from adc.passes.due import due
from adc.passes.memory.available import AvailableMemory
from adc.passes.rewrite import replace_op

Key = tuple[Hashable, ...]
_KEYED = PURE | {ops.bound, ops.assert_}
_TOUCHING = READS | WRITES


@dataclass(frozen=True)
class CSE:
    """Compute nothing twice; ``memory``: load nothing twice, and nothing that was just stored."""

    memory: bool = True
    name: ClassVar[str] = "cse"
    settles: ClassVar[bool] = True

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module) if self.memory else None
        for func in due(self, module, None if summaries is None else partial(Memory.asked, summaries=summaries)):
            _Walk(func, summaries).run()
        return module


class _Walk:
    def __init__(self, func: Func, summaries: Summaries | None) -> None:
        self._func = func
        self._seen: dict[Key, tuple[Value, ...]] = {}
        self._equal: dict[Value, Value] = {}  # from integers to those that they were asserted to equal
        self._bounds: set[Value] = set()  # of loops so far
        self._memory = AvailableMemory(Memory.asked(func, summaries)) if summaries is not None else None

    def run(self) -> None:
        self._block(self._func.body)

    def _block(self, block: Block, equal: Iterable[Value] = ()) -> None:
        """Walk a block. ``equal``: comparisons that hold in it, of integers that are equal."""
        added: list[Key] = []
        asserted = [gone for condition in equal if (gone := self._assert_equality(condition)) is not None]
        kept: list[Op] = []
        memory, seen, known_equal = self._memory, self._seen, self._equal
        mark = memory.enter() if memory else 0
        for op in block.ops:
            kind = op.opdef
            if known_equal and not known_equal.keys().isdisjoint(op.operands):
                self._take_equals(op)
            if kind in _KEYED:
                key = self._key(op)
                before = seen.get(key)
                if before is not None:
                    replace_op(op, before if kind is not ops.assert_ else ())
                    continue
                seen[key] = op.results
                added.append(key)
                if kind is ops.assert_ and (gone := self._assert_equality(op.operands[0])) is not None:
                    asserted.append(gone)
                if kind is ops.bound and op.attrs["check"]:
                    # The checked value also serves where no check is asked for.
                    unchecked = (kind, False, *op.operands)
                    if unchecked not in seen:
                        seen[unchecked] = op.results
                        added.append(unchecked)
            elif op.regions:
                if kind in COUNTED:
                    self._bounds.update(op.operands[:3])
                if memory:
                    memory.before_region(op)
                taken = list(comparisons(op.operands[0])) if kind is ops.if_ else []
                for region in op.regions:
                    self._block(region, [compare.result for compare in taken] if region is op.regions[0] else ())
                if memory:
                    memory.after_region(op)
            elif memory is not None and kind in _TOUCHING:
                if kind is ops.accumulate and (known := _element(op, memory)) is not None:
                    op = self._accumulated(op, known, kept)
                if kind is ops.load:
                    known = memory.load(op)
                    if known is not None:
                        replace_op(op, (known,))
                        continue
                elif memory.write(op):
                    op.drop()
                    continue
            kept.append(op)
        block.set_ops(kept)
        for key in added:
            del seen[key]
        for value in asserted:
            del known_equal[value]
        if memory:
            memory.leave(mark)

    def _take_equals(self, op: Op) -> None:
        for position, value in enumerate(op.operands):
            if value in self._equal:
                op.set_operand(position, self._representative(value))

    def _representative(self, value: Value) -> Value:
        while value in self._equal:
            value = self._equal[value]
        return value

    def _assert_equality(self, condition: Value) -> Value | None:
        """If ``condition`` says that two integers are equal, let one replace the other from now on, and return the
        other."""
        op = condition.op
        if op is None or op.opdef is not ops.cmpi or op.attrs["predicate"] != "eq":
            return None
        kept, gone = map(self._representative, op.operands)
        if kept is gone:
            return None
        # Loops before the assertion and after it should have one range.
        if says_more(gone, kept) or (not says_more(kept, gone) and gone in self._bounds and kept not in self._bounds):
            kept, gone = gone, kept
        self._equal[gone] = kept
        return gone

    @staticmethod
    def _accumulated(op: Op, known: Value, kept: list[Op]) -> Op:
        """An accumulation into an element whose value is known, as a store of the sum instead of ``op``.

        Onto zero the value itself is stored. This may store -0.0, which is no different as a cotangent. If the value is
        what the element held before it was zeroed (``a[k] += x``), nothing is left to do.
        """
        value, *place = op.operands
        if constant_of(known) != 0.0:
            total = Op(ops.addf, (known, value), (value.type,), {"fastmath": ops.CONTRACT}, loc=op.loc)
            total.parent = op.parent
            kept.append(total)
            value = total.result
        store = Op(ops.store, (value, *place), (), loc=op.loc)
        store.parent = op.parent
        op.drop()
        return store

    def _key(self, op: Op) -> Key:
        kind = op.opdef
        operands = op.operands
        if kind is ops.assert_:
            return (kind, operands[0])
        if kind is ops.bound:
            return (kind, op.attrs["check"], *operands)
        if kind in COMMUTATIVE and len(operands) == 2:
            a, b = operands
            if id(a) > id(b):  # a fixed order of the two; nothing that is kept depends on which
                operands = (b, a)
        if not op.attrs:
            return (kind, *operands)
        return (kind, attr_key(op.attrs), *operands)


def _element(op: Op, memory: AvailableMemory) -> Value | None:
    """The value of the element that an accumulation adds to, if it is known."""
    return None if op.attrs.get("atomic") else memory.known(op.operands[1], op.operands[2:])
