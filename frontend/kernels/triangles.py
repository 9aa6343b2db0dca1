"""Triangular matrices: systems of equations, the Cholesky factor.

References: Golub and Van Loan, Matrix Computations, 4th ed., 3.1 and 4.2; Murray, Differentiation of the Cholesky
decomposition (2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, lapack, reverse_rule, small_beside_lapack


@small_beside_lapack
def lower_solved(a: Any, b: Any) -> Any:
    """The ``x`` with ``a @ x = b``, for the lower triangle of ``a``."""
    x = b.copy()
    n, count = x.shape
    if lapack.at_hand() and count > 0 and (n >= lapack.LEAST or n * count >= lapack.MANY):
        lapack.trsm("R", "U", "N", "N", count, n, 1.0, a.copy(), n, x, count)  # x.T @ a.T == b.T, column by column
        return x
    for i in range(n):
        for k in range(i):
            for j in range(count):
                x[i, j] -= a[i, k] * x[k, j]
        for j in range(count):
            x[i, j] = x[i, j] / a[i, i]
    return x


@small_beside_lapack
def upper_solved(a: Any, b: Any) -> Any:
    """The ``x`` with ``a @ x = b``, for the upper triangle of ``a``."""
    x = b.copy()
    n, count = x.shape
    if lapack.at_hand() and count > 0 and (n >= lapack.LEAST or n * count >= lapack.MANY):
        lapack.trsm("R", "L", "N", "N", count, n, 1.0, a.copy(), n, x, count)
        return x
    for m in range(n):
        i = n - 1 - m
        for k in range(i + 1, n):
            for j in range(count):
                x[i, j] -= a[i, k] * x[k, j]
        for j in range(count):
            x[i, j] = x[i, j] / a[i, i]
    return x


@reverse_rule(lower_solved)
def _lower_reverse(a: Any, b: Any) -> Any:
    x = lower_solved(a, b)

    def pullback(g: Any) -> Any:
        of_b = upper_solved(a.T.copy(), np.ascontiguousarray(g))
        return -lower(of_b @ x.T, 1.0), of_b

    return x, pullback


@forward_rule(lower_solved)
def _lower_forward(tangents: Any, a: Any, b: Any) -> Any:
    x = lower_solved(a, b)
    return x, lower_solved(a, tangents[1] - lower(tangents[0], 1.0) @ x)


@reverse_rule(upper_solved)
def _upper_reverse(a: Any, b: Any) -> Any:
    x = upper_solved(a, b)

    def pullback(g: Any) -> Any:
        of_b = lower_solved(a.T.copy(), np.ascontiguousarray(g))
        return -lower(x @ of_b.T, 1.0).T, of_b

    return x, pullback


@forward_rule(upper_solved)
def _upper_forward(tangents: Any, a: Any, b: Any) -> Any:
    x = upper_solved(a, b)
    return x, upper_solved(a, tangents[1] - lower(tangents[0].T, 1.0).T @ x)


def lower(a: Any, diagonal: float) -> Any:
    """The lower triangle of ``a``, with its diagonal multiplied by a number."""
    n = a.shape[0]
    x = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i):
            x[i, j] = a[i, j]
        x[i, i] = diagonal * a[i, i]
    return x


def mirrored(a: Any) -> Any:
    """The symmetric matrix whose lower triangle is that of ``a``."""
    n = a.shape[0]
    x = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i):
            x[i, j] = a[i, j]
            x[j, i] = a[i, j]
        x[i, i] = a[i, i]
    return x


def gathered(a: Any) -> Any:
    """The derivative with respect to a lower triangle that stands for a symmetric matrix, where ``a`` is that with
    respect to the whole matrix."""
    n = a.shape[0]
    x = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i):
            x[i, j] = a[i, j] + a[j, i]
        x[i, i] = a[i, i]
    return x


@small_beside_lapack
def cholesky_factor(a: Any) -> Any:
    """The lower triangle ``l`` with ``l @ l.T == a``, for the lower triangle of ``a``; and whether it does not
    exist."""
    n = a.shape[0]
    if lapack.at_hand() and n >= lapack.LEAST:
        rows = lower(a, 1.0)  # column by column, this is the upper triangle
        info = np.zeros(1, np.int32)
        lapack.potrf("U", n, rows, n, info)
        return rows, info[0] != 0
    x = np.zeros((n, n), a.dtype)
    failed = False
    for i in range(n):
        for j in range(i):
            rest = a[i, j] - x[i, :j] @ x[j, :j]
            x[i, j] = rest / x[j, j]
        rest = a[i, i] - x[i, :i] @ x[i, :i]
        if rest <= 0.0:
            failed = True
        x[i, i] = np.sqrt(rest)
    return x, failed


@reverse_rule(cholesky_factor)
def _cholesky_reverse(a: Any) -> Any:
    x, failed = cholesky_factor(a)

    def pullback(g: Any) -> Any:
        if failed:  # the error may have been handled, so that nothing of the factor was read
            return (np.zeros(a.shape, a.dtype),)
        inner, y = lower(x.T @ g[0], 0.5), x.T.copy()
        return (gathered(upper_solved(y, upper_solved(y, inner).T.copy())),)

    return (x, failed), pullback


@forward_rule(cholesky_factor)
def _cholesky_forward(tangents: Any, a: Any) -> Any:
    x, failed = cholesky_factor(a)
    inner = lower_solved(x, lower_solved(x, mirrored(tangents[0])).T.copy())
    return (x, failed), (x @ lower(inner, 0.5), None)
