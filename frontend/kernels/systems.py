"""Many small systems of linear equations, one after the other: nothing is allocated for each.

By elimination with pivots from each column (Golub and Van Loan, Matrix Computations, 4th ed., 3.4), to which the
right-hand sides go along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule

LARGEST = 24  # unknowns; from there on a system is worth the calls of its own


def each_solved(a: Any, b: Any) -> Any:
    """The ``x`` with ``a[k] @ x[k] = b[k]``, and whether one of the matrices is singular."""
    count, n, columns = b.shape
    x = b.copy()
    w = np.zeros((n, n), a.dtype)
    singular = False
    for k in range(count):
        for i in range(n):
            for j in range(n):
                w[i, j] = a[k, i, j]
        for p in range(n):
            place = p
            best = abs(w[p, p])
            for i in range(p + 1, n):
                if abs(w[i, p]) > best:
                    best = abs(w[i, p])
                    place = i
            if place != p:
                for j in range(p, n):
                    w[p, j], w[place, j] = w[place, j], w[p, j]
                for c in range(columns):
                    x[k, p, c], x[k, place, c] = x[k, place, c], x[k, p, c]
            pivot = w[p, p]
            if pivot == 0.0:
                singular = True
            else:
                for i in range(p + 1, n):
                    factor = w[i, p] / pivot
                    for j in range(p + 1, n):
                        w[i, j] -= factor * w[p, j]
                    for c in range(columns):
                        x[k, i, c] -= factor * x[k, p, c]
        for m in range(n):
            p = n - 1 - m
            for c in range(columns):
                rest = x[k, p, c]
                for j in range(p + 1, n):
                    rest -= w[p, j] * x[k, j, c]
                x[k, p, c] = rest / w[p, p]
    return x, singular


@reverse_rule(each_solved)
def _each_solved_reverse(a: Any, b: Any) -> Any:
    x, singular = each_solved(a, b)

    def pullback(g: Any) -> Any:
        of_b, _ = each_solved(a.transpose(0, 2, 1).copy(), g[0])
        return -(of_b @ x.transpose(0, 2, 1)), of_b

    return (x, singular), pullback


@forward_rule(each_solved)
def _each_solved_forward(tangents: Any, a: Any, b: Any) -> Any:
    x, singular = each_solved(a, b)
    moved, _ = each_solved(a, tangents[1] - tangents[0] @ x)
    return (x, singular), (moved, None)
