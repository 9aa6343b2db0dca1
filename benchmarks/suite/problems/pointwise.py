"""sin(2a) cos(3b) 4c, point by point: the values, and three partials with them."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def pointwise(a, b, c):
    out = np.empty_like(a)
    for i in range(len(a)):
        out[i] = math.sin(2 * a[i]) * math.cos(3 * b[i]) * 4 * c[i]
    return out


def weighted(a, b, c, w):
    out = pointwise(a, b, c)
    return np.sum(w * out), out


def data(rng: np.random.Generator, n: int) -> Args:
    return tuple(rng.random(n) for _ in range(3))


def cotangent(args: Args) -> Any:
    return np.linspace(0.5, 1.5, len(args[0]))


def by_numpy(args: Args, threads: int) -> Runner:
    a, b, c = args
    w = cotangent(args)

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        sa, ca, sb, cb = np.sin(2 * a), np.cos(2 * a), np.sin(3 * b), np.cos(3 * b)
        four = 4 * c
        return sa * cb * four, (2 * w * ca * cb * four, -3 * w * sa * sb * four, 4 * w * sa * cb)

    return Runner(lambda: np.sin(2 * a) * np.cos(3 * b) * 4 * c, gradient)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    w = cotangent(args)

    @njit(parallel=True, fastmath=True)
    def primal(a, b, c):
        out = np.empty_like(a)
        for i in prange(len(a)):
            out[i] = math.sin(2 * a[i]) * math.cos(3 * b[i]) * 4 * c[i]
        return out

    @njit(parallel=True, fastmath=True)
    def gradient(a, b, c):
        out, da, db, dc = np.empty_like(a), np.empty_like(a), np.empty_like(a), np.empty_like(a)
        for i in prange(len(a)):
            sa, ca, sb, cb = math.sin(2 * a[i]), math.cos(2 * a[i]), math.sin(3 * b[i]), math.cos(3 * b[i])
            out[i] = sa * cb * 4 * c[i]
            da[i] = 8 * w[i] * ca * cb * c[i]
            db[i] = -12 * w[i] * sa * sb * c[i]
            dc[i] = 4 * w[i] * sa * cb
        return out, (da, db, dc)

    return peers.numba_runner(primal, gradient, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    n = len(args[0])
    out, bars = np.empty(n), tuple(np.empty(n) for _ in range(3))
    primal = native.bound("pointwise", "primal", threads, *args, out, n)
    gradient = native.bound("pointwise", "gradient", threads, *args, cotangent(args), out, *bars, n)

    def both() -> tuple[Any, tuple[Any, ...]]:
        gradient()
        return out, bars

    def values() -> Any:
        primal()
        return out

    return Runner(values, both)


def in_jax(jax):
    jnp = jax.numpy
    return lambda a, b, c: jnp.sin(2 * a) * jnp.cos(3 * b) * 4 * c


def in_torch(torch):
    return lambda a, b, c: torch.sin(2 * a) * torch.cos(3 * b) * 4 * c


def work(args: Args) -> Work:
    n = len(args[0])
    # Three arrays are read and one is written; with partials four are read and four written.
    return Work(Cost(8 * 4 * n, 5 * n, 2 * n), Cost(8 * 8 * n, 13 * n, 4 * n), 8 * 8 * n)


def problem(name: str, title: str, n: int) -> Problem:
    return Problem(
        name,
        title,
        pointwise,
        (0, 1, 2),
        data,
        {"n": n},
        {"n": 1001},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax_pullback, in_jax, (0, 1, 2), cotangent),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1, 2), cotangent=cotangent),
        },
        most=2.0,
        tolerance=1e-12,
        cotangent=cotangent,
        weighted=weighted,
        scaling=({"n": 10_000}, {"n": 100_000}, {"n": 1_000_000}, {"n": 10_000_000}) if n == 100_000 else (),
    )


PROBLEMS = (
    problem("pointwise", "stencil per point, 1e5", 100_000),
    problem("pointwise-long", "stencil per point, 1e7", 10_000_000),
)
