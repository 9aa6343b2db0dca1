"""QR decomposition by Householder's reflections, with LAPACK's signs.

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
    """Reflections that reduce ``a`` to a triangle: column by column, the triangle with their vectors below it; and
    their factors."""
    c = a.T.copy()
    n, m = c.shape
    count = min(m, n)
    factors = np.zeros(count, a.dtype)
    for k in range(count):
        below = c[k, k + 1 :]
        size, scale = scaled_norm(below)
        if size != 0.0:
            alpha = c[k, k]
            norm = np.hypot(alpha, scale * size)
            beta = -norm if alpha >= 0.0 else norm
            factors[k] = (beta - alpha) / beta
            if scale == 1.0:
                below *= 1.0 / (alpha - beta)
            else:
                below /= alpha - beta
            c[k, k] = beta
            for j in range(k + 1, n):
                mirror(c, j, k, below, factors[k])
    return c, factors


def scaled_norm(x: Any) -> Any:
    """Two numbers whose product is the length of ``x``. The second is 1 unless the squares of ``x`` overflow or
    underflow."""
    square = x @ x
    scale = x.dtype.type(1.0)
    if not (square > np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps and square < np.finfo(x.dtype).max):
        largest = x.dtype.type(0.0)
        for i in range(len(x)):
            largest = max(largest, abs(x[i]))
        if largest > 0.0:
            scale = largest
            square = x.dtype.type(0.0)
            for i in range(len(x)):
                square += (x[i] / largest) * (x[i] / largest)
    return np.sqrt(square), scale


def mirror(c: Any, j: Any, k: Any, below: Any, factor: Any) -> None:
    """Apply to row ``j`` of ``c`` the reflection whose vector is 1 at ``k`` and ``below`` after that."""
    rest = c[j, k + 1 :]
    total = (c[j, k] + below @ rest) * factor
    c[j, k] -= total
    rest -= below * total


def of_reflections(c: Any, factors: Any, count: Any) -> Any:
    """The first columns of the product of reflections, column by column."""
    m = c.shape[1]
    q = np.zeros((count, m), c.dtype)
    for i in range(min(m, count)):
        q[i, i] = 1.0
    for s in range(len(factors)):
        k = len(factors) - 1 - s
        below = c[k, k + 1 :]
        for j in range(k, count):  # earlier columns are zero where the vector is not
            mirror(q, j, k, below, factors[k])
    return q


def upper_rows(c: Any, count: Any) -> Any:
    """The upper triangle of the first rows of a matrix in column order."""
    n = c.shape[0]
    r = np.zeros((count, n), c.dtype)
    for i in range(min(count, c.shape[1])):
        for j in range(i, n):
            r[i, j] = c[j, i]
    return r


def reflected_signs(a: Any) -> Any:
    """The signs on the diagonal of the triangle that reflections make of orthonormal columns, whose top square is
    ``a``: opposite to those in the matrix, so that no reflection cancels."""
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
    """``q`` and ``r`` for a matrix with no more columns than rows."""
    n = a.shape[1]
    q = np.zeros(a.shape, a.dtype)
    r = np.zeros((n, n), a.dtype)
    if lapack.at_hand() and n >= lapack.LEAST:
        columns = a.T.copy()
        r[:, :] = by_columns(columns)
        q[:, :] = columns.T
    else:
        c, factors = reflected(a)
        q[:, :] = of_reflections(c, factors, n).T
        r[:, :] = upper_rows(c, n)
    return q, r


def by_columns(columns: Any) -> Any:
    """``r`` for a matrix in column order, which is overwritten by ``q``."""
    n, m = columns.shape
    factors = np.zeros(n, columns.dtype)
    info = np.zeros(1, np.int32)
    size = np.zeros(1, columns.dtype)
    lapack.geqrf(m, n, columns, m, factors, size, -1, info)
    work = np.zeros(int(size[0]), columns.dtype)
    lapack.geqrf(m, n, columns, m, factors, work, len(work), info)
    r = upper_rows(columns, n)
    lapack.orgqr(m, n, n, columns, m, factors, size, -1, info)
    more = np.zeros(int(size[0]), columns.dtype)
    lapack.orgqr(m, n, n, columns, m, factors, more, len(more), info)
    return r


@reverse_rule(orthogonalised)
def _orthogonalised_reverse(a: Any) -> Any:
    q, r = orthogonalised(a)

    def pullback(g: Any) -> Any:
        inner = r @ g[1].T - g[0].T @ q
        return (upper_solved(r, (g[0] + q @ mirrored(inner)).T.copy()).T,)

    return (q, r), pullback


@forward_rule(orthogonalised)
def _orthogonalised_forward(tangents: Any, a: Any) -> Any:
    q, r = orthogonalised(a)
    change = lower_solved(r.T.copy(), tangents[0].T.copy()).T
    along = q.T @ change
    below = lower(along, 0.0)
    turn = below - below.T
    return (q, r), (change + q @ (turn - along), (along - turn) @ r)
