"""Factors of a square matrix that a program keeps, with their derivative.

Reference: Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2010). The row interchanges are
those of the value, also for the derivative.
"""

from __future__ import annotations

from typing import Any

from adc.frontend.kernels import forward_rule, reverse_rule
from adc.frontend.kernels.elimination import factored
from adc.frontend.kernels.triangles import lower, lower_solved, upper_solved


def eliminated(a: Any) -> Any:
    """The factors of ``a`` in one array, without the ones on the diagonal, and the row interchanges."""
    columns, pivots, _parity, _singular = factored(a)
    return columns.T.copy(), pivots - 1


def with_ones(lu: Any) -> Any:
    """The lower factor."""
    x = lower(lu, 0.0)
    for i in range(x.shape[0]):
        x[i, i] = 1.0
    return x


def upper(lu: Any) -> Any:
    """The upper factor."""
    return lower(lu.T, 1.0).T


def moved(b: Any, pivots: Any, back: Any) -> Any:
    """``b`` with its rows interchanged according to the pivots, or back."""
    x = b.copy()
    n = x.shape[0]
    for m in range(n):
        k = n - 1 - m if back else m
        p = pivots[k]
        if p != k:
            for j in range(x.shape[1]):
                x[k, j], x[p, j] = x[p, j], x[k, j]
    return x


@reverse_rule(eliminated)
def _eliminated_reverse(a: Any) -> Any:
    lu, pivots = eliminated(a)

    def pullback(g: Any) -> Any:
        low, up = with_ones(lu), upper(lu)
        inner = lower(low.T @ lower(g[0], 0.0), 0.0) + upper(upper(g[0]) @ up.T)
        return (moved(upper_solved(up, upper_solved(low.T.copy(), inner).T.copy()).T, pivots, True),)

    return (lu, pivots), pullback


@forward_rule(eliminated)
def _eliminated_forward(tangents: Any, a: Any) -> Any:
    lu, pivots = eliminated(a)
    low, up = with_ones(lu), upper(lu)
    inner = lower_solved(up.T.copy(), lower_solved(low, moved(tangents[0], pivots, False)).T.copy()).T
    return (lu, pivots), (lower(low @ lower(inner, 0.0), 0.0) + upper(upper(inner) @ up), None)


def solved_by_factors(lu: Any, pivots: Any, b: Any, transposed: Any) -> Any:
    """The ``x`` with ``a @ x = b``, or ``a.T @ x = b``, by the factors of ``a``."""
    low, up = with_ones(lu), upper(lu)
    if transposed:
        return moved(upper_solved(low.T.copy(), lower_solved(up.T.copy(), b)), pivots, True)
    return upper_solved(up, lower_solved(low, moved(b, pivots, False)))
