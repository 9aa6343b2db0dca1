"""Lists that are kept in a pool: the rows of tables, and lists of neighbours, which programs change as items of other
lists, or have under several names.

A list in a pool has a number there: two items of a table may be one list. Its items are neighbours in one list for all,
``cells``; ``first`` is the place of the first one, and there is room for ``room`` of them. Where there is no room for
one more, the items move to the end of ``cells``. Each place in a program that makes such lists has a class of its own,
unless lists of two places meet.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from adc.frontend.prelude.python_collections import Held
from adc.frontend.prelude.python_lists import with_part


class Cell:
    """An item of a list, and whatever comes after it in ``cells``."""

    value: Any


class PooledList(Held):
    stands_for: ClassVar[type] = list
    cell: ClassVar[type[Cell]]

    first: Any
    size: Any
    room: Any

    # These have rules of their own, in ``libraries.pooled_lists``.

    def __getitem__(self, k: Any) -> Any: ...

    def __setitem__(self, k: Any, x: Any) -> None: ...

    def append(self, x: Any) -> None: ...

    def copy(self) -> Any: ...

    def become(self, items: Any) -> None:
        """Get other items."""

    # These are programs.

    def __len__(self) -> Any:
        return self.size

    def __contains__(self, x: Any) -> Any:
        return x in self.copy()

    def __delitem__(self, k: Any) -> None:
        items = self.copy()
        del items[k]
        self.become(items)

    def extend(self, more: Any) -> None:
        for x in list(more):
            self.append(x)

    def __iadd__(self, more: Any) -> Any:
        self.extend(more)
        return self

    def __imul__(self, times: Any) -> Any:
        self.become(self.copy() * times)
        return self

    def pop(self, k: Any = -1) -> Any:
        if self.size == 0:
            raise IndexError("pop from empty list")
        if not -self.size <= k < self.size:
            raise IndexError("pop index out of range")
        x = self[k]
        at = k + self.size if k < 0 else k
        for j in range(at, self.size - 1):
            self[j] = self[j + 1]
        self.size -= 1
        return x

    def insert(self, k: Any, x: Any) -> None:
        before = self.size
        at = max(k + before, 0) if k < 0 else min(k, before)
        self.append(x)
        for j in range(before, at, -1):
            self[j] = self[j - 1]
        self[at] = x

    def clear(self) -> None:
        self.size = 0

    def remove(self, x: Any) -> None:
        items = self.copy()
        items.remove(x)
        self.become(items)

    def reverse(self) -> None:
        items = self.copy()
        items.reverse()
        self.become(items)

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        self.become(sorted(self.copy(), key=key, reverse=reverse))

    def index(self, *args: Any) -> Any:
        return self.copy().index(*args)

    def count(self, x: Any) -> Any:
        return self.copy().count(x)

    def __add__(self, other: Any) -> Any:
        return self.copy() + list(other)

    def __radd__(self, other: Any) -> Any:
        return other + self.copy()

    def __mul__(self, times: Any) -> Any:
        return self.copy() * times

    def __rmul__(self, times: Any) -> Any:
        return self.copy() * times

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, list) and self.copy() == list(other)

    def __ne__(self, other: Any) -> Any:
        return not isinstance(other, list) or self.copy() != list(other)

    def __lt__(self, other: Any) -> Any:
        return self.copy() < list(other)

    def __le__(self, other: Any) -> Any:
        return self.copy() <= list(other)

    def __gt__(self, other: Any) -> Any:
        return self.copy() > list(other)

    def __ge__(self, other: Any) -> Any:
        return self.copy() >= list(other)

    __hash__ = None  # type: ignore[assignment]


def part(items: Any, k: Any) -> Any:
    return items[k]


def store_part(row: Any, start: Any, stop: Any, x: Any) -> None:
    row.become(with_part(row.copy(), start, stop, x))


@functools.cache
def row_class(place: str) -> type[PooledList]:
    """The class of the lists that a place in a program makes."""
    return type("list", (PooledList,), {"cell": type("Cell", (Cell,), {})})
