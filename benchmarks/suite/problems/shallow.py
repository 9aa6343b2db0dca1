"""The shallow-water equations: limited slopes, Rusanov's flux; branches, minima and maxima in every point."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work

G = 9.81


def minmod(a, b):
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b


def flux(hl, ql, tl, hr, qr, tr):
    """The fluxes across a face: of depth, of normal momentum and of tangential momentum."""
    u, v = ql / hl, qr / hr
    speed = max(abs(u) + math.sqrt(G * hl), abs(v) + math.sqrt(G * hr))
    return (
        0.5 * (ql + qr) - 0.5 * speed * (hr - hl),
        0.5 * (ql * u + 0.5 * G * hl * hl + qr * v + 0.5 * G * hr * hr) - 0.5 * speed * (qr - ql),
        0.5 * (tl * u + tr * v) - 0.5 * speed * (tr - tl),
    )


def misfit(s0, c, target, steps):
    """``s0`` (3, n, m): depth and momenta, kept constant in the two outermost rows and columns; ``c``: time step over
    grid spacing."""
    _, n, m = s0.shape
    s = s0.copy()
    sx, sy, fx, fy = np.zeros_like(s), np.zeros_like(s), np.zeros_like(s), np.zeros_like(s)
    for _ in range(steps):
        for p in range(3):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    sx[p, i, j] = minmod(s[p, i, j] - s[p, i - 1, j], s[p, i + 1, j] - s[p, i, j])
                    sy[p, i, j] = minmod(s[p, i, j] - s[p, i, j - 1], s[p, i, j + 1] - s[p, i, j])
        for i in range(1, n - 2):
            for j in range(2, m - 2):
                fx[0, i, j], fx[1, i, j], fx[2, i, j] = flux(
                    s[0, i, j] + 0.5 * sx[0, i, j],
                    s[1, i, j] + 0.5 * sx[1, i, j],
                    s[2, i, j] + 0.5 * sx[2, i, j],
                    s[0, i + 1, j] - 0.5 * sx[0, i + 1, j],
                    s[1, i + 1, j] - 0.5 * sx[1, i + 1, j],
                    s[2, i + 1, j] - 0.5 * sx[2, i + 1, j],
                )
        for i in range(2, n - 2):
            for j in range(1, m - 2):
                fy[0, i, j], fy[2, i, j], fy[1, i, j] = flux(
                    s[0, i, j] + 0.5 * sy[0, i, j],
                    s[2, i, j] + 0.5 * sy[2, i, j],
                    s[1, i, j] + 0.5 * sy[1, i, j],
                    s[0, i, j + 1] - 0.5 * sy[0, i, j + 1],
                    s[2, i, j + 1] - 0.5 * sy[2, i, j + 1],
                    s[1, i, j + 1] - 0.5 * sy[1, i, j + 1],
                )
        for p in range(3):
            for i in range(2, n - 2):
                for j in range(2, m - 2):
                    s[p, i, j] -= c * (fx[p, i, j] - fx[p, i - 1, j] + fy[p, i, j] - fy[p, i, j - 1])
    return 0.5 * np.sum((s[0] - target) ** 2)


def data(rng: np.random.Generator, n: int, m: int, steps: int) -> Args:
    s0 = np.stack([1.0 + 0.2 * rng.random((n, m)), 0.4 * rng.random((n, m)) - 0.2, 0.4 * rng.random((n, m)) - 0.2])
    return s0, 0.05, 1.0 + 0.1 * rng.random((n, m)), steps


def step(xp: Any, s: Any, c: Any) -> Any:
    """The change of inner points in a step, (3, n - 4, m - 4), on whole arrays."""

    def slopes(u: Any) -> Any:
        a, b = u[:, 1:-1] - u[:, :-2], u[:, 2:] - u[:, 1:-1]
        return xp.where(a * b <= 0.0, 0.0 * a, xp.where(xp.abs(a) < xp.abs(b), a, b))

    def faces(u: Any) -> Any:
        d = 0.5 * slopes(u)
        left, right = u[:, 1:-2] + d[:, :-1], u[:, 2:-1] - d[:, 1:]
        v, w = left[1] / left[0], right[1] / right[0]
        speed = 0.5 * xp.maximum(xp.abs(v) + xp.sqrt(G * left[0]), xp.abs(w) + xp.sqrt(G * right[0]))
        flow = xp.stack([left[1] + right[1], left[1] * v + right[1] * w, left[2] * v + right[2] * w])
        pressure = 0.5 * G * (left[0] * left[0] + right[0] * right[0])
        flow = 0.5 * (flow + xp.stack([0.0 * pressure, pressure, 0.0 * pressure]))
        return flow - speed * (right - left)

    fx = faces(s[:, :, 2:-2])
    turned = xp.stack([s[0], s[2], s[1]])[:, 2:-2].swapaxes(1, 2)
    fy = faces(turned).swapaxes(1, 2)
    fy = xp.stack([fy[0], fy[2], fy[1]])
    return -c * (fx[:, 1:] - fx[:, :-1] + fy[:, :, 1:] - fy[:, :, :-1])


INNER = (slice(None), slice(2, -2), slice(2, -2))


def by_numpy(args: Args, threads: int) -> Runner:
    s0, c, target, steps = args

    def primal() -> Any:
        s = s0.copy()
        for _ in range(steps):
            s[INNER] += step(np, s, c)
        return 0.5 * np.sum((s[0] - target) ** 2)

    return Runner(primal)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    limit: Any = njit(fastmath=True)(minmod)
    across: Any = njit(fastmath=True)(flux)

    @njit(parallel=True, fastmath=True)
    def primal(s0, c, target, steps):
        _, n, m = s0.shape
        s = s0.copy()
        sx, sy, fx, fy = np.zeros_like(s), np.zeros_like(s), np.zeros_like(s), np.zeros_like(s)
        for _ in range(steps):
            for i in prange(1, n - 1):
                for p in range(3):
                    for j in range(1, m - 1):
                        sx[p, i, j] = 0.5 * limit(s[p, i, j] - s[p, i - 1, j], s[p, i + 1, j] - s[p, i, j])
                        sy[p, i, j] = 0.5 * limit(s[p, i, j] - s[p, i, j - 1], s[p, i, j + 1] - s[p, i, j])
            for i in prange(1, n - 2):
                for j in range(2, m - 2):
                    a, b, d = across(
                        s[0, i, j] + sx[0, i, j], s[1, i, j] + sx[1, i, j], s[2, i, j] + sx[2, i, j],
                        s[0, i + 1, j] - sx[0, i + 1, j], s[1, i + 1, j] - sx[1, i + 1, j],
                        s[2, i + 1, j] - sx[2, i + 1, j],
                    )
                    fx[0, i, j], fx[1, i, j], fx[2, i, j] = a, b, d
                if i >= 2:
                    for j in range(1, m - 2):
                        a, b, d = across(
                            s[0, i, j] + sy[0, i, j], s[2, i, j] + sy[2, i, j], s[1, i, j] + sy[1, i, j],
                            s[0, i, j + 1] - sy[0, i, j + 1], s[2, i, j + 1] - sy[2, i, j + 1],
                            s[1, i, j + 1] - sy[1, i, j + 1],
                        )
                        fy[0, i, j], fy[2, i, j], fy[1, i, j] = a, b, d
            for i in prange(2, n - 2):
                for p in range(3):
                    for j in range(2, m - 2):
                        s[p, i, j] -= c * (fx[p, i, j] - fx[p, i - 1, j] + fy[p, i, j] - fy[p, i, j - 1])
        return 0.5 * np.sum((s[0] - target) ** 2)

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bar = np.empty_like(args[0])
    primal = native.bound("shallow", "primal", threads, *args, *bar.shape[1:])
    gradient = native.bound("shallow", "gradient", threads, *args, bar, *bar.shape[1:])
    return Runner(primal, lambda: (gradient(), (bar,)))


def in_jax(jax):
    jnp = jax.numpy

    def misfit(s0, c, target, steps):
        s, _ = jax.lax.scan(lambda s, _: (s.at[INNER].add(step(jnp, s, c)), None), s0, None, length=steps)
        return 0.5 * jnp.sum((s[0] - target) ** 2)

    return misfit


def in_torch(torch):
    def misfit(s0, c, target, steps):
        s = s0
        for _ in range(steps):
            s = s + torch.nn.functional.pad(step(torch, s, c), (2, 2, 2, 2))
        return 0.5 * torch.sum((s[0] - target) ** 2)

    return misfit


def work(args: Args) -> Work:
    amount = args[2].size * args[3]
    # Slopes, fluxes and the update pass through 3, 9 and 9 planes and write 6, 6 and 3; divisions and roots count ten.
    primal = Cost(8 * 36 * amount, 250 * amount)
    return Work(primal, Cost(8 * (36 + 120) * amount, (250 + 650) * amount), 8 * 39 * args[2].size)


PROBLEMS = (
    Problem(
        "shallow-water",
        "shallow water 200² x 100, limited slopes",
        misfit,
        (0,),
        data,
        {"n": 200, "m": 200, "steps": 100},
        {"n": 9, "m": 11, "steps": 3},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0,)),
            "PyTorch": partial(peers.by_torch, in_torch, (0,)),
        },
    ),
)
