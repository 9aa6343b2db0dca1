"""Factorisations, triangular and tridiagonal solves, in-place sweeps, sparse products."""

from __future__ import annotations

import math

import numpy as np

from adc import prange
from tests.programs.harness import check

rng = np.random.default_rng(5)


def dominant(n):
    return rng.normal(size=(n, n)) + 4 * np.eye(n)


def lu_solve(A, b):
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    for i in range(n):
        for j in range(i):
            b[i] -= A[i, j] * b[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= A[i, j] * b[j]
        b[i] /= A[i, i]
    return np.sum(b * b)


def lu_slices(A):
    for k in range(len(A) - 1):
        A[k + 1 :, k] /= A[k, k]
        for i in range(k + 1, len(A)):
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]


def lu_pivoting(A):
    n, sign = A.shape[0], 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if p != k:
            sign = -sign
            for j in range(n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
    det = sign
    for k in range(n):
        det *= A[k, k]
    return det


def cholesky(A):
    n = A.shape[0]
    L = np.zeros_like(A)
    logdet = 0.0
    for j in range(n):
        s = A[j, j]
        for k in range(j):
            s -= L[j, k] ** 2
        L[j, j] = math.sqrt(s)
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - np.dot(L[i, :j], L[j, :j])) / L[j, j]
        logdet += 2 * math.log(L[j, j])
    return logdet


def gram_schmidt(A):
    m, n = A.shape
    R = np.zeros((n, n))
    for j in range(n):
        for k in range(j):
            R[k, j] = np.dot(A[:, k], A[:, j])
            A[:, j] -= R[k, j] * A[:, k]
        R[j, j] = np.sqrt(np.sum(A[:, j] ** 2))
        A[:, j] /= R[j, j]
    return R


def householder(A):
    m, n = A.shape
    v = np.zeros(m)
    for k in range(n):
        norm = 0.0
        for i in range(k, m):
            norm += A[i, k] * A[i, k]
        alpha = -math.copysign(math.sqrt(norm), A[k, k])
        v[:] = 0.0
        v[k] = A[k, k] - alpha
        v[k + 1 :] = A[k + 1 :, k]
        vv = np.dot(v, v)
        for j in range(k, n):
            A[:, j] -= 2.0 * np.dot(v, A[:, j]) / vv * v
    return A[0, 0] * A[1, 1] + A[0, n - 1]


def thomas(a, b, c, d):
    n = len(d)
    cp, dp = np.empty(n), np.empty(n)
    if n > 0:
        cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i], dp[i] = c[i] / m, (d[i] - a[i] * dp[i - 1]) / m
    for i in reversed_range(n):
        d[i] = dp[i] - (cp[i] * d[i + 1] if i < n - 1 else 0.0)
    return d


def reversed_range(n):
    return range(n - 1, -1, -1)


def gauss_seidel(A, b, x, omega, sweeps):
    n = len(b)
    for s in range(sweeps):
        for k in range(n):
            i = k if s % 2 == 0 else n - 1 - k
            sigma = 0.0
            for j in range(n):
                if j != i:
                    sigma += A[i, j] * x[j]
            x[i] += omega * ((b[i] - sigma) / A[i, i] - x[i])


def sor_plate(u, f, omega, tol):
    """Red and black points until nothing moves much."""
    n, m = u.shape
    worst, sweeps = 1.0, 0
    while worst > tol and sweeps < 12:
        worst = 0.0
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, m - 1, 2):
                    r = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j]) - u[i, j]
                    u[i, j] += omega * r
                    worst = max(worst, abs(r))
        sweeps += 1
    return np.sum(u)


def conjugate_gradient(A, b, iterations):
    x = np.zeros_like(b)
    r = b.copy()
    p = r.copy()
    rs = np.dot(r, r)
    k = 0
    while k < iterations and rs > 1e-28:
        Ap = A @ p
        alpha = rs / np.dot(p, Ap)
        x += alpha * p
        r -= alpha * Ap
        new = np.dot(r, r)
        p = r + new / rs * p
        rs = new
        k += 1
    return np.dot(x, x)


def csr_product(values, columns, starts, x, y):
    for row in prange(len(starts) - 1):
        s = 0.0
        for k in range(starts[row], starts[row + 1]):
            s += values[k] * x[columns[k]]
        y[row] = s
    return np.dot(y, y)


def power_iteration(A, v, n):
    for _ in range(n):
        w = A @ v
        v = w / math.sqrt(np.dot(w, w))
    return v @ (A @ v)


def matmul_blocked(A, B, size):
    n, m = A.shape[0], B.shape[1]
    C = np.zeros((n, m))
    for i0 in range(0, n, size):
        for k0 in range(0, A.shape[1], size):
            for i in range(i0, min(i0 + size, n)):
                for k in range(k0, min(k0 + size, A.shape[1])):
                    a = A[i, k]
                    for j in range(m):
                        C[i, j] += a * B[k, j]
    return C


def jacobi_eigen(A, sweeps):
    n = A.shape[0]
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                theta = 0.5 * math.atan2(2 * A[p, q], A[q, q] - A[p, p])
                c, s = math.cos(theta), math.sin(theta)
                for k in range(n):
                    A[k, p], A[k, q] = c * A[k, p] - s * A[k, q], s * A[k, p] + c * A[k, q]
                for k in range(n):
                    A[p, k], A[q, k] = c * A[p, k] - s * A[q, k], s * A[p, k] + c * A[q, k]
    return A[0, 0] + 2 * A[1, 1]


def test_lu():
    check(
        lu_solve,
        (dominant(5), rng.normal(size=5)),
        (dominant(1), rng.normal(size=1)),
        (np.zeros((0, 0)), np.zeros(0)),
        single=True,
        layouts=True,
    )
    check(lu_slices, (dominant(4),), (dominant(1),))
    check(lu_pivoting, (rng.normal(size=(4, 4)),), step=0.1)


def test_cholesky():
    B = dominant(5)
    check(cholesky, (B @ B.T,), (np.array([[2.0]]),))


def test_qr():
    check(gram_schmidt, (rng.normal(size=(5, 3)) + np.eye(5, 3),), step=0.1)
    check(householder, (rng.normal(size=(5, 3)) + np.eye(5, 3),), step=0.1, tol=1e-6)


def test_thomas():
    args = [tuple(rng.uniform(0.5, 1, n) + (3 if k == 1 else 0) for k in range(4)) for n in (7, 1, 2)]
    check(thomas, *args, single=True)


def test_relaxation():
    check(
        gauss_seidel,
        (dominant(5), rng.normal(size=5), np.zeros(5), 1.2, 3),
        (np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0, 2),
    )
    check(lambda u, f, omega: sor_plate(u, f, omega, 1e-9), (rng.normal(size=(5, 6)), rng.normal(size=(5, 6)), 1.3))


def test_krylov():
    B = dominant(5)
    check(lambda A, b: conjugate_gradient(A, b, 4), (B @ B.T / 10, rng.normal(size=5)), tol=1e-6, step=0.02)
    check(power_iteration, (B @ B.T, rng.normal(size=5), 3), (B @ B.T, rng.normal(size=5), 0))


def test_csr():
    columns, starts = np.array([0, 2, 1, 2, 2, 0]), np.array([0, 2, 2, 5, 6])
    check(
        csr_product, (rng.normal(size=6), columns, starts, rng.normal(size=3), np.zeros(4)), single=True, layouts=True
    )
    check(csr_product, (np.zeros(0), columns[:0], np.array([0]), np.zeros(0), np.zeros(0)))


def test_products():
    check(
        matmul_blocked, (rng.normal(size=(5, 4)), rng.normal(size=(4, 3)), 2), (np.zeros((2, 0)), np.zeros((0, 3)), 2)
    )


def test_rotations():
    B = rng.normal(size=(4, 4))
    check(jacobi_eigen, (B + B.T, 2), tol=1e-6, step=0.1)
