"""Python's ``heapq`` and ``bisect``, and sorting by item-wise comparison."""

from __future__ import annotations

from typing import Any

import numpy as np


def heappush(heap: Any, item: Any, /) -> None:
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


def heappop(heap: Any, /) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    found = heap.pop()
    if len(heap) > 0:
        last, found = found, heap[0]
        heap[0] = last
        _sink(heap, 0)
    return found


def heapreplace(heap: Any, item: Any, /) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    found = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return found


def heappushpop(heap: Any, item: Any, /) -> Any:
    found = item
    if len(heap) > 0 and heap[0] < item:
        found = heap[0]
        heap[0] = item
        _sink(heap, 0)
    return found


def heapify(x: Any, /) -> None:
    n = len(x) // 2
    for k in range(n):
        _sink(x, n - 1 - k)


def _rise(heap: Any, top: Any, place: Any) -> None:
    """Move the item at ``place`` up, but not above ``top``, until nothing above it is larger."""
    item = heap[place]
    while place > top and item < heap[(place - 1) >> 1]:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = item


def _sink(heap: Any, place: Any) -> None:
    """Move the item at ``place`` down to a leaf, past the smaller child each time, then up again: as in Python, since
    programs see where items are."""
    top, n, item = place, len(heap), heap[place]
    while 2 * place + 1 < n:
        below = 2 * place + 1
        if below + 1 < n and not heap[below] < heap[below + 1]:
            below += 1
        heap[place] = heap[below]
        place = below
    heap[place] = item
    _rise(heap, top, place)


def nsmallest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key)[: max(n, 0)]


def nlargest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    low, high = _bounds(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        here = a[middle] if key is None else key(a[middle])
        if here < x:
            low = middle + 1
        else:
            high = middle
    return low


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    low, high = _bounds(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        here = a[middle] if key is None else key(a[middle])
        if x < here:
            high = middle
        else:
            low = middle + 1
    return low


def _bounds(a: Any, lo: Any, hi: Any) -> Any:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    return lo, len(a) if hi is None or hi == -1 else hi  # for Python -1 is None here


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def order_of(ranks: Any, reverse: Any) -> Any:
    """The positions of the items in sorted order, by ``<``; equal items keep their order. By merging."""
    n = len(ranks)
    order, merged = np.arange(n), np.zeros(n, np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, end):
                if i >= middle:
                    second = True
                elif j >= end:
                    second = False
                elif reverse:
                    second = ranks[order[i]] < ranks[order[j]]
                else:
                    second = ranks[order[j]] < ranks[order[i]]
                if second:
                    merged[k] = order[j]
                    j += 1
                else:
                    merged[k] = order[i]
                    i += 1
        order[:] = merged
        width *= 2
    return order
