"""A nonlinear stencil of three neighbours in one array, weighted and summed."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def weighted(x, w):
    return np.sum(w[1:-1] * (np.sin(2 * x[:-2]) * np.cos(3 * x[1:-1]) * 4 * x[2:]))


def data(rng: np.random.Generator, n: int) -> Args:
    return rng.random(n), rng.random(n)


def by_numpy(args: Args, threads: int) -> Runner:
    x, w = args

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        four = 4 * w[1:-1]
        sine, cosine, last = np.sin(2 * x[:-2]), np.cos(3 * x[1:-1]), x[2:]
        bar = np.zeros_like(x)
        bar[:-2] += 2 * four * np.cos(2 * x[:-2]) * cosine * last
        bar[1:-1] -= 3 * four * sine * np.sin(3 * x[1:-1]) * last
        bar[2:] += four * sine * cosine
        return np.sum(four * sine * cosine * last), (bar,)

    return Runner(lambda: weighted(x, w), gradient)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def primal(x, w):
        total = 0.0
        for i in prange(1, len(x) - 1):
            total += w[i] * (math.sin(2 * x[i - 1]) * math.cos(3 * x[i]) * 4 * x[i + 1])
        return total

    @njit(parallel=True, fastmath=True)
    def gradient(x, w):
        """Sines and cosines are computed once; then each element collects its three terms."""
        n = len(x)
        s2, c2, s3, c3 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
        for i in prange(n):
            s2[i], c2[i], s3[i], c3[i] = math.sin(2 * x[i]), math.cos(2 * x[i]), math.sin(3 * x[i]), math.cos(3 * x[i])
        total, bar = 0.0, np.zeros(n)
        for i in prange(2, n - 2):
            bar[i] = (
                8 * w[i + 1] * c2[i] * c3[i + 1] * x[i + 2]
                - 12 * w[i] * s2[i - 1] * s3[i] * x[i + 1]
                + 4 * w[i - 1] * s2[i - 2] * c3[i - 1]
            )
        for i in prange(1, n - 1):
            total += w[i] * (s2[i - 1] * c3[i] * 4 * x[i + 1])
        for i in (1, 2, n - 3, n - 2):
            if i - 1 < 2 or i - 1 >= n - 2:
                bar[i - 1] += 8 * w[i] * c2[i - 1] * c3[i] * x[i + 1]
            if i < 2 or i >= n - 2:
                bar[i] -= 12 * w[i] * s2[i - 1] * s3[i] * x[i + 1]
            if i + 1 < 2 or i + 1 >= n - 2:
                bar[i + 1] += 4 * w[i] * s2[i - 1] * c3[i]
        return total, (bar,)

    return peers.numba_runner(primal, gradient, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    x, w = args
    bar = np.empty_like(x)
    gradient = native.bound("adjoint1d", "gradient", threads, x, w, bar, len(x))
    return Runner(native.bound("adjoint1d", "primal", threads, x, w, len(x)), lambda: (gradient(), (bar,)))


def in_jax(jax):
    jnp = jax.numpy
    return lambda x, w: jnp.sum(w[1:-1] * (jnp.sin(2 * x[:-2]) * jnp.cos(3 * x[1:-1]) * 4 * x[2:]))


def in_torch(torch):
    return lambda x, w: torch.sum(w[1:-1] * (torch.sin(2 * x[:-2]) * torch.cos(3 * x[1:-1]) * 4 * x[2:]))


def work(args: Args) -> Work:
    n = len(args[0])
    return Work(Cost(8 * 2 * n, 7 * n, 2 * n), Cost(8 * 3 * n, 18 * n, 4 * n), 8 * 3 * n)


PROBLEMS = (
    Problem(
        "adjoint1d",
        "1-D adjoint, 1e7",
        weighted,
        (0,),
        data,
        {"n": 10_000_000},
        {"n": 2051},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0,)),
            "PyTorch": partial(peers.by_torch, in_torch, (0,)),
        },
        most=1.8,
        tolerance=1e-11,
    ),
)
