"""QR decomposition by Householder's reflections, with the signs that LAPACK gives.

References: Golub and Van Loan, Matrix Computations, 4th ed., 5.2; Walter and Lehmann, Algorithmic differentiation of
linear algebra functions (2010); Ballard, Demmel, Grigori, Jacquelin, Knight and Nguyen, Reconstructing Householder
vectors from tall-skinny QR (2015).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, lapack, reverse_rule
from adc.frontend.kernels.triangles import lower, lower_solved, mirrored, upper_solved


def reflected(a: Any) -> Any:
    """Reflections that make a triangle of ``a``: the triangle with their vectors below, and their factors."""
    f = a.copy()
    m, n = f.shape
    count = min(m, n)
    factors = np.zeros(count, a.dtype)
    for k in range(count):
        largest = a.dtype.type(0.0)
        for i in range(k + 1, m):
            largest = max(largest, abs(f[i, k]))
        if largest > 0.0:
            square = a.dtype.type(0.0)
            for i in range(k + 1, m):
                x = f[i, k] / largest
                square += x * x
            alpha = f[k, k]
            norm = np.hypot(alpha, largest * np.sqrt(square))
            beta = -norm if alpha >= 0.0 else norm
            factors[k] = (beta - alpha) / beta
            for i in range(k + 1, m):
                f[i, k] = f[i, k] / (alpha - beta)
            f[k, k] = beta
            for j in range(k + 1, n):
                total = f[k, j]
                for i in range(k + 1, m):
                    total += f[i, k] * f[i, j]
                total = total * factors[k]
                f[k, j] -= total
                for i in range(k + 1, m):
                    f[i, j] -= f[i, k] * total
    return f, factors


def of_reflections(f: Any, factors: Any, count: Any) -> Any:
    """The first columns of the product of reflections."""
    m = f.shape[0]
    q = np.zeros((m, count), f.dtype)
    for i in range(min(m, count)):
        q[i, i] = 1.0
    for s in range(len(factors)):
        k = len(factors) - 1 - s
        for j in range(count):
            total = q[k, j]
            for i in range(k + 1, m):
                total += f[i, k] * q[i, j]
            total = total * factors[k]
            q[k, j] -= total
            for i in range(k + 1, m):
                q[i, j] -= f[i, k] * total
    return q


def upper_rows(f: Any, count: Any) -> Any:
    """The upper triangle of the first rows."""
    n = f.shape[1]
    r = np.zeros((count, n), f.dtype)
    for i in range(min(count, f.shape[0])):
        for j in range(i, n):
            r[i, j] = f[i, j]
    return r


def reflected_signs(a: Any) -> Any:
    """The signs on the diagonal of the triangle that reflections make of orthonormal columns, of which ``a`` is the
    square at the top: opposite to what is there, so that no reflection cancels."""
    f = a.copy()
    n = f.shape[0]
    signs = np.ones(n, a.dtype)
    for k in range(n):
        if f[k, k] >= 0.0:
            signs[k] = -1.0
        for i in range(k + 1, n):
            factor = f[i, k] / (f[k, k] - signs[k])
            for j in range(k + 1, n):
                f[i, j] -= factor * f[k, j]
    return signs


@reverse_rule(reflected_signs)
def _signs_reverse(a: Any) -> Any:
    return reflected_signs(a), lambda g: (None,)


@forward_rule(reflected_signs)
def _signs_forward(tangents: Any, a: Any) -> Any:
    signs = reflected_signs(a)
    return signs, np.zeros(signs.shape, signs.dtype)


def orthogonalised(a: Any) -> Any:
    """``q`` and ``r`` of a matrix with no more columns than rows."""
    n = a.shape[1]
    q = np.zeros(a.shape, a.dtype)
    r = np.zeros((n, n), a.dtype)
    if lapack.at_hand() and n >= lapack.LEAST:
        columns = a.T.copy()
        r[:, :] = by_columns(columns)
        q[:, :] = columns.T
    else:
        f, factors = reflected(a)
        q[:, :] = of_reflections(f, factors, n)
        r[:, :] = upper_rows(f, n)
    return q, r


def by_columns(columns: Any) -> Any:
    """``r`` of a matrix column by column, which becomes ``q``."""
    n, m = columns.shape
    factors = np.zeros(n, columns.dtype)
    info = np.zeros(1, np.int32)
    size = np.zeros(1, columns.dtype)
    lapack.geqrf(m, n, columns, m, factors, size, -1, info)
    work = np.zeros(int(size[0]), columns.dtype)
    lapack.geqrf(m, n, columns, m, factors, work, len(work), info)
    r = upper_rows(columns.T, n)
    lapack.orgqr(m, n, n, columns, m, factors, size, -1, info)
    more = np.zeros(int(size[0]), columns.dtype)
    lapack.orgqr(m, n, n, columns, m, factors, more, len(more), info)
    return r


@reverse_rule(orthogonalised)
def _orthogonalised_reverse(a: Any) -> Any:
    q, r = orthogonalised(a)

    def pullback(g: Any) -> Any:
        inner = r @ g[1].T - g[0].T @ q
        return (upper_solved(r, (g[0] + q @ mirrored(inner)).T).T,)

    return (q, r), pullback


@forward_rule(orthogonalised)
def _orthogonalised_forward(tangents: Any, a: Any) -> Any:
    q, r = orthogonalised(a)
    change = lower_solved(r.T, tangents[0].T).T
    along = q.T @ change
    below = lower(along, 0.0)
    turn = below - below.T
    return (q, r), (change + q @ (turn - along), (along - turn) @ r)
