"""Methods of lists and tuples that compare the numbers in them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

WITHOUT = "list.index(x): x not in list" if sys.version_info >= (3, 14) else None


def index(items: Any, value: Any, start: Any, stop: Any, tuples: Any) -> Any:
    """``items.index(value, start, stop)``; ``tuples``: the error text for a tuple, or None for a list."""
    length = len(items)
    first = start if start >= 0 else max(start + length, 0)
    last = length if stop is None else min(stop, length) if stop >= 0 else stop + length
    for k in range(length):
        if first <= k < last and items[k] == value:
            return k
    if tuples is not None:
        raise ValueError(tuples)
    if WITHOUT is not None:
        raise ValueError(WITHOUT)
    raise ValueError(f"{value!r} is not in list")


def count(items: Any, value: Any) -> Any:
    found = 0
    for item in items:
        if item == value:
            found += 1
    return found


def contains(items: Any, value: Any) -> Any:
    """``value in items`` for items that are not numbers."""
    return any(item == value for item in items)


def equal(a: Any, b: Any) -> Any:
    """``a == b`` of two lists."""
    if len(a) != len(b):
        return False
    return all(a[k] == b[k] for k in range(len(a)))


def joined(before: Any, items: Any, after: Any) -> Any:
    return list(before) + list(items) + list(after)


def with_part(items: Any, start: Any, stop: Any, new: Any) -> Any:
    """``items`` after ``items[start:stop] = new``."""
    length = len(items)
    first = 0 if start is None else start
    last = length if stop is None else stop
    first = max(first + length, 0) if first < 0 else min(first, length)
    last = max(last + length, 0) if last < 0 else min(last, length)
    return items[:first] + list(new) + items[max(first, last) :]


def are_all(positions: Any, wanted: Any) -> Any:
    """Whether the ``positions``, among the alternatives of items, are all the one that is ``wanted``."""
    return bool(np.all(positions == wanted))


def slice_stored(items: Any, values: Any, start: Any, stop: Any, step: Any) -> None:
    """``items[start:stop:step] = values`` by a step other than one."""
    given, places = list(values), range(len(items))[start:stop:step]
    if len(given) != len(places):
        raise ValueError(f"attempt to assign sequence of size {len(given)} to extended slice of size {len(places)}")
    for k in range(len(given)):
        items[places[k]] = given[k]
