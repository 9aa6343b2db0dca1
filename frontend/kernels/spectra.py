"""Eigenvalues and eigenvectors of symmetric matrices: reduction to three diagonals by reflections, then QL steps with
shifts.

References: Bowdler, Martin, Reinsch and Wilkinson, The QR and QL algorithms for symmetric matrices, Numerische
Mathematik 11 (1968), as in EISPACK (tred2, tql2); Giles (2008) for the derivatives. Vectors of equal eigenvalues have
no derivatives: these are NaN, and so are those of everything computed from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, lapack, reverse_rule
from adc.frontend.kernels.triangles import gathered, mirrored

STEPS = 60  # the most steps for one eigenvalue


def spectrum(a: Any) -> Any:
    """Eigenvalues in rising order, and eigenvectors in columns, for the lower triangle of ``a``; and whether this
    failed. If LAPACK is available the vectors have its signs, for any size."""
    n = a.shape[0]
    w = np.zeros(n, a.dtype)
    v = np.zeros((n, n), a.dtype)
    if lapack.at_hand():
        columns = a.T.copy()
        failed = by_columns(columns, w, "V")
        v[:, :] = columns.T
    else:
        v[:, :] = mirrored(a)
        failed = by_steps(v, w)
    return w, v, failed


def by_steps(v: Any, d: Any) -> Any:
    """The eigenvalues ``d`` in rising order of the symmetric ``v``, which is overwritten by the vectors. Whether this
    failed."""
    n = v.shape[0]
    e = np.zeros(n, v.dtype)
    tridiagonal(v, d, e)
    failed = diagonalised(v, d, e)
    for i in range(n):
        k = i
        for j in range(i + 1, n):
            if d[j] < d[k]:
                k = j
        if k != i:
            d[k], d[i] = d[i], d[k]
            for j in range(n):
                other = v[j, i]
                v[j, i] = v[j, k]
                v[j, k] = other
    return failed


def by_columns(columns: Any, w: Any, job: Any) -> Any:
    """The eigenvalues ``w`` for the lower triangle of a matrix in column order, which is overwritten by the vectors;
    for the job ``N`` it is only destroyed. Whether this failed."""
    n = columns.shape[0]
    if n == 0:
        return False
    info = np.zeros(1, np.int32)
    size = np.zeros(1, columns.dtype)
    count = np.zeros(1, np.int32)
    lapack.syevd(job, "L", n, columns, n, w, size, -1, count, -1, info)
    work = np.zeros(int(size[0]), columns.dtype)
    integers = np.zeros(count[0], np.int32)
    lapack.syevd(job, "L", n, columns, n, w, work, len(work), integers, len(integers), info)
    return info[0] != 0


def eigenvalues(a: Any) -> Any:
    """Like ``spectrum``, without the vectors."""
    n = a.shape[0]
    w = np.zeros(n, a.dtype)
    if lapack.at_hand():
        failed = by_columns(a.T.copy(), w, "N")
    else:
        failed = by_steps(mirrored(a), w)
    return w, failed


@reverse_rule(eigenvalues)
def _eigenvalues_reverse(a: Any) -> Any:
    w, v, failed = spectrum(a)
    return (w, failed), lambda g: (gathered((v * g[0]) @ v.T),)


@forward_rule(eigenvalues)
def _eigenvalues_forward(tangents: Any, a: Any) -> Any:
    w, v, failed = spectrum(a)
    change = mirrored(tangents[0]) @ v
    return (w, failed), (np.sum(v * change, axis=0), None)


def tridiagonal(v: Any, d: Any, e: Any) -> None:
    """Reduce the symmetric ``v`` to its diagonal ``d`` and the one below, ``e``, from the second element on; ``v`` is
    overwritten by the transformation."""
    n = v.shape[0]
    for s in range(n - 1):
        i = n - 1 - s
        h = 0.0 * v[0, 0]
        scale = 0.0 * v[0, 0]
        for k in range(i):
            scale += abs(v[i, k])
        if i == 1 or scale == 0.0:
            e[i] = v[i, i - 1]
        else:
            for k in range(i):
                v[i, k] = v[i, k] / scale
                h += v[i, k] * v[i, k]
            f = v[i, i - 1]
            g = -np.sqrt(h) if f >= 0.0 else np.sqrt(h)
            e[i] = scale * g
            h -= f * g
            v[i, i - 1] = f - g
            f = 0.0 * f
            for j in range(i):
                v[j, i] = v[i, j] / h
                g = 0.0 * g
                for k in range(j + 1):
                    g += v[j, k] * v[i, k]
                for k in range(j + 1, i):
                    g += v[k, j] * v[i, k]
                e[j] = g / h
                f += e[j] * v[i, j]
            hh = f / (h + h)
            for j in range(i):
                f = v[i, j]
                g = e[j] - hh * f
                e[j] = g
                for k in range(j + 1):
                    v[j, k] -= f * e[k] + g * v[i, k]
        d[i] = h
    d[0] = 0.0
    e[0] = 0.0
    for i in range(n):
        if d[i] != 0.0:
            for j in range(i):
                g = 0.0 * v[0, 0]
                for k in range(i):
                    g += v[i, k] * v[k, j]
                for k in range(i):
                    v[k, j] -= g * v[k, i]
        d[i] = v[i, i]
        v[i, i] = 1.0
        for j in range(i):
            v[j, i] = 0.0
            v[i, j] = 0.0


def diagonalised(v: Any, d: Any, e: Any) -> Any:
    """Reduce three diagonals to one, and transform the columns of ``v`` along with them. Whether that took too many
    steps."""
    n = len(d)
    failed = False
    for i in range(1, n):
        e[i - 1] = e[i]
    if n > 0:
        e[n - 1] = 0.0
    for l in range(n):  # noqa: E741
        step = 0
        going = True
        while going:
            m = l
            while m < n - 1 and abs(e[m]) + (abs(d[m]) + abs(d[m + 1])) != abs(d[m]) + abs(d[m + 1]):
                m += 1
            if m == l or step == STEPS:
                failed = failed or m != l
                going = False
            else:
                step += 1
                implicit_step(v, d, e, l, m)
    return failed


def implicit_step(v: Any, d: Any, e: Any, l: Any, m: Any) -> None:  # noqa: E741
    """One QL step with a shift on the rows from ``l`` to ``m``."""
    g = (d[l + 1] - d[l]) / (2.0 * e[l])
    r = np.hypot(g, 1.0)
    g = d[m] - d[l] + e[l] / (g + (r if g >= 0.0 else -r))
    s = 0.0 * r + 1.0
    c = 0.0 * r + 1.0
    p = 0.0 * r
    whole = True
    i = m - 1
    while i >= l and whole:
        f = s * e[i]
        b = c * e[i]
        r = np.hypot(f, g)
        e[i + 1] = r
        if r == 0.0:
            d[i + 1] -= p
            e[m] = 0.0
            whole = False
        else:
            s = f / r
            c = g / r
            g = d[i + 1] - p
            r = (d[i] - g) * s + 2.0 * c * b
            p = s * r
            d[i + 1] = g + p
            g = c * r - b
            for k in range(v.shape[0]):
                f = v[k, i + 1]
                v[k, i + 1] = s * v[k, i] + c * f
                v[k, i] = c * v[k, i] - s * f
            i -= 1
    if whole:
        d[l] -= p
        e[l] = g
        e[m] = 0.0


def quotients(m: Any, w: Any) -> Any:
    """The difference between the matrix ``m`` and its transpose, over differences of eigenvalues. If two are equal, the
    result is NaN there, unless ``m`` is zero."""
    n = len(w)
    x = np.zeros((n, n), w.dtype)
    for i in range(n):
        for j in range(n):
            if w[i] != w[j]:
                x[i, j] = (m[i, j] - m[j, i]) / (w[j] - w[i])
            elif i != j and (m[i, j] != 0.0 or m[j, i] != 0.0):
                x[i, j] = np.nan
    return x


@reverse_rule(spectrum)
def _spectrum_reverse(a: Any) -> Any:
    w, v, failed = spectrum(a)

    def pullback(g: Any) -> Any:
        inner = 0.5 * quotients(v.T @ g[1], w)
        for i in range(len(w)):
            inner[i, i] = g[0][i]
        return (gathered(v @ inner @ v.T),)

    return (w, v, failed), pullback


@forward_rule(spectrum)
def _spectrum_forward(tangents: Any, a: Any) -> Any:
    w, v, failed = spectrum(a)
    change = v.T @ mirrored(tangents[0]) @ v
    n = len(w)
    of_values = np.zeros(n, w.dtype)
    turn = np.zeros((n, n), w.dtype)
    for i in range(n):
        of_values[i] = change[i, i]
        for j in range(n):
            if w[i] != w[j]:
                turn[i, j] = change[i, j] / (w[j] - w[i])
            elif i != j and change[i, j] != 0.0:
                turn[i, j] = np.nan
    return (w, v, failed), (of_values, v @ turn, None)
