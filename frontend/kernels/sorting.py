"""Orders of vectors. What is equal stays in order; what is not a number is last."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule
from adc.ir.externals import SPARE


def key_dtype(x: Any, bits: Any) -> Any:
    """The dtype of at least so many bits that an array's elements are in the same order as."""


def sort_keys(keys: Any, scratch: Any) -> None:
    """Sort a vector of 32 or 64 bits in place. A function of the run-time support."""


def order_keys(keys: Any, places: Any, scratch: Any, scratch_of_places: Any) -> None:
    """The same of one of 64 bits, with the places where the elements were."""


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
    w = x.astype(key_dtype(x, 32))
    sort_keys(w, np.empty(len(w) + SPARE, w.dtype))
    return w.astype(x.dtype, copy=False)


def order_of(x: Any) -> Any:
    """The subscripts that sort a vector. What is equal stays in order."""
    w = x.astype(key_dtype(x, 64))
    places = np.empty(len(w), np.int64)
    order_keys(w, places, np.empty(len(w) + SPARE, w.dtype), np.empty(len(w) + SPARE, np.int64))
    return places


def places_of_rank(x: Any, k: Any) -> Any:
    """Where the elements are that are at ``k`` and behind it, the last at most, among the numbers in order."""
    n = 0
    for i in range(len(x)):
        n += int(x[i] == x[i])
    w = _sorted(x)
    return _first(x, w[k]), _first(x, w[min(k + 1, n - 1)])


def _first(x: Any, value: Any) -> Any:
    place = len(x)
    for i in range(len(x)):
        place = min(place, i if x[i] == value else len(x))
    return place


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


TOGETHER = 512  # elements that are looked for together, so that they stay in cache


def places_in(a: Any, x: Any, right: Any) -> Any:
    """The same for the elements of a vector. All take the same steps, of halving what is left: they are SIMD."""
    out = np.zeros(len(x), np.int64)
    last = len(a) - 1
    for start in range(0, len(x), TOGETHER):
        part = x[start : start + TOGETHER]
        low = out[start : start + TOGETHER]
        length = len(a)
        while length > 0:
            half = (length + 1) // 2
            for k in range(len(part)):
                here = a[max(min(low[k] + half - 1, last), 0)]
                if right:
                    before = (here <= part[k]) | (part[k] != part[k])
                else:
                    before = (here < part[k]) | ((part[k] != part[k]) & (here == here))
                low[k] = low[k] + half if before else low[k]
            length -= half
    return out
