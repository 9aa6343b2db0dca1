"""Greedy colouring of sparse matrices: a colour is a group of columns, or of rows, that share a sweep.

A matrix is given by the starts of its rows and the column of each entry, and by the same for its transpose. The
functions run in Python for small matrices and are compiled, by adc itself, for large ones. Time is linear in the number
of pairs of entries that share a row, and for stars in the number of paths of three entries.

References: Curtis, Powell and Reid, On the estimation of sparse Jacobian matrices, J. Inst. Math. Appl. 13, 1974;
Gebremedhin, Manne and Pothen, What color is your Jacobian? Graph coloring for computing derivatives, SIAM Review 47,
2005 (sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adc.functions.decorator import jit_grad

IntArray = np.ndarray[Any, Any]

SMALL = 4_000_000  # up to so many steps, Python takes less time than compiling


def colour_columns(
    order: Any, row_start: Any, columns: Any, column_start: Any, rows: Any, colour: Any, seen: Any
) -> int:
    """Give each column the first colour that no column sharing a row with it has; return the number of colours.

    Columns are coloured in the given order. ``colour``, for each column, and ``seen``, with one more element, must be
    filled with -1.
    """
    used = 0
    for p in range(len(order)):
        j = order[p]
        for a in range(column_start[j], column_start[j + 1]):
            i = rows[a]
            for e in range(row_start[i], row_start[i + 1]):
                c = colour[columns[e]]
                if c >= 0:
                    seen[c] = j
        colour[j] = _first_free(seen, j)
        used = max(used, colour[j] + 1)
    return used


def colour_stars(order: Any, start: Any, neighbours: Any, colour: Any, seen: Any) -> int:
    """Colour a symmetric matrix so that neighbours differ, and no path of four vertices has only two colours; return
    the number of colours.

    ``neighbours`` are the columns of the entries of each row, with or without the diagonal. ``colour``, for each
    column, and ``seen``, with one more element, must be filled with -1.
    """
    used = 0
    for p in range(len(order)):
        v = order[p]
        for a in range(start[v], start[v + 1]):
            w = neighbours[a]
            if w != v:
                if colour[w] >= 0:
                    seen[colour[w]] = v
                for b in range(start[w], start[w + 1]):
                    x = neighbours[b]
                    if x != v and x != w and colour[x] >= 0 and seen[colour[x]] != v:
                        if colour[w] < 0:
                            seen[colour[x]] = v
                        else:
                            for d in range(start[x], start[x + 1]):
                                y = neighbours[d]
                                if y != x and y != w and colour[y] == colour[w]:
                                    seen[colour[x]] = v
        colour[v] = _first_free(seen, v)
        used = max(used, colour[v] + 1)
    return used


def _first_free(seen: Any, vertex: int) -> int:
    """The first colour that was not seen next to a vertex."""
    c = 0
    while seen[c] == vertex:
        c += 1
    return c


@cache
def _compiled(function: Callable[..., int]) -> Callable[..., int]:
    return jit_grad(function)


def run(function: Callable[..., int], steps: int, count: int, *arrays: IntArray) -> tuple[IntArray, int]:
    """The colours of ``count`` columns by one of the functions above, and their number. ``steps`` is about how many
    steps it takes."""
    colour, seen = np.full(count, -1), np.full(count + 1, -1)
    if steps > SMALL:
        return colour, int(_compiled(function)(*arrays, colour, seen))
    found = colour.tolist()
    used = function(*(a.tolist() for a in arrays), found, seen.tolist())
    return np.array(found, np.int64), used
