"""Sets: equal elements and membership. All results are integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import compiled_once
from adc.frontend.kernels.sorting import order_of_vector, places_in


@compiled_once
def groups(x: Any, equal_nan: Any) -> Any:
    """The groups of equal elements of a vector, in order: the place of the first element of each; the size of each; the
    order that sorts the vector; and the group of each element in that order."""
    n = len(x)
    order = order_of_vector(x)
    ordered = np.empty(n, x.dtype)
    for i in range(n):
        ordered[i] = x[order[i]]
    numbers = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        if i == 0:
            count = 1
        else:
            same = ordered[i] == ordered[i - 1]
            if equal_nan:
                same = same or (ordered[i] != ordered[i] and ordered[i - 1] != ordered[i - 1])
            if not same:
                count += 1
        numbers[i] = count - 1
    first = np.empty(count, np.int64)
    counts = np.zeros(count, np.int64)
    for i in range(n):
        if counts[numbers[i]] == 0:
            first[numbers[i]] = order[i]
        counts[numbers[i]] += 1
    return first, counts, order, numbers


@compiled_once
def put_back(numbers: Any, order: Any) -> Any:
    """Integers, each put at its place in an order."""
    out = np.empty(len(order), np.int64)
    for i in range(len(order)):
        out[order[i]] = numbers[i]
    return out


@compiled_once
def are_there(known: Any, x: Any, invert: Any) -> Any:
    """Whether each element of a vector is in another, sorted one; or is not, if ``invert``."""
    out = np.empty(len(x), np.bool_)
    places = places_in(known, x, False)
    for k in range(len(x)):
        place = places[k]
        found = place < len(known) and known[min(place, len(known) - 1)] == x[k]
        out[k] = found != invert
    return out


@compiled_once
def where_set(mask: Any) -> Any:
    """The places where a mask is set."""
    count = 0
    for i in range(len(mask)):
        if mask[i]:
            count += 1
    out = np.empty(count, np.int64)
    place = 0
    for i in range(len(mask)):
        if mask[i]:
            out[place] = i
            place += 1
    return out
