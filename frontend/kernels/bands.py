"""Systems of equations with few diagonals, stored as LAPACK stores them: ``ab[upper + i - j, j]`` is the element
``(i, j)``.

Reference: Golub and Van Loan, Matrix Computations, 4th ed., 4.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule


def band_solved(below: Any, above: Any, ab: Any, b: Any) -> Any:
    """The ``x`` with ``a @ x = b`` for a matrix with so many diagonals below and above the main one; and whether it is
    singular."""
    n = ab.shape[1]
    width = below + above  # above the diagonal, after row interchanges
    rows = np.zeros((n, below + width + 1), ab.dtype)
    x = b.copy()
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            rows[i, j - i + below] = ab[above + i - j, j]
    singular = False
    for k in range(n):
        p = k
        last = min(n, k + width + 1)
        for i in range(k + 1, min(n, k + below + 1)):
            if abs(rows[i, k - i + below]) > abs(rows[p, k - p + below]):
                p = i
        if p != k:
            for j in range(k, last):
                rows[k, j - k + below], rows[p, j - p + below] = rows[p, j - p + below], rows[k, j - k + below]
            for c in range(x.shape[1]):
                other = x[k, c]
                x[k, c] = x[p, c]
                x[p, c] = other
        if rows[k, below] == 0.0:
            singular = True
        else:
            for i in range(k + 1, min(n, k + below + 1)):
                factor = rows[i, k - i + below] / rows[k, below]
                for j in range(k + 1, last):
                    rows[i, j - i + below] -= factor * rows[k, j - k + below]
                for c in range(x.shape[1]):
                    x[i, c] -= factor * x[k, c]
    for m in range(n):
        i = n - 1 - m
        for j in range(i + 1, min(n, i + width + 1)):
            for c in range(x.shape[1]):
                x[i, c] -= rows[i, j - i + below] * x[j, c]
        for c in range(x.shape[1]):
            x[i, c] = x[i, c] / rows[i, below]
    return x, singular


def band_turned(below: Any, above: Any, ab: Any) -> Any:
    """The diagonals of the transpose."""
    n = ab.shape[1]
    turned = np.zeros(ab.shape, ab.dtype)
    for j in range(n):
        for i in range(max(0, j - above), min(n, j + below + 1)):
            turned[below + j - i, i] = ab[above + i - j, j]
    return turned


def band_product(below: Any, above: Any, ab: Any, x: Any) -> Any:
    """``a @ x``."""
    n = ab.shape[1]
    y = np.zeros(x.shape, x.dtype)
    for j in range(n):
        for i in range(max(0, j - above), min(n, j + below + 1)):
            for c in range(x.shape[1]):
                y[i, c] += ab[above + i - j, j] * x[j, c]
    return y


def band_of_products(below: Any, above: Any, y: Any, x: Any) -> Any:
    """The diagonals of ``y @ x.T``."""
    n = x.shape[0]
    of = np.zeros((below + above + 1, n), x.dtype)
    for j in range(n):
        for i in range(max(0, j - above), min(n, j + below + 1)):
            for c in range(x.shape[1]):
                of[above + i - j, j] += y[i, c] * x[j, c]
    return of


@reverse_rule(band_solved)
def _band_reverse(below: Any, above: Any, ab: Any, b: Any) -> Any:
    x, singular = band_solved(below, above, ab, b)

    def pullback(g: Any) -> Any:
        of_b, _ = band_solved(above, below, band_turned(below, above, ab), g[0])
        return None, None, -band_of_products(below, above, of_b, x), of_b

    return (x, singular), pullback


@forward_rule(band_solved)
def _band_forward(tangents: Any, below: Any, above: Any, ab: Any, b: Any) -> Any:
    x, singular = band_solved(below, above, ab, b)
    change, _ = band_solved(below, above, ab, tangents[3] - band_product(below, above, tangents[2], x))
    return (x, singular), (change, None)


def positive_band_solved(lower: Any, b: Any) -> Any:
    """The ``x`` with ``a @ x = b`` for a symmetric matrix whose element ``(i, j)`` is ``lower[i - j, j]``, by its
    Cholesky factor; and the first row, from zero, at which that factor fails, else -1."""
    count, n = lower.shape
    factor = lower.copy()
    x = b.copy()
    failed = -1
    for j in range(n):
        if failed < 0 and not factor[0, j] > 0.0:
            failed = j
        factor[0, j] = np.sqrt(factor[0, j])
        rows = min(count, n - j)
        for i in range(1, rows):
            factor[i, j] = factor[i, j] / factor[0, j]
        for k in range(1, rows):
            for i in range(k, rows):
                factor[i - k, j + k] -= factor[i, j] * factor[k, j]
    for j in range(n):
        for c in range(x.shape[1]):
            x[j, c] = x[j, c] / factor[0, j]
        for i in range(1, min(count, n - j)):
            for c in range(x.shape[1]):
                x[j + i, c] -= factor[i, j] * x[j, c]
    for m in range(n):
        j = n - 1 - m
        for i in range(1, min(count, n - j)):
            for c in range(x.shape[1]):
                x[j, c] -= factor[i, j] * x[j + i, c]
        for c in range(x.shape[1]):
            x[j, c] = x[j, c] / factor[0, j]
    return x, failed


@reverse_rule(positive_band_solved)
def _positive_reverse(lower: Any, b: Any) -> Any:
    x, failed = positive_band_solved(lower, b)
    below = lower.shape[0] - 1

    def pullback(g: Any) -> Any:
        of_b, _ = positive_band_solved(lower, g[0])
        of = -band_of_products(below, 0, of_b, x) - band_of_products(below, 0, x, of_b)
        of[0] = 0.5 * of[0]
        return of, of_b

    return (x, failed), pullback


@forward_rule(positive_band_solved)
def _positive_forward(tangents: Any, lower: Any, b: Any) -> Any:
    x, failed = positive_band_solved(lower, b)
    below = lower.shape[0] - 1
    strictly = tangents[0].copy()
    strictly[0] = 0.0
    known = band_product(below, 0, tangents[0], x) + band_product(0, below, band_turned(below, 0, strictly), x)
    change, _ = positive_band_solved(lower, tangents[1] - known)
    return (x, failed), (change, None)
