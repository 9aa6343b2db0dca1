"""Heat on a plate with a coefficient at each point; squared temperatures at the end."""

from __future__ import annotations

import numpy as np

from adc import prange

ACTIVE = 0, 1


def arguments():
    rng = np.random.default_rng(1)
    return rng.random((120, 120)), 0.1 + 0.1 * rng.random((120, 120)), 20


def loops(u0, c, steps):
    n, m = u0.shape
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for i in prange(1, n - 1):
            for j in prange(1, m - 1):
                lap = u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
                v[i, j] = u[i, j] + c[i, j] * lap
        u, v = v, u
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += u[i, j] * u[i, j]
    return total


def copied(u0, c, steps):
    n, m = u0.shape
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + c[i, j] * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j])
        u[:] = v
    return np.sum(u * u)


def slices(u0, c, steps):
    u = u0.copy()
    for _ in range(steps):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += c[1:-1, 1:-1] * lap
    return np.sum(u**2)


def slices_swapped(u0, c, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + c[1:-1, 1:-1] * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        u, v = v, u
    return np.sum(u * u)


def new_arrays(u0, c, steps):
    u = u0
    for _ in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] += c[1:-1, 1:-1] * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        u = v
    return (u * u).sum()


def flat(u0, c, steps):
    n, m = u0.shape
    u = u0.ravel().copy()
    v = u.copy()
    k = c.ravel()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                p = i * m + j
                v[p] = u[p] + k[p] * (u[p + m] + u[p - m] + u[p + 1] + u[p - 1] - 4.0 * u[p])
        u, v = v, u
    return np.dot(u, u)


def laplacian(u, i, j):
    return u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]


def step(u, v, c):
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = u[i, j] + c[i, j] * laplacian(u, i, j)


def functions(u0, c, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        step(u, v, c)
        u, v = v, u
    return np.sum(u * u)


SPELLINGS = loops, copied, slices, slices_swapped, new_arrays, flat, functions
