"""Orders of vectors, by partitions without branches; what is not a number is last.

Reference: Hoare, Quicksort (1962), with the swap of each element that Lomuto's form allows: an element goes to the
end of those below the pivot whether it belongs there or not, and the end moves on if it does. Pivots are medians of
three from places that no input can foresee.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule

SHORT = 24  # so many elements are sorted by insertion
MOST = 64  # ranges that wait: the larger half does, so no more than the logarithm of the length


def in_order(x: Any) -> Any:
    """A vector sorted. The derivative of one of floats goes through the permutation."""
    return floats_in_order(x) if x.dtype.kind == "f" else _sorted(x)


def floats_in_order(x: Any) -> Any:
    """A vector of floats sorted."""
    return _sorted(x)


@reverse_rule(floats_in_order)
def _in_order_reverse(x: Any) -> Any:
    order = order_of(x)

    def back(g: Any) -> Any:
        return (put_back(g, order),)

    return picked(x, order), back


@forward_rule(floats_in_order)
def _in_order_forward(tangents: Any, x: Any) -> Any:
    order = order_of(x)
    return picked(x, order), picked(tangents[0], order)


def picked(x: Any, order: Any) -> Any:
    """The elements of a vector at some places."""
    out = np.empty(len(order), x.dtype)
    for i in range(len(order)):
        out[i] = x[order[i]]
    return out


def put_back(g: Any, order: Any) -> Any:
    """The elements of a vector, each at its place."""
    out = np.zeros(len(order), g.dtype)
    for i in range(len(order)):
        out[order[i]] = g[i]
    return out


def _sorted(x: Any) -> Any:
    w = x.copy()
    _sort(w, numbers_first(w))
    return w


def numbers_first(w: Any) -> Any:
    """Move what is not a number to the end; how many are."""
    n = 0
    for k in range(len(w)):
        v = w[k]
        w[k] = w[n]
        w[n] = v
        n += int(v == v)
    return n


def _split(w: Any, low: Any, high: Any, seed: Any) -> Any:
    """Arrange a range around a pivot. The end of what is below it, or equal to it if nothing is below; and whether
    that is so."""
    a = w[low + seed % (high - low)]
    b = w[(low + high) // 2]
    c = w[low + seed // 7 % (high - low)]
    pivot = max(min(a, b), min(max(a, b), c))
    i = low
    for k in range(low, high):
        v = w[k]
        w[k] = w[i]
        w[i] = v
        i += int(v < pivot)
    least = i == low
    if least:
        for k in range(low, high):
            v = w[k]
            w[k] = w[i]
            w[i] = v
            i += int(v <= pivot)
    return i, least


def _insert(w: Any, low: Any, high: Any) -> None:
    """Sort a short range."""
    for i in range(low + 1, high):
        v = w[i]
        j = i - 1
        while j >= low and v < w[j]:
            w[j + 1] = w[j]
            j -= 1
        w[j + 1] = v


def _sort(w: Any, n: Any) -> None:
    """Sort the first ``n``, which are numbers."""
    starts = np.zeros(MOST, np.int64)
    ends = np.zeros(MOST, np.int64)
    depth = 0
    low = 0
    high = n
    seed = 1
    more = True
    while more:
        if high - low > SHORT:
            seed = seed * 16807 % 2147483647
            middle, least = _split(w, low, high, seed)
            if least:
                low = middle
            elif middle - low > high - middle:
                starts[depth] = low
                ends[depth] = middle
                depth += 1
                low = middle
            else:
                starts[depth] = middle
                ends[depth] = high
                depth += 1
                high = middle
        else:
            _insert(w, low, high)
            more = depth > 0
            if more:
                depth -= 1
                low = starts[depth]
                high = ends[depth]


def places_of_rank(x: Any, k: Any) -> Any:
    """Where the elements are that are at ``k`` and behind it, the last at most, among the numbers in order."""
    w = x.copy()
    n = numbers_first(w)
    low = 0
    high = n
    seed = 1
    searching = True
    while searching and high - low > SHORT:
        seed = seed * 16807 % 2147483647
        middle, least = _split(w, low, high, seed)
        if k >= middle:
            low = middle
        elif least:
            searching = False  # all of these are equal
        else:
            high = middle
    if searching:
        _insert(w, low, high)
    here = w[k]
    behind = here
    if k + 1 < n:
        behind = w[k + 1]
        for i in range(k + 2, n):
            behind = min(behind, w[i])
    return _first(x, here), _first(x, behind)


def _first(x: Any, value: Any) -> Any:
    place = len(x)
    for i in range(len(x)):
        place = min(place, i if x[i] == value else len(x))
    return place


def order_of(x: Any) -> Any:
    """The subscripts that sort a vector. What is equal stays in order: where values are equal places are compared."""
    total = len(x)
    w = x.copy()
    at = np.arange(total)
    n = 0
    for k in range(total):  # what is no number moves up, and stays in order
        if w[k] == w[k]:
            n += 1
    place = 0
    last = n
    for k in range(total):
        v = x[k]
        if v == v:
            w[place] = v
            at[place] = k
            place += 1
        else:
            at[last] = k
            last += 1
    starts = np.zeros(MOST, np.int64)
    ends = np.zeros(MOST, np.int64)
    depth = 0
    low = 0
    high = n
    seed = 1
    more = True
    while more:
        if high - low > SHORT:
            seed = seed * 16807 % 2147483647
            middle = _split_pairs(w, at, low, high, seed)
            if middle - low > high - middle:
                starts[depth] = low
                ends[depth] = middle
                depth += 1
                low = middle
            else:
                starts[depth] = middle
                ends[depth] = high
                depth += 1
                high = middle
        else:
            _insert_pairs(w, at, low, high)
            more = depth > 0
            if more:
                depth -= 1
                low = starts[depth]
                high = ends[depth]
    return at


def _split_pairs(w: Any, at: Any, low: Any, high: Any, seed: Any) -> Any:
    """As ``_split``, of pairs that differ. The pivot is not the least of three, so that there are some below it."""
    p = low + seed % (high - low)
    q = (low + high) // 2
    r = low + seed // 7 % (high - low)
    a, b, c = w[p], w[q], w[r]
    ab = (a < b) | ((a == b) & (at[p] < at[q]))
    bc = (b < c) | ((b == c) & (at[q] < at[r]))
    ac = (a < c) | ((a == c) & (at[p] < at[r]))
    middle = q if ab == bc else (r if ab == ac else p)
    pivot = w[middle]
    own = at[middle]
    i = low
    for k in range(low, high):
        v = w[k]
        place = at[k]
        w[k] = w[i]
        at[k] = at[i]
        w[i] = v
        at[i] = place
        i += int((v < pivot) | ((v == pivot) & (place < own)))
    if i == low:  # the pivot is the least: the range begins with it
        for k in range(low, high):
            if at[k] == own:
                at[k] = at[low]
                at[low] = own
                w[k] = w[low]
                w[low] = pivot
        i += 1
    return i


def _insert_pairs(w: Any, at: Any, low: Any, high: Any) -> None:
    for i in range(low + 1, high):
        v = w[i]
        place = at[i]
        j = i - 1
        while j >= low and (v < w[j] or (v == w[j] and place < at[j])):
            w[j + 1] = w[j]
            at[j + 1] = at[j]
            j -= 1
        w[j + 1] = v
        at[j + 1] = place


def place_in(a: Any, x: Any, right: Any) -> Any:
    """Where to put ``x`` into a sorted vector: in front of what is equal, or behind it."""
    low = 0
    length = len(a)
    while length > 0:
        half = length // 2
        here = a[low + half]
        if right:
            before = (here <= x) | (x != x)
        else:
            before = (here < x) | ((x != x) & (here == here))
        low = low + half + 1 if before else low
        length = length - half - 1 if before else half
    return low
