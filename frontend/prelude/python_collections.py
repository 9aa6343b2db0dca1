"""Containers of Python's that are made of a list: what stands for ``collections.deque`` and for sets.

They are objects of these classes while the function is traced. ``items`` has a known or a run-time length, as any list.
Whether something is in a set is found by looking at all its items.
"""

from __future__ import annotations

from typing import Any


class Held:
    """What has its items in a list."""

    items: Any

    def __len__(self) -> Any:
        return len(self.items)

    def __contains__(self, x: Any) -> Any:
        return x in self.items


class Deque(Held):
    """``room`` has as many items as it holds at most, if it is known how many that are."""

    def __init__(self, items: Any, maxlen: Any = None, room: Any = None) -> None:
        self.items = items
        self.room = room
        self.most = maxlen
        if maxlen is not None:
            if maxlen < 0:
                raise ValueError("maxlen must be non-negative")
            if len(items) > 0:
                for _ in range(len(items) - self.maxlen):
                    items.pop(0)

    @property
    def maxlen(self) -> Any:
        return self.most if self.room is None else len(self.room)

    def append(self, x: Any) -> None:
        self.items.append(x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop(0)

    def appendleft(self, x: Any) -> None:
        self.items.insert(0, x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop()

    def extend(self, more: Any) -> None:
        for x in more:
            self.append(x)

    def extendleft(self, more: Any) -> None:
        for x in more:
            self.appendleft(x)

    def pop(self) -> Any:
        if len(self.items) == 0:
            raise IndexError("pop from an empty deque")
        return self.items.pop()

    def popleft(self) -> Any:
        if len(self.items) == 0:
            raise IndexError("pop from an empty deque")
        return self.items.pop(0)

    def rotate(self, n: Any = 1) -> None:
        for _ in range(n):
            if len(self.items) > 0:
                self.items.insert(0, self.items.pop())
        for _ in range(-n):
            if len(self.items) > 0:
                self.items.append(self.items.pop(0))

    def clear(self) -> None:
        self.items.clear()

    def reverse(self) -> None:
        self.items.reverse()

    def count(self, x: Any) -> Any:
        return self.items.count(x)

    def index(self, x: Any) -> Any:
        return self.items.index(x)

    def copy(self) -> Any:
        return Deque(self.items, self.maxlen, self.room)

    def __getitem__(self, k: Any) -> Any:
        return self.items[k]

    def __setitem__(self, k: Any, x: Any) -> None:
        self.items[k] = x

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, Deque) and self.items == other.items


class Set(Held):
    def __init__(self, items: Any) -> None:
        self.items = []
        self.update(items)

    def add(self, x: Any) -> None:
        if x not in self.items:
            self.items.append(x)

    def update(self, *several: Any) -> None:
        for more in several:
            for x in more:
                self.add(x)

    def discard(self, x: Any) -> None:
        if x in self.items:
            self.items.pop(self.items.index(x))

    def remove(self, x: Any) -> None:
        if x not in self.items:
            raise KeyError("what is to be removed is not in the set")
        self.items.pop(self.items.index(x))

    def clear(self) -> None:
        self.items.clear()

    def copy(self) -> Any:
        return Set(self.items)

    def union(self, *several: Any) -> Any:
        made = Set(self.items)
        made.update(*several)
        return made

    def intersection(self, other: Any) -> Any:
        made = Set([])
        for x in other:
            if x in self.items:
                made.add(x)
        return made

    def difference(self, other: Any) -> Any:
        there, made = Set(other), Set([])
        for x in self.items:
            if x not in there.items:
                made.add(x)
        return made

    def symmetric_difference(self, other: Any) -> Any:
        there = Set(other)
        return self.difference(there).union(there.difference(self))

    def issubset(self, other: Any) -> Any:
        there = Set(other)
        return all(x in there.items for x in self.items)

    def issuperset(self, other: Any) -> Any:
        return Set(other).issubset(self)

    def isdisjoint(self, other: Any) -> Any:
        return len(self.intersection(other)) == 0

    def __or__(self, other: Any) -> Any:
        return self.union(other)

    def __and__(self, other: Any) -> Any:
        return self.intersection(other)

    def __sub__(self, other: Any) -> Any:
        return self.difference(other)

    def __xor__(self, other: Any) -> Any:
        return self.symmetric_difference(other)

    def __le__(self, other: Any) -> Any:
        return self.issubset(other)

    def __lt__(self, other: Any) -> Any:
        return self.issubset(other) and len(self) < len(other)

    def __ge__(self, other: Any) -> Any:
        return self.issuperset(other)

    def __gt__(self, other: Any) -> Any:
        return self.issuperset(other) and len(self) > len(other)

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, Set) and len(self) == len(other) and self.issubset(other)


Deque.__name__, Set.__name__ = "deque", "set"  # as messages call them
