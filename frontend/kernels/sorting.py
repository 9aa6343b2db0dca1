"""Sorting of arrays. Equal elements keep their order; NaN comes last."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import compiled_once, forward_rule, reverse_rule
from adc.frontend.kernels.places import added_up, floats_at
from adc.ir.externals import SPARE


def key_dtype(x: Any, bits: Any) -> Any:
    """A dtype of at least ``bits`` bits in which an array's elements have the same order."""


def sort_keys(keys: Any, scratch: Any) -> None:
    """Sort a vector of 32 or 64 bits in place, by a function of the run-time support."""


def order_keys(keys: Any, places: Any, scratch: Any, scratch_of_places: Any) -> None:
    """Sort a vector of 64 bits together with the places of its elements."""


def in_order(x: Any) -> Any:
    """An array of three axes sorted along the middle one. The derivative for floats goes through the permutation."""
    return floats_in_order(x) if x.dtype.kind == "f" else others_in_order(x)


def floats_in_order(x: Any) -> Any:
    """The same for floats."""
    return _in_order(x)


@compiled_once
def others_in_order(x: Any) -> Any:
    """The same for integers."""
    return _in_order(x)


@reverse_rule(floats_in_order)
def _in_order_reverse(x: Any) -> Any:
    order = order_of(x)
    n = x.shape[1]

    def back(g: Any) -> Any:
        return (added_up(g, order, n),)

    return floats_at(x, order), back


@forward_rule(floats_in_order)
def _in_order_forward(tangents: Any, x: Any) -> Any:
    order = order_of(x)
    return floats_at(x, order), floats_at(tangents[0], order)


def _in_order(x: Any) -> Any:
    out = np.empty(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[2]):
            out[i, :, j] = sorted_lane(x[i, :, j])
    return out


@compiled_once
def order_of(x: Any) -> Any:
    """The subscripts that sort an array along the middle one of three axes. Equal elements keep their order."""
    places = np.empty(x.shape, np.int64)
    for i in range(x.shape[0]):
        for j in range(x.shape[2]):
            places[i, :, j] = _order(x[i, :, j])
    return places


@compiled_once
def order_of_vector(x: Any) -> Any:
    """The same for a vector."""
    return _order(x)


def vector_in_order(x: Any) -> Any:
    """A vector sorted."""
    return in_order(x.reshape(1, len(x), 1)).reshape(len(x))


def sorted_lane(x: Any) -> Any:
    """A vector of any dtype sorted, inlined into the caller."""
    w = x.astype(key_dtype(x, 32))
    sort_keys(w, np.empty(len(w) + SPARE, w.dtype))
    return w.astype(x.dtype, copy=False)


def _order(x: Any) -> Any:
    w = x.astype(key_dtype(x, 64))
    places = np.empty(len(w), np.int64)
    order_keys(w, places, np.empty(len(w) + SPARE, w.dtype), np.empty(len(w) + SPARE, np.int64))
    return places


def ranked(x: Any, ranks: Any) -> Any:
    """The elements with given ranks in an array, along the middle one of three axes; zeros for ranks below zero."""
    return floats_ranked(x, ranks) if x.dtype.kind == "f" else others_ranked(x, ranks)


def floats_ranked(x: Any, ranks: Any) -> Any:
    """The same for floats."""
    return _ranked(x, ranks)


@compiled_once
def others_ranked(x: Any, ranks: Any) -> Any:
    """The same for integers."""
    return _ranked(x, ranks)


def _ranked(x: Any, ranks: Any) -> Any:
    out = np.zeros(ranks.shape, x.dtype)
    for i in range(ranks.shape[0]):
        for j in range(ranks.shape[2]):
            w = sorted_lane(x[i, :, j])
            for k in range(ranks.shape[1]):
                if ranks[i, k, j] >= 0:
                    out[i, k, j] = w[ranks[i, k, j]]
    return out


@reverse_rule(floats_ranked)
def _ranked_reverse(x: Any, ranks: Any) -> Any:
    places = places_of_ranks(x, ranks)
    n = x.shape[1]

    def back(g: Any) -> Any:
        return added_up(g, places, n), None

    return floats_at(x, places), back


@forward_rule(floats_ranked)
def _ranked_forward(tangents: Any, x: Any, ranks: Any) -> Any:
    places = places_of_ranks(x, ranks)
    return floats_at(x, places), floats_at(tangents[0], places)


@compiled_once
def places_of_ranks(x: Any, ranks: Any) -> Any:
    """The places of the elements with given ranks, in a stable order."""
    places = np.full(ranks.shape, -1)
    for i in range(ranks.shape[0]):
        for j in range(ranks.shape[2]):
            order = _order(x[i, :, j])
            for k in range(ranks.shape[1]):
                if ranks[i, k, j] >= 0:
                    places[i, k, j] = order[ranks[i, k, j]]
    return places


def place_of_rank(x: Any, sorted: Any, rank: Any) -> Any:
    """The place of the element with a given rank in a vector: the first of equal elements; -1 for ranks below zero."""
    if rank < 0:
        return -1
    place = len(x)
    for i in range(len(x)):
        place = min(place, i if x[i] == sorted[rank] else len(x))
    return place


@compiled_once
def place_in(a: Any, x: Any, right: Any) -> Any:
    """The place at which to insert ``x`` into a sorted vector: before equal elements, or after them if ``right``."""
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


TOGETHER = 512  # elements that are searched together, so that they stay in cache


@compiled_once
def places_in(a: Any, x: Any, right: Any) -> Any:
    """The same for the elements of a vector. All take the same bisection steps, so they can be SIMD."""
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
