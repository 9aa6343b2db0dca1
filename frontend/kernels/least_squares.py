"""Least squares: the shortest vector whose product is nearest to a right-hand side.

While the rank does not change there is a derivative, by the pseudo-inverse.

Reference: Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate (1973).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, lapack, reverse_rule
from adc.frontend.kernels.orthogonal import orthogonalised
from adc.frontend.kernels.singular import pseudo_inverse, singular, singular_values
from adc.frontend.kernels.triangles import upper_solved


def least_squares(a: Any, b: Any, cut: Any) -> Any:
    """``x`` with ``a @ x`` nearest to ``b``, treating singular values of ``a`` below ``cut`` times the greatest as
    zeros; the singular values; and whether this failed."""
    m, n = a.shape
    x = np.zeros((n, b.shape[1]), a.dtype)
    s = np.zeros(min(m, n), a.dtype)
    if is_skinny(a):
        q, r = orthogonalised(a)
        failed = nearest(r, q.T @ b, cut, x, s)
    else:
        failed = nearest(a, b, cut, x, s)
    return x, s, failed


def is_skinny(a: Any) -> Any:
    """Whether it is fastest to compute the triangle of ``a`` first, and give only that to LAPACK."""
    return a.shape[0] >= 2 * a.shape[1] and a.shape[1] < lapack.LEAST


def nearest(a: Any, b: Any, cut: Any, x: Any, s: Any) -> Any:
    """Put the solution and the singular values into ``x`` and ``s``. Whether this failed."""
    m, n = a.shape
    if lapack.at_hand():
        columns = np.zeros((b.shape[1], max(m, n)), a.dtype)
        columns[:, :m] = b.T
        failed = driven(a.T.copy(), columns, s, cut)
        x[:, :] = columns[:, :n].T
    else:
        s[:], failed = singular_values(upright(a), m < n)
        x[:, :] = inverted(a, cut) @ b
    return failed


def driven(columns: Any, x: Any, s: Any, cut: Any) -> Any:
    """``gelsd`` for a matrix in column order, which is destroyed, and for right-hand sides one after the other. Whether
    it failed."""
    n, m = columns.shape
    count, longest = x.shape
    if min(m, n, count) == 0:
        return False
    info = np.zeros(1, np.int32)
    rank = np.zeros(1, np.int32)
    size = np.zeros(1, columns.dtype)
    needed = np.zeros(1, np.int32)
    lapack.gelsd(m, n, count, columns, m, x, longest, s, cut, rank, size, -1, needed, info)
    work = np.zeros(int(size[0]), columns.dtype)
    integers = np.zeros(needed[0], np.int32)
    lapack.gelsd(m, n, count, columns, m, x, longest, s, cut, rank, work, len(work), integers, info)
    return info[0] != 0


def upright(a: Any) -> Any:
    """``a``, or its transpose, as a new matrix with no more columns than rows."""
    return a.T.copy() if a.shape[0] < a.shape[1] else a.copy()


def inverted(a: Any, cut: Any) -> Any:
    """The pseudo-inverse."""
    p, _failed = pseudo_inverse(upright(a), cut)
    return p.T.copy() if a.shape[0] < a.shape[1] else p


@reverse_rule(least_squares)
def _least_squares_reverse(a: Any, b: Any, cut: Any) -> Any:
    m, n = a.shape
    q, r = orthogonalised(upright(a))
    if is_skinny(a):
        x, s, failed = least_squares(r, q.T @ b, cut)
    else:
        x, s, failed = least_squares(a, b, cut)

    def pullback(g: Any) -> Any:
        p = np.zeros((n, m), a.dtype)
        if len(s) > 0 and s[-1] > cut * s[0]:  # a triangle without zeros on its diagonal needs no other decomposition
            of_upright = upper_solved(r, q.T.copy())
            p[:, :] = of_upright.T if m < n else of_upright
        else:
            p[:, :] = inverted(a, cut)
        of_b = p.T @ g[0]
        outside = g[0] - a.T @ of_b
        of_a = (b - a @ x) @ (p @ of_b).T + (p.T @ x) @ outside.T - of_b @ x.T
        if np.any(g[1] != 0.0):
            u, _s, vt, _failed = singular(upright(a), a.shape[0] < a.shape[1])
            of_s = (u * g[1]) @ vt
            of_a += of_s.T if a.shape[0] < a.shape[1] else of_s
        return of_a, of_b, None

    return (x, s, failed), pullback


@forward_rule(least_squares)
def _least_squares_forward(tangents: Any, a: Any, b: Any, cut: Any) -> Any:
    x, s, failed = least_squares(a, b, cut)
    p = inverted(a, cut)
    rest = tangents[0].T @ (b - a @ x)
    across = tangents[0].T @ (p.T @ x)
    of_x = p @ (tangents[1] - tangents[0] @ x) + p @ (p.T @ rest) + across - p @ (a @ across)
    u, _s, vt, _failed = singular(upright(a), a.shape[0] < a.shape[1])
    of_s = np.sum(u * (upright(tangents[0]) @ vt.T), axis=0)
    return (x, s, failed), (of_x, of_s, None)
