"""Stand-ins for Python's containers ``collections.deque`` and sets, and for long tuples, built on a list.

They are objects of these classes while the function is traced. ``items`` has a known or a run-time length, like any
list. Membership in a set is tested by comparing all its items.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from adc.frontend.prelude import constant


class Held:
    """A container with its items in a list or a dict, its attribute ``within``. ``stands_for``: the class that programs
    use."""

    items: Any
    stands_for: ClassVar[type]
    within: ClassVar[str] = "items"

    def __len__(self) -> Any:
        return len(self.items)

    def __contains__(self, x: Any) -> Any:
        return x in self.items


class Deque(Held):
    """A deque. ``room`` has as many items as the deque's maximal length, if that is known."""

    stands_for: ClassVar[type] = deque

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
        for x in self.items[:] if more is self else more:
            self.append(x)

    def extendleft(self, more: Any) -> None:
        for x in self.items[:] if more is self else more:
            self.appendleft(x)

    def insert(self, k: Any, x: Any) -> None:
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self.items.insert(k, x)

    def remove(self, x: Any) -> None:
        if x not in self.items:
            raise ValueError("deque.remove(x): x not in deque")
        self.items.pop(self.items.index(x))

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

    def __iadd__(self, more: Any) -> Any:
        self.extend(more)
        return self

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, deque) and self.items == list(other)


class LongTuple(Held):
    """A tuple whose length depends on the run."""

    stands_for: ClassVar[type] = tuple

    def __init__(self, items: Any) -> None:
        self.items = items

    def count(self, x: Any) -> Any:
        return self.items.count(x)

    def index(self, x: Any) -> Any:
        return self.items.index(x)

    def __getitem__(self, k: Any) -> Any:
        return LongTuple(self.items[k]) if isinstance(k, slice) else self.items[k]

    def __add__(self, more: Any) -> Any:
        if not isinstance(more, tuple):
            raise TypeError("can only concatenate tuple to tuple")
        return LongTuple(self.items + list(more))

    def __mul__(self, n: Any) -> Any:
        return LongTuple(self.items * n)

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, tuple) and self.items == list(other)


def long_tuple(items: Any) -> Any:
    return LongTuple(list(items))


def column(rows: Any, k: Any) -> Any:
    at = constant(k)
    return LongTuple([row[at] for row in rows])


def shortest(rows: Any) -> Any:
    """The number of columns of lists."""
    if len(rows) == 0:
        return 0
    least = len(rows[0])
    for row in rows:
        least = min(least, len(row))
    return least


def column_of_lists(rows: Any, k: Any) -> Any:
    return tuple(row[k] for row in rows)


def column_of_array(rows: Any, k: Any) -> Any:
    return LongTuple(list(rows[:, k]))


def _add_all(items: Any, more: Any) -> None:
    for x in more:
        if x not in items:
            items.append(x)


class FrozenSet(Held):
    """A frozen set: the methods of sets that do not change them."""

    stands_for: ClassVar[type] = frozenset

    def __init__(self, items: Any) -> None:
        self.items = []
        _add_all(self.items, items)

    def copy(self) -> Any:
        return type(self)(self.items)

    def union(self, *several: Any) -> Any:
        items = list(self.items)
        for more in several:
            _add_all(items, more)
        return type(self)(items)

    def intersection(self, *several: Any) -> Any:
        items = list(self.items)
        for other in several:
            there, kept = set(other), []
            for x in items:
                if x in there:
                    kept.append(x)
            items = kept
        return type(self)(items)

    def difference(self, *several: Any) -> Any:
        items = list(self.items)
        for other in several:
            there, kept = set(other), []
            for x in items:
                if x not in there:
                    kept.append(x)
            items = kept
        return type(self)(items)

    def symmetric_difference(self, other: Any) -> Any:
        there: Any = set(other)
        return self.difference(there).union(there.difference(self))

    def issubset(self, other: Any) -> Any:
        there: Any = set(other)
        return all(x in there.items for x in self.items)

    def issuperset(self, other: Any) -> Any:
        there: Any = set(other)
        return there.issubset(self)

    def isdisjoint(self, other: Any) -> Any:
        return len(self.intersection(other)) == 0

    def __or__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.union(other)

    def __and__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.intersection(other)

    def __sub__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.difference(other)

    def __xor__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.symmetric_difference(other)

    def __le__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.issubset(other)

    def __lt__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.issubset(other) and len(self) < len(other)

    def __ge__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.issuperset(other)

    def __gt__(self, other: Any) -> Any:
        _takes_sets(other)
        return self.issuperset(other) and len(self) > len(other)

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, (set, frozenset)) and len(self) == len(other) and self.issubset(other)


def _takes_sets(other: Any) -> None:
    if not isinstance(other, (set, frozenset)):
        raise TypeError("operators of sets take sets")


class Set(FrozenSet):
    stands_for: ClassVar[type] = set

    def add(self, x: Any) -> None:
        if x not in self.items:
            self.items.append(x)

    def update(self, *several: Any) -> None:
        for more in several:
            _add_all(self.items, more)

    def discard(self, x: Any) -> None:
        if x in self.items:
            self.items.pop(self.items.index(x))

    def remove(self, x: Any) -> None:
        if x not in self.items:
            raise KeyError("what is to be removed is not in the set")
        self.items.pop(self.items.index(x))

    def clear(self) -> None:
        self.items.clear()

    def intersection_update(self, *several: Any) -> None:
        self._become(self.intersection(*several))

    def difference_update(self, *several: Any) -> None:
        self._become(self.difference(*several))

    def symmetric_difference_update(self, other: Any) -> None:
        self._become(self.symmetric_difference(other))

    def _become(self, other: Any) -> None:
        self.items.clear()
        self.items.extend(other.items)

    def __ior__(self, other: Any) -> Any:
        _takes_sets(other)
        self.update(other)
        return self

    def __iand__(self, other: Any) -> Any:
        self._become(self & other)
        return self

    def __isub__(self, other: Any) -> Any:
        self._become(self - other)
        return self

    def __ixor__(self, other: Any) -> Any:
        self._become(self ^ other)
        return self


for _cls in (Deque, LongTuple, Set, FrozenSet):
    _cls.__name__ = _cls.stands_for.__name__  # their names in messages
