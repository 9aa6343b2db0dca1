"""Which values may refer to the same memory, as sets that grow while a function is walked.

Two relations are kept. Values of one *class* may be the same memory at one moment. A class *may hold* another: its
values may have taken over the memory of the other, which then no longer owns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adc.ir.core import Block, Value
from adc.ir.types import holds_memory


class Classes:
    """Union-find over memrefs and records."""

    def __init__(self, depth: dict[Block, int]) -> None:
        self._depth = depth
        self._leader: dict[Value, Value] = {}
        self._members: dict[Value, list[Value]] = {}
        self._holds: dict[Value, list[Value]] = {}
        self._outermost: dict[Value, int] = {}

    def find(self, value: Value) -> Value:
        leader = self._leader.get(value)
        if leader is None:
            self._leader[value] = value
            self._members[value] = [value]
            self._outermost[value] = self._place(value)
            return value
        while leader is not value:
            above = self._leader[leader]
            self._leader[value] = above
            value, leader = leader, above
        return leader

    def _place(self, value: Value) -> int:
        """Depth of the block that defines ``value``; -1, outside all, for arguments that may hold other memory."""
        block = value.block
        depth = self._depth.get(block, 0) if block is not None else 0
        return -1 if depth == 0 and value.op is None and holds_memory(value.type) else depth

    def union(self, a: Value, b: Value) -> None:
        """Note that ``a`` and ``b`` may be the same memory."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return
        if len(self._members[a]) < len(self._members[b]):
            a, b = b, a
        self._leader[b] = a
        self._members[a] += self._members.pop(b)
        self._holds.setdefault(a, []).extend(self._holds.pop(b, ()))
        self._outermost[a] = min(self._outermost[a], self._outermost.pop(b))

    def hold(self, holder: Value, held: Value) -> None:
        """Note that ``holder`` may own what ``held`` owned before."""
        self._holds.setdefault(self.find(holder), []).append(held)

    def is_held(self, leader: Value) -> bool:
        """Whether another class may have taken over memory of the class of ``leader``."""
        others = (held for holder, held in self._holds.items() if holder is not leader)
        return any(self.find(value) is leader for held in others for value in held)

    def reach(self, value: Value) -> set[Value]:
        """Leaders of the classes whose uses are uses of memory that ``value`` may own."""
        found: set[Value] = set()
        work = [self.find(value)]
        while work:
            leader = work.pop()
            if leader not in found:
                found.add(leader)
                work.extend(self.find(held) for held in self._holds.get(leader, ()))
        return found

    def members(self, leaders: Iterable[Value]) -> Iterator[Value]:
        for leader in leaders:
            yield from self._members[leader]

    def outermost(self, leaders: Iterable[Value]) -> int:
        """Depth of the outermost block that defines a member."""
        return min(self._outermost[leader] for leader in leaders)
