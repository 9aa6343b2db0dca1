"""Orders of vectors: merge sort, which keeps what is equal in its order and puts what is not a number last."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule

RUN = 16  # so many elements are sorted by insertion


def order_of(x: Any) -> Any:
    """The subscripts that sort a vector. What is equal stays in order."""
    n = len(x)
    keys = x.copy()
    order = np.arange(n)
    for start in range(0, n, RUN):
        for i in range(start + 1, min(start + RUN, n)):
            key = keys[i]
            place = order[i]
            j = i - 1
            while j >= start and (key < keys[j] or (keys[j] != keys[j] and key == key)):
                keys[j + 1] = keys[j]
                order[j + 1] = order[j]
                j -= 1
            keys[j + 1] = key
            order[j + 1] = place
    merged_keys = np.empty_like(keys)
    merged = np.empty_like(order)
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            for k in range(start, end):
                right = j < end
                if right and i < middle:
                    a = keys[i]
                    b = keys[j]
                    right = b < a or (a != a and b == b)
                if right:
                    merged_keys[k] = keys[j]
                    merged[k] = order[j]
                    j += 1
                else:
                    merged_keys[k] = keys[i]
                    merged[k] = order[i]
                    i += 1
        keys[...] = merged_keys
        order[...] = merged
        width *= 2
    return order


def in_order(x: Any) -> Any:
    """A vector sorted. The derivative of one of floats goes through the permutation."""
    return floats_in_order(x) if x.dtype.kind == "f" else _merged(x)


def floats_in_order(x: Any) -> Any:
    """A vector of floats sorted."""
    return _merged(x)


def _merged(x: Any) -> Any:
    n = len(x)
    out = x.copy()
    for start in range(0, n, RUN):
        for i in range(start + 1, min(start + RUN, n)):
            key = out[i]
            j = i - 1
            while j >= start and (key < out[j] or (out[j] != out[j] and key == key)):
                out[j + 1] = out[j]
                j -= 1
            out[j + 1] = key
    merged = np.empty_like(out)
    width = RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            i = start
            j = middle
            for k in range(start, end):
                right = j < end
                if right and i < middle:
                    a = out[i]
                    b = out[j]
                    right = b < a or (a != a and b == b)
                if right:
                    merged[k] = out[j]
                    j += 1
                else:
                    merged[k] = out[i]
                    i += 1
        out[...] = merged
        width *= 2
    return out


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


def place_in(a: Any, x: Any, right: Any) -> Any:
    """Where to put ``x`` into a sorted vector: in front of what is equal, or behind it."""
    low = 0
    high = len(a)
    while low < high:
        middle = (low + high) // 2
        here = a[middle]
        if right:
            before = not (x < here or (here != here and x == x))
        else:
            before = here < x or (x != x and here == here)
        if before:
            low = middle + 1
        else:
            high = middle
    return low
