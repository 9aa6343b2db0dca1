"""Partial differential equations and convolutions: loops and slices, boundaries, narrow domains."""

from __future__ import annotations

import math

import numpy as np

from adc import prange
from tests.programs.harness import check

rng = np.random.default_rng(17)


def heat_loops(u, k, dt, steps):
    v = u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + dt * k[i, j] * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
        u, v = v, u
    return np.sum(u * u)


def heat_slices(u, k, dt, steps):
    for _ in range(steps):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += dt * k * lap
    return np.sum(u**2)


def wave_three_buffers(u, c, steps):
    n = len(u)
    old, now, new = u.copy(), u.copy(), np.zeros(n)
    for t in range(steps):
        for i in range(1, n - 1):
            new[i] = 2 * now[i] - old[i] + c[i] ** 2 * (now[i + 1] - 2 * now[i] + now[i - 1])
        new[0] = math.sin(0.3 * t)
        old, now, new = now, new, old
    return np.dot(now, now) + old[n // 2]


def wave_slices(u, v, c):
    for _ in range(5):
        v[1:-1] += c * (u[2:] - 2 * u[1:-1] + u[:-2])
        u += v


def burgers_upwind(u, dt, steps):
    """Periodic by Python's negative subscripts."""
    n = len(u)
    v = np.empty(n)
    for _ in range(steps):
        for i in range(n):
            v[i] = u[i] - dt * (u[i] * (u[i] - u[i - 1]) if u[i] > 0 else u[i] * (u[(i + 1) % n] - u[i]))
        u[:] = v
    return np.sum(u * u * u)


def advection_in_place(u, c):
    for i in range(len(u) - 1, 0, -1):
        u[i] -= c * (u[i] - u[i - 1])
    for i in range(1, len(u)):
        u[i] -= c * u[i] * u[i - 1]
    return u[-1]


def limited_advection(u, c, steps):
    n = u.size
    flux = np.zeros(n + 1)
    for _ in range(steps):
        for i in range(n):
            a, b = u[i] - u[i - 1], u[(i + 1) % n] - u[i]
            slope = (a if abs(a) < abs(b) else b) if a * b > 0 else 0.0
            flux[i + 1] = c * (u[i] + 0.5 * (1 - c) * slope)
        flux[0] = flux[n]
        u -= flux[1:] - flux[:-1]
    return np.max(u) + u @ u


def shallow_water(h, u, dt, steps):
    g = 9.81
    for _ in range(steps):
        hm = 0.5 * (h[1:] + h[:-1]) - 0.5 * dt * (h[1:] * u[1:] - h[:-1] * u[:-1])
        q = 0.5 * (h[1:] * u[1:] + h[:-1] * u[:-1]) - 0.5 * dt * (
            h[1:] * u[1:] ** 2 + 0.5 * g * h[1:] ** 2 - h[:-1] * u[:-1] ** 2 - 0.5 * g * h[:-1] ** 2
        )
        fq = q * q / hm + 0.5 * g * hm * hm
        momentum = h * u
        h[1:-1] -= dt * (q[1:] - q[:-1])
        momentum[1:-1] -= dt * (fq[1:] - fq[:-1])
        u[:] = momentum / h
    return np.sum(h * u) + np.sum(h * h)


def periodic(u, steps):
    n, m = u.shape
    v = np.zeros((n, m))
    for _ in range(steps):
        for i in prange(n):
            for j in range(m):
                v[i, j] = math.tanh(u[i - 1, j] * u[(i + 1) % n, j] + u[i, j - 1] - u[i, (j + 1) % m])
        u, v = v, u
    return np.sum(u)


def wide_convolution(x, w):
    n, r = len(x), len(w) // 2
    y = np.zeros(n)
    for i in prange(n):
        s = 0.0
        for k in range(len(w)):
            j = i + k - r
            if 0 <= j < n:
                s += w[k] * x[j]
        y[i] = s * s
    return np.sum(y)


def gapped(x):
    y = np.zeros_like(x)
    for i in prange(3, len(x) - 4):
        y[i] = x[i - 3] * x[i + 4] + math.sin(x[i]) * x[i + 1]
    return y


def strided_steps(x, y):
    for i in range(1, len(x) - 2, 3):
        y[i] += x[i - 1] * x[i + 2]
        y[i + 1] = y[i] * x[i]
    for i in range(len(y) - 1, 1, -2):
        y[i] *= y[i - 2]


def convolution_2d(image, kernel):
    n, m = image.shape
    a, b = kernel.shape
    out = np.zeros((n - a + 1, m - b + 1))
    for i in prange(n - a + 1):
        for j in range(m - b + 1):
            out[i, j] = np.sum(image[i : i + a, j : j + b] * kernel)
    return np.max(out) + np.mean(out * out)


def conditional_swap(u, v, n):
    for k in range(n):
        if k % 2:
            u, v = v, u
        u[1:] = 0.5 * (u[1:] + v[:-1] * u[:-1])
        v[0] = u[0] + v[-1]
    return np.sum(u) + 2 * np.sum(v)


def rotated_tuple(a, b, c, n):
    for k in range(n):
        for i in range(len(a)):
            c[i] = a[i] * b[i - 1] + 0.1 * k
        a, b, c = b, c, a
    return a[0] * b[1] + c[2]


def diffusion_3d(u, d):
    v = np.zeros_like(u)
    for i in prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            for k in range(1, u.shape[2] - 1):
                v[i, j, k] = (
                    u[i, j, k]
                    + d
                    * (
                        u[i - 1, j, k]
                        + u[i + 1, j, k]
                        + u[i, j - 1, k]
                        + u[i, j + 1, k]
                        + u[i, j, k - 1]
                        + u[i, j, k + 1]
                        - 6 * u[i, j, k]
                    )
                    * u[i, j, k]
                )
    return np.sum(v * v)


def neumann(u, alpha, steps):
    n = len(u)
    for _ in range(steps):
        w = np.zeros(n + 2)
        w[1:-1] = u
        w[0], w[-1] = w[1], w[-2]
        for i in range(n):
            u[i] = w[i + 1] + alpha * (w[i + 2] - 2 * w[i + 1] + w[i])
    return u


def triangle(x):
    n = len(x)
    s = 0.0
    for i in range(n):
        for j in range(i, -1, -2):
            for k in range(j, min(i + 2, n)):
                s += x[i] * x[j] * x[k]
    return s


def test_heat():
    args = rng.normal(size=(6, 5)), rng.uniform(0.5, 1, (6, 5)), 0.1, 4
    check(
        heat_loops,
        args,
        (*args[:3], 0),
        (*args[:3], 1),
        (np.ones((2, 1)), np.ones((2, 1)), 0.1, 3),
        single=True,
        layouts=True,
    )
    check(
        heat_slices,
        (*args[:1], rng.uniform(0.5, 1, (4, 3)), 0.1, 4),
        (np.ones((2, 2)), np.ones((0, 0)), 0.1, 2),
        layouts=True,
    )


def test_wave():
    cases = [(rng.normal(size=6), rng.uniform(0.3, 0.6, 6), steps) for steps in (7, 0, 1, 2)]
    check(wave_three_buffers, *cases, layouts=True)


def test_wave_slices():
    check(
        wave_slices,
        (rng.normal(size=6), rng.normal(size=6), 0.4),
        (np.ones(2), np.ones(2), 0.4),
        (np.ones(1), np.ones(1), 0.4),
        single=True,
    )


def test_upwind():
    u = np.array([0.5, -0.3, 0.8, 0.2, -0.7, 0.4])
    check(burgers_upwind, (u, 0.1, 3), (u[:1].copy(), 0.1, 3), (u[:2].copy(), 0.1, 3), (u[:0].copy(), 0.1, 3), step=0.3)
    check(advection_in_place, (u, 0.3), (u[:1].copy(), 0.3), (u[:2].copy(), 0.3))
    check(limited_advection, (u, 0.4, 3), (u[:1].copy(), 0.4, 3), (u[:2].copy(), 0.4, 2), step=0.1)


def test_shallow_water():
    h, u = rng.uniform(1, 1.2, 7), rng.uniform(-0.1, 0.1, 7)
    check(shallow_water, (h, u, 0.02, 3), (h[:2].copy(), u[:2].copy(), 0.02, 3), (h[:1].copy(), u[:1].copy(), 0.02, 1))


def test_periodic():
    check(
        periodic,
        (rng.normal(size=(4, 5)), 3),
        (rng.normal(size=(1, 1)), 2),
        (rng.normal(size=(2, 1)), 2),
        (np.zeros((0, 3)), 2),
    )


def test_convolutions():
    sizes = (9, 4, 2, 1, 0)
    check(wide_convolution, *((rng.normal(size=n), rng.normal(size=5)) for n in sizes))
    check(gapped, *((rng.normal(size=n),) for n in (13, 7, 8, *sizes)), layouts=True, single=True)
    check(strided_steps, *((rng.normal(size=n + 3), rng.normal(size=n + 3)) for n in sizes))


def test_convolution_2d():
    check(
        convolution_2d,
        (rng.normal(size=(6, 5)), rng.normal(size=(3, 2))),
        (rng.normal(size=(3, 2)), rng.normal(size=(3, 2))),
        step=0.1,
    )


def test_swaps():
    check(conditional_swap, *((rng.normal(size=4), rng.normal(size=4), n) for n in (5, 0, 1, 2)))
    check(rotated_tuple, *((rng.normal(size=4), rng.normal(size=4), rng.normal(size=4), n) for n in (5, 0, 1, 3)))


def test_three_dimensions():
    check(diffusion_3d, (rng.normal(size=(4, 5, 3)), 0.1), (rng.normal(size=(3, 3, 3)), 0.1), (np.ones((2, 0, 1)), 0.1))


def test_padding():
    check(neumann, (rng.normal(size=5), 0.2, 3), (rng.normal(size=1), 0.2, 3), single=True)


def test_triangular_bounds():
    check(triangle, (rng.normal(size=6),), (rng.normal(size=1),), (rng.normal(size=0),))
