"""Elimination with partial pivoting, and what is computed from the factors.

References: Golub and Van Loan, Matrix Computations, 4th ed., 3.4; for all derivatives: Giles, Collected matrix
derivative results for forward and reverse mode algorithmic differentiation (2008).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, lapack, reverse_rule, small_beside_lapack


@small_beside_lapack
def factored(a: Any) -> Any:
    """The factors of ``a`` in one array, column by column, without the ones on the diagonal; the row interchanges,
    counted from one, both as in LAPACK; their parity; and whether a pivot is zero.

    They count as constants: what is computed from them is differentiated by ``a`` itself.
    """
    columns = a.T.copy()
    n = columns.shape[0]
    pivots = np.zeros(n, np.int32)
    parity = a.dtype.type(1.0)
    singular = False
    if lapack.at_hand() and n >= lapack.LEAST:
        parity, singular = by_blocks(columns, pivots)
    else:
        for k in range(n):
            p = k
            best = abs(columns[k, k])
            for i in range(k + 1, n):
                if abs(columns[k, i]) > best:
                    best = abs(columns[k, i])
                    p = i
            pivots[k] = p + 1
            if p != k:
                parity = -parity
                for j in range(n):
                    columns[j, k], columns[j, p] = columns[j, p], columns[j, k]
            pivot = columns[k, k]
            if pivot == 0.0:
                singular = True
            else:
                for i in range(k + 1, n):
                    columns[k, i] = columns[k, i] / pivot
                for j in range(k + 1, n):
                    factor = columns[j, k]
                    for i in range(k + 1, n):
                        columns[j, i] -= factor * columns[k, i]
    return columns, pivots, parity, singular


def by_blocks(columns: Any, pivots: Any) -> Any:
    """Like ``factored``, in place: returns the parity, and whether a pivot is zero."""
    n = columns.shape[0]
    info = np.zeros(1, np.int32)
    lapack.getrf(n, n, columns, n, pivots, info)
    parity = columns.dtype.type(1.0)
    for k in range(n):
        if pivots[k] != k + 1:
            parity = -parity
    return parity, info[0] > 0


@reverse_rule(factored)
def _factored_reverse(a: Any) -> Any:
    return factored(a), lambda g: (None,)


@forward_rule(factored)
def _factored_forward(tangents: Any, a: Any) -> Any:
    columns, pivots, parity, singular = factored(a)
    return (columns, pivots, parity, singular), (np.zeros(columns.shape, columns.dtype), None, 0.0, None)


@small_beside_lapack
def solved(a: Any, lu: Any, pivots: Any, b: Any) -> Any:
    """The ``x`` with ``a @ x = b``, by the factors of ``a``."""
    n, count = b.shape
    x = b.T.copy()
    if lapack.at_hand() and (n >= lapack.LEAST or n * count >= lapack.MANY):
        info = np.zeros(1, np.int32)
        lapack.getrs("N", n, count, lu, n, pivots, x, n, info)
    else:
        for c in range(count):
            for k in range(n):
                p = pivots[k] - 1
                x[c, k], x[c, p] = x[c, p], x[c, k]
            for k in range(n):
                done = x[c, k]
                for i in range(k + 1, n):
                    x[c, i] -= lu[k, i] * done
            for m in range(n):
                k = n - 1 - m
                done = x[c, k] / lu[k, k]
                x[c, k] = done
                for i in range(k):
                    x[c, i] -= lu[k, i] * done
    return x.T.copy()


@reverse_rule(solved)
def _solved_reverse(a: Any, lu: Any, pivots: Any, b: Any) -> Any:
    x = solved(a, lu, pivots, b)

    def pullback(g: Any) -> Any:
        of_b = solved_transposed(a, lu, pivots, g)
        return -(of_b @ x.T), None, None, of_b

    return x, pullback


@forward_rule(solved)
def _solved_forward(tangents: Any, a: Any, lu: Any, pivots: Any, b: Any) -> Any:
    x = solved(a, lu, pivots, b)
    return x, solved(a, lu, pivots, tangents[3] - tangents[0] @ x)


@small_beside_lapack
def solved_transposed(a: Any, lu: Any, pivots: Any, b: Any) -> Any:
    """The ``x`` with ``a.T @ x = b``, by the factors of ``a``."""
    n, count = b.shape
    x = b.T.copy()
    if lapack.at_hand() and (n >= lapack.LEAST or n * count >= lapack.MANY):
        info = np.zeros(1, np.int32)
        lapack.getrs("T", n, count, lu, n, pivots, x, n, info)
    else:
        for c in range(count):
            for i in range(n):
                rest = x[c, i]
                for k in range(i):
                    rest -= lu[i, k] * x[c, k]
                x[c, i] = rest / lu[i, i]
            for m in range(n):
                i = n - 1 - m
                rest = x[c, i]
                for k in range(i + 1, n):
                    rest -= lu[i, k] * x[c, k]
                x[c, i] = rest
            for m in range(n):
                k = n - 1 - m
                p = pivots[k] - 1
                x[c, k], x[c, p] = x[c, p], x[c, k]
    return x.T.copy()


@reverse_rule(solved_transposed)
def _solved_transposed_reverse(a: Any, lu: Any, pivots: Any, b: Any) -> Any:
    x = solved_transposed(a, lu, pivots, b)

    def pullback(g: Any) -> Any:
        of_b = solved(a, lu, pivots, g)
        return -(x @ of_b.T), None, None, of_b

    return x, pullback


@forward_rule(solved_transposed)
def _solved_transposed_forward(tangents: Any, a: Any, lu: Any, pivots: Any, b: Any) -> Any:
    x = solved_transposed(a, lu, pivots, b)
    return x, solved_transposed(a, lu, pivots, tangents[3] - tangents[0].T @ x)


def determinant(a: Any, lu: Any, parity: float) -> Any:
    """The determinant of a matrix, by its factors. Its derivative is by cofactors, which exist for singular matrices
    too."""
    n = lu.shape[0]
    product = parity
    for i in range(n):
        product *= lu[i, i]
    return product


@reverse_rule(determinant)
def _determinant_reverse(a: Any, lu: Any, parity: float) -> Any:
    return determinant(a, lu, parity), lambda g: (g * cofactors(a), None, None)


@forward_rule(determinant)
def _determinant_forward(tangents: Any, a: Any, lu: Any, parity: float) -> Any:
    return determinant(a, lu, parity), np.sum(cofactors(a) * tangents[0])


def cofactors(a: Any) -> Any:
    """The derivatives of the determinant with respect to each element."""
    lu, pivots, parity, singular = factored(a)
    if singular:
        return cofactors_of_singular(a)
    return determinant(a, lu, parity) * solved_transposed(a, lu, pivots, unit(a))


def cofactors_of_singular(a: Any) -> Any:
    """The cofactors by one determinant each: that of the matrix with the element's row and column replaced by unit
    vectors."""
    n = a.shape[0]
    x = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            rest = a.copy()
            for k in range(n):
                rest[i, k] = 0.0
                rest[k, j] = 0.0
            rest[i, j] = 1.0
            lu, _pivots, parity, _singular = factored(rest)
            x[i, j] = determinant(rest, lu, parity)
    return x


def unit(a: Any) -> Any:
    """The unit matrix of the size and dtype of the matrices ``a``, of which there may be none."""
    n = a.shape[-1]
    x = np.zeros((n, n), a.dtype)
    for i in range(n):
        x[i, i] = 1.0
    return x


def log_determinant(a: Any, lu: Any, pivots: Any) -> Any:
    """The logarithm of the absolute value of the determinant, by the factors."""
    n = lu.shape[0]
    total = a.dtype.type(0.0)
    for i in range(n):
        total += np.log(abs(lu[i, i]))
    return total


@reverse_rule(log_determinant)
def _log_determinant_reverse(a: Any, lu: Any, pivots: Any) -> Any:
    def pullback(g: Any) -> Any:
        return g * solved_transposed(a, lu, pivots, unit(a)), None, None

    return log_determinant(a, lu, pivots), pullback


@forward_rule(log_determinant)
def _log_determinant_forward(tangents: Any, a: Any, lu: Any, pivots: Any) -> Any:
    tangent = solved(a, lu, pivots, tangents[0])
    total = a.dtype.type(0.0)
    for i in range(len(tangent)):
        total += tangent[i, i]
    return log_determinant(a, lu, pivots), total
