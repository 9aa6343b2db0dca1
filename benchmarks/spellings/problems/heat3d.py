"""Heat in a block."""

from __future__ import annotations

import numpy as np

from adc import prange

ACTIVE = 0, 1


def arguments():
    rng = np.random.default_rng(2)
    return rng.random((40, 36, 34)), 0.12, 12


def loops(u0, r, steps):
    n, m, k = u0.shape
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for a in prange(1, n - 1):
            for b in prange(1, m - 1):
                for c in prange(1, k - 1):
                    around = u[a + 1, b, c] + u[a - 1, b, c] + u[a, b + 1, c]
                    around += u[a, b - 1, c] + u[a, b, c + 1] + u[a, b, c - 1]
                    v[a, b, c] = u[a, b, c] + r * (around - 6.0 * u[a, b, c])
        u, v = v, u
    return np.sum(u * u)


def last_axis_first(u0, r, steps):
    n, m, k = u0.shape
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for c in range(1, k - 1):
            for b in range(1, m - 1):
                for a in range(1, n - 1):
                    around = u[a + 1, b, c] + u[a - 1, b, c] + u[a, b + 1, c]
                    around += u[a, b - 1, c] + u[a, b, c + 1] + u[a, b, c - 1]
                    v[a, b, c] = u[a, b, c] + r * (around - 6.0 * u[a, b, c])
        u, v = v, u
    return np.sum(u * u)


def slices(u0, r, steps):
    u = u0.copy()
    for _ in range(steps):
        w = u[1:-1, 1:-1, 1:-1]
        around = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1]
        around = around + u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
        u[1:-1, 1:-1, 1:-1] = w + r * (around - 6.0 * w)
    return np.sum(u * u)


def slices_swapped(u0, r, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1, 1:-1, 1:-1] = u[1:-1, 1:-1, 1:-1] + r * (
            u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6.0 * u[1:-1, 1:-1, 1:-1]
        )
        u, v = v, u
    return np.sum(u * u)


def axes(u0, r, steps):
    u = u0.copy()
    for _ in range(steps):
        change = np.zeros_like(u)
        change[1:-1, 1:-1, 1:-1] += np.diff(u, 2, axis=0)[:, 1:-1, 1:-1]
        change[1:-1, 1:-1, 1:-1] += np.diff(u, 2, axis=1)[1:-1, :, 1:-1]
        change[1:-1, 1:-1, 1:-1] += np.diff(u, 2, axis=2)[1:-1, 1:-1, :]
        u = u + r * change
    return np.sum(u * u)


def rows(u0, r, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for a in range(1, u.shape[0] - 1):
            for b in range(1, u.shape[1] - 1):
                w = u[a, b, 1:-1]
                v[a, b, 1:-1] = w + r * (
                    u[a + 1, b, 1:-1] + u[a - 1, b, 1:-1] + u[a, b + 1, 1:-1] + u[a, b - 1, 1:-1]
                    + u[a, b, 2:] + u[a, b, :-2] - 6.0 * w
                )
        u, v = v, u
    return np.sum(u * u)


SPELLINGS = loops, last_axis_first, slices, slices_swapped, axes, rows
