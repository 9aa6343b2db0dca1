"""Branches between versions of parallel loops, and values that are equal if their conditions hold."""

from __future__ import annotations

from collections.abc import Iterable

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.types import IndexType
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.conditions import comparisons
from adc.passes.analysis.integers import says_more


def is_choice(op: Op) -> bool:
    """Whether ``op`` chooses between versions of parallel loops, with the fast one in its first region."""
    versions = op.opdef is ops.if_ and (op.attrs.get(COLD) == "else" or ops.LIKELY in op.attrs)
    return versions and any(inner.opdef is ops.parallel for inner in op.regions[0].ops)


class Same:
    """Which integers are equal if some conditions hold."""

    def __init__(self, conditions: Iterable[Value]) -> None:
        self._first: dict[Value, Value] = {}
        self._asked: set[Value] = set()
        equal = [op.operands for c in conditions for op in comparisons(c) if op.attrs["predicate"] == "eq"]
        for a, b in equal:
            self._unite(a, b)
        chosen = [v.op for pair in equal for v in pair if v.op is not None and v.op.opdef is ops.select]
        news = True
        while news:
            news = False
            for op in chosen:
                news |= self._is_either(op) and self._unite(op.operands[1], op.result)

    def _unite(self, a: Value, b: Value) -> bool:
        """Note that two are equal. Returns whether that was new."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return False
        if says_more(b, a):
            a, b = b, a
        self._first[b] = a
        return True

    def _is_either(self, select: Op) -> bool:
        """Whether a select chooses between equal numbers."""
        return self.find(select.operands[1]) is self.find(select.operands[2])

    def find(self, value: Value) -> Value:
        """The representative of all values that equal ``value``."""
        while value in self._first:
            value = self._first[value]
        if value.op is None or value.op.opdef is not ops.select or value in self._asked:
            return value
        self._asked.add(value)  # a value may equal one that it chooses from: then the search would come back to it
        found = self.find(value.op.operands[1]) if self._is_either(value.op) else value
        self._asked.discard(value)
        if found is not value:
            self._first[value] = found
        return found

    def replace_in(self, block: Block) -> None:
        """Replace equal values by their representative, where the conditions hold."""
        for op in block.walk():
            for position, value in enumerate(op.operands):
                if isinstance(value.type, IndexType) and (found := self.find(value)) is not value:
                    op.set_operand(position, found)
