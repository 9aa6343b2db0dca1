"""Singular values and vectors, by rotations of pairs of columns until all are orthogonal; the pseudo-inverse.

References: Demmel and Veselic, Jacobi's method is more accurate than QR (1992); Townsend, Differentiating the singular
value decomposition (2016); Golub and Pereyra, The differentiation of pseudo-inverses (1973). Vectors of equal singular
values, and those of zero, have no derivatives: these are NaN, and so are those of everything computed from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, lapack, reverse_rule
from adc.frontend.kernels.orthogonal import of_reflections, orthogonalised, reflected, upper_rows
from adc.frontend.kernels.spectra import quotients

SWEEPS = 40


def singular(a: Any, wide: Any) -> Any:
    """``u``, the singular values in falling order, and ``vt``, for a matrix with no more columns than rows; and whether
    this failed. If LAPACK is available the vectors have its signs, for any size: those for the transpose if ``wide``,
    which is what the program then has."""
    m, n = a.shape
    u = np.zeros((m, n), a.dtype)
    s = np.zeros(n, a.dtype)
    vt = np.zeros((n, n), a.dtype)
    # The transpose of a matrix in row order is the matrix in column order; likewise for its factors.
    if not lapack.at_hand():
        failed = by_turns(a, u, s, vt)
    elif wide:
        failed = driven("S", n, m, a.copy(), s, vt, u)
    elif m >= 2 * n:
        q, r = orthogonalised(a)
        left = np.zeros((n, n), a.dtype)
        right = np.zeros((n, n), a.dtype)
        failed = driven("S", n, n, r.T.copy(), s, left, right)
        u[:, :] = q @ left.T
        vt[:, :] = right.T
    else:
        left = np.zeros((n, m), a.dtype)
        right = np.zeros((n, n), a.dtype)
        failed = driven("S", m, n, a.T.copy(), s, left, right)
        u[:, :] = left.T
        vt[:, :] = right.T
    return u, s, vt, failed


def by_turns(a: Any, left: Any, s: Any, v: Any) -> Any:
    """Jacobi's method. Whether it failed."""
    n = a.shape[1]
    largest = a.dtype.type(0.0)
    for i in range(a.shape[0]):
        for j in range(n):
            largest = max(largest, abs(a[i, j]))
    if largest == 0.0:
        largest = a.dtype.type(1.0)
    c, factors = reflected(a / largest)
    w = upper_rows(c, n).T.copy()
    for i in range(n):
        v[i, i] = 1.0
    failed = turned(w, v)
    for i in range(n):
        s[i] = np.sqrt(w[i] @ w[i])
        failed = failed or s[i] != s[i]
    in_order(w, v, s)
    u = np.zeros((n, n), a.dtype)
    for i in range(n):
        if s[i] > 0.0:
            for j in range(n):
                u[j, i] = w[i, j] / s[i]
    completed(u, s)
    left[:, :] = of_reflections(c, factors, n).T @ u
    for i in range(n):
        s[i] = s[i] * largest
    return failed


def driven(job: Any, m: Any, n: Any, columns: Any, s: Any, u: Any, vt: Any) -> Any:
    """``gesdd`` for a matrix in column order, which is destroyed; ``u`` and ``vt`` have column order too. Whether it
    failed."""
    rank = min(m, n)
    if rank == 0:
        return False
    info = np.zeros(1, np.int32)
    size = np.zeros(1, columns.dtype)
    integers = np.zeros(8 * rank, np.int32)
    lapack.gesdd(job, m, n, columns, m, s, u, m, vt, rank, size, -1, integers, info)
    work = np.zeros(int(size[0]), columns.dtype)
    lapack.gesdd(job, m, n, columns, m, s, u, m, vt, rank, work, len(work), integers, info)
    return info[0] != 0


def singular_values(a: Any, wide: Any) -> Any:
    """Like ``singular``, without the vectors."""
    m, n = a.shape
    s = np.zeros(n, a.dtype)
    none = np.zeros((1, 1), a.dtype)
    if not lapack.at_hand():
        failed = by_turns(a, np.zeros((m, n), a.dtype), s, np.zeros((n, n), a.dtype))
    elif wide:
        failed = driven("N", n, m, a.copy(), s, none, none.copy())
    elif m >= 2 * n and n < lapack.LEAST:
        c, _factors = reflected(a)
        failed = driven("N", n, n, upper_rows(c, n).T.copy(), s, none, none.copy())
    else:
        failed = driven("N", m, n, a.T.copy(), s, none, none.copy())
    return s, failed


@reverse_rule(singular_values)
def _singular_values_reverse(a: Any, wide: Any) -> Any:
    u, s, vt, failed = singular(a, wide)
    return (s, failed), lambda g: ((u * g[0]) @ vt, None)


@forward_rule(singular_values)
def _singular_values_forward(tangents: Any, a: Any, wide: Any) -> Any:
    u, s, vt, failed = singular(a, wide)
    return (s, failed), (np.sum(u * (tangents[0] @ vt.T), axis=0), None)


def turned(w: Any, v: Any) -> Any:
    """Rotate the rows of ``w``, and those of ``v`` along with them, until they are orthogonal. Whether that took too
    long."""
    n, m = w.shape
    limit = max(m, 4) * np.finfo(w.dtype).eps
    least = (np.finfo(w.dtype).eps * np.finfo(w.dtype).eps) * np.sqrt(np.sum(w * w))
    sweep = 0
    going = n > 1
    while going and sweep < SWEEPS:
        going = False
        sweep += 1
        for p in range(n - 1):
            for q in range(p + 1, n):
                across = w[p] @ w[q]
                first = w[p] @ w[p]
                second = w[q] @ w[q]
                if first <= least * least or second <= least * least:
                    across = 0.0 * across
                if abs(across) > limit * np.sqrt(first) * np.sqrt(second):
                    going = True
                    zeta = (second - first) / (2.0 * across)
                    t = 1.0 / (abs(zeta) + np.hypot(1.0, zeta))
                    if zeta < 0.0:
                        t = -t
                    c = 1.0 / np.hypot(1.0, t)
                    turn(w, p, q, c, c * t)
                    turn(v, p, q, c, c * t)
    for p in range(n):  # the remainder of linearly dependent rows has no direction
        if np.sqrt(w[p] @ w[p]) <= least:
            for k in range(m):
                w[p, k] = 0.0
    return going


def turn(w: Any, p: Any, q: Any, c: Any, s: Any) -> None:
    for k in range(w.shape[1]):
        x = w[p, k]
        y = w[q, k]
        w[p, k] = c * x - s * y
        w[q, k] = s * x + c * y


def in_order(w: Any, v: Any, s: Any) -> None:
    """Sort the values ``s``, the greatest first, and rows along with them."""
    n = len(s)
    for i in range(n):
        k = i
        for j in range(i + 1, n):
            if s[j] > s[k]:
                k = j
        if k != i:
            s[i], s[k] = s[k], s[i]
            for j in range(n):
                x = w[i, j]
                w[i, j] = w[k, j]
                w[k, j] = x
                y = v[i, j]
                v[i, j] = v[k, j]
                v[k, j] = y


def completed(u: Any, s: Any) -> None:
    """Make the columns of singular values that are zero orthogonal to the others."""
    n = len(s)
    rank = 0
    for i in range(n):
        if s[i] > 0.0:
            rank = i + 1
    if rank < n:
        c, factors = reflected(u)
        q = of_reflections(c, factors, n)
        for i in range(rank, n):
            for j in range(n):
                u[j, i] = q[i, j]


def divided(m: Any, s: Any) -> Any:
    """The columns of ``m`` divided by singular values; zeros stay zero, other elements divided by zero are NaN."""
    x = m.copy()
    for i in range(m.shape[0]):
        for j in range(len(s)):
            if m[i, j] != 0.0 and s[j] != 0.0:
                x[i, j] = m[i, j] / s[j]
            elif m[i, j] != 0.0:
                x[i, j] = np.nan
    return x


@reverse_rule(singular)
def _singular_reverse(a: Any, wide: Any) -> Any:
    u, s, vt, failed = singular(a, wide)

    def pullback(g: Any) -> Any:
        m, n = u.shape
        of_u = u.T @ g[0]
        inner = quotients(of_u, s * s) * s
        other = quotients(vt @ g[2].T, s * s)
        for i in range(n):
            for j in range(n):
                inner[i, j] += s[i] * other[i, j]
            inner[i, i] += g[1][i]
        of_a = u @ (inner @ vt)
        if m > n:
            of_a += divided(g[0] - u @ of_u, s) @ vt
        return of_a, None

    return (u, s, vt, failed), pullback


@forward_rule(singular)
def _singular_forward(tangents: Any, a: Any, wide: Any) -> Any:
    u, s, vt, failed = singular(a, wide)
    n = len(s)
    change = tangents[0] @ vt.T
    inner = u.T @ change
    of_values = np.zeros(n, s.dtype)
    of_u = np.zeros((n, n), s.dtype)
    of_v = np.zeros((n, n), s.dtype)
    for i in range(n):
        of_values[i] = inner[i, i]
        for j in range(n):
            if i != j:
                gap = s[j] * s[j] - s[i] * s[i]
                if gap != 0.0:
                    of_u[i, j] = (inner[i, j] * s[j] + s[i] * inner[j, i]) / gap
                    of_v[i, j] = (s[i] * inner[i, j] + inner[j, i] * s[j]) / gap
                elif inner[i, j] != 0.0 or inner[j, i] != 0.0:
                    of_u[i, j] = np.nan
                    of_v[i, j] = np.nan
    turned_u = u @ of_u
    if u.shape[0] > n:
        turned_u += divided(change - u @ inner, s)
    return (u, s, vt, failed), (turned_u, of_values, (vt.T @ of_v).T, None)


def pseudo_inverse(a: Any, cut: Any) -> Any:
    """The pseudo-inverse of a matrix with no more columns than rows, treating singular values below ``cut`` times the
    greatest as zeros; and whether this failed."""
    u, s, vt, failed = singular(a, False)
    x = np.zeros(len(s), s.dtype)
    for i in range(len(s)):
        if s[i] > cut * s[0]:
            x[i] = 1.0 / s[i]
    return (vt.T * x) @ u.T, failed


@reverse_rule(pseudo_inverse)
def _pseudo_inverse_reverse(a: Any, cut: Any) -> Any:
    p, failed = pseudo_inverse(a, cut)

    def pullback(g: Any) -> Any:
        t = g[0].T
        left = t @ (p @ p.T)  # no intermediate matrix has as many columns as ``a`` has rows
        right = p.T @ (p @ t)
        return left - a @ (p @ left) + right - right @ (p @ a) - p.T @ (g[0] @ p.T), None

    return (p, failed), pullback


@forward_rule(pseudo_inverse)
def _pseudo_inverse_forward(tangents: Any, a: Any, cut: Any) -> Any:
    p, failed = pseudo_inverse(a, cut)
    t = tangents[0].T
    left = p @ p.T @ t
    right = t @ p.T @ p
    return (p, failed), (left - (left @ a) @ p + right - (p @ a) @ right - p @ tangents[0] @ p, None)
