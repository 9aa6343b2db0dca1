"""Burgers' equation, upwind, with viscosity."""

from __future__ import annotations

import numpy as np

from adc import prange

ACTIVE = 0, 1


def arguments():
    x = np.linspace(0.0, 6.0, 4000)
    return np.sin(x) + 0.3, 0.02, 0.1, 60


def loops(u0, nu, dt, steps):
    n = u0.shape[0]
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for i in prange(1, n - 1):
            if u[i] > 0.0:
                slope = u[i] - u[i - 1]
            else:
                slope = u[i + 1] - u[i]
            v[i] = u[i] - dt * u[i] * slope + nu * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
    return np.sum(u * u)


def conditional(u0, nu, dt, steps):
    n = len(u0)
    u = u0.copy()
    for _ in range(steps):
        v = u.copy()
        for i in range(1, n - 1):
            slope = u[i] - u[i - 1] if u[i] > 0.0 else u[i + 1] - u[i]
            v[i] += nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]) - dt * u[i] * slope
        u = v
    total = 0.0
    for i in range(n):
        total += u[i] ** 2
    return total


def where(u0, nu, dt, steps):
    u = u0.copy()
    for _ in range(steps):
        w = u[1:-1]
        slope = np.where(w > 0.0, w - u[:-2], u[2:] - w)
        u[1:-1] = w - dt * w * slope + nu * (u[2:] - 2.0 * w + u[:-2])
    return np.sum(u * u)


def split(u0, nu, dt, steps):
    u = u0.copy()
    for _ in range(steps):
        d = np.diff(u)
        up = np.maximum(u[1:-1], 0.0) * d[:-1] + np.minimum(u[1:-1], 0.0) * d[1:]
        u[1:-1] += nu * np.diff(d) - dt * up
    return np.sum(u * u)


def new_arrays(u0, nu, dt, steps):
    u = u0
    for _ in range(steps):
        v = np.empty_like(u)
        v[0], v[-1] = u[0], u[-1]
        slope = np.where(u[1:-1] > 0.0, u[1:-1] - u[:-2], u[2:] - u[1:-1])
        v[1:-1] = u[1:-1] - dt * u[1:-1] * slope + nu * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = v
    return np.dot(u, u)


def point(left, here, right, nu, dt):
    slope = here - left
    if here <= 0.0:
        slope = right - here
    return here - dt * here * slope + nu * (right - 2.0 * here + left)


def functions(u0, nu, dt, steps):
    u, v = u0.copy(), u0.copy()
    t = 0
    while t < steps:
        for i in range(1, len(u) - 1):
            v[i] = point(u[i - 1], u[i], u[i + 1], nu, dt)
        u, v = v, u
        t += 1
    return np.sum(u * u)


SPELLINGS = loops, conditional, where, split, new_arrays, functions
