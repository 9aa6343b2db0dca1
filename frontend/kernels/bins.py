"""The intervals that elements fall into, and how many fall into each. All results are integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import compiled_once
from adc.frontend.kernels.sorting import places_in


@compiled_once
def bins_of(x: Any, edges: Any, equal: Any) -> Any:
    """The interval of each element of a vector, -1 if it is in none. ``equal``: all intervals have the same length."""
    count = len(edges) - 1
    places = np.empty(len(x), np.int64) if equal else places_in(edges, x, True)
    for k in range(len(x)):
        value = x[k]
        if not (value >= edges[0] and value <= edges[count]):
            places[k] = -1
        elif equal:
            place = min(int((value - edges[0]) / (edges[count] - edges[0]) * count), count - 1)
            if value < edges[place]:
                place -= 1
            elif place != count - 1 and value >= edges[place + 1]:
                place += 1
            places[k] = place
        else:
            places[k] = min(places[k] - 1, count - 1)
    return places


@compiled_once
def cells_of(down: Any, along: Any, columns: Any) -> Any:
    """The cell of a matrix, in row-major order, for each pair of a row and a column; -1 if one of these is -1."""
    places = np.empty(len(down), np.int64)
    for k in range(len(down)):
        places[k] = -1 if down[k] < 0 or along[k] < 0 else down[k] * columns + along[k]
    return places


@compiled_once
def counted(places: Any, n: Any) -> Any:
    """How often each of ``n`` places occurs."""
    counts = np.zeros(n, np.int64)
    for k in range(len(places)):
        if places[k] >= 0:
            counts[places[k]] += 1
    return counts


@compiled_once
def least_and_greatest(x: Any) -> Any:
    """The least and the greatest element of a vector of integers; zero and -1 if it is empty."""
    if len(x) == 0:
        return 0, -1
    return int(np.min(x)), int(np.max(x))


@compiled_once
def directions(x: Any) -> Any:
    """Whether a vector never falls, and whether it never rises."""
    rising, falling = True, True
    for i in range(len(x) - 1):
        if not x[i] <= x[i + 1]:
            rising = False
        if not x[i] >= x[i + 1]:
            falling = False
    return rising, falling
