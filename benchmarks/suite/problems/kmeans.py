"""The cost of k-means, with respect to its centres: each point belongs to the nearest centre."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from adc import prange
from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def cost(points, centres):
    n, d = points.shape
    k = len(centres)
    total = 0.0
    for p in prange(n):
        best = np.inf
        for c in range(k):
            square = 0.0
            for i in range(d):
                square += (points[p, i] - centres[c, i]) ** 2
            if square < best:
                best = square
        total += best
    return total


def data(rng: np.random.Generator, n: int, k: int, d: int) -> Args:
    return rng.random((n, d)), rng.random((k, d))


def squares(points: Any, centres: Any) -> Any:
    return ((points[:, None, :] - centres) ** 2).sum(2)


def by_numpy(args: Args, threads: int) -> Runner:
    points, centres = args

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        every = squares(points, centres)
        which = every.argmin(1)
        bar = np.zeros_like(centres)
        np.add.at(bar, which, 2.0 * (centres[which] - points))
        return every.min(1).sum(), (bar,)

    return Runner(lambda: squares(points, centres).min(1).sum(), gradient)


def by_numba(args: Args, threads: int) -> Runner:
    import numba

    @numba.njit(parallel=True, fastmath=True)
    def primal(points, centres):
        n, d = points.shape
        total = 0.0
        for p in numba.prange(n):
            best = 1e300
            for c in range(len(centres)):
                square = 0.0
                for i in range(d):
                    square += (points[p, i] - centres[c, i]) ** 2
                best = min(best, square)
            total += best
        return total

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bar = np.empty_like(args[1])
    sizes = (len(args[0]), *bar.shape)
    primal = native.bound("kmeans", "primal", threads, *args, *sizes)
    gradient = native.bound("kmeans", "gradient", threads, *args, bar, *sizes)
    return Runner(primal, lambda: (gradient(), (bar,)))


def in_jax(jax):
    return lambda points, centres: squares(points, centres).min(1).sum()


def in_torch(torch):
    # PyTorch splits a gradient among equal minima, which do not occur here.
    return lambda points, centres: ((points[:, None, :] - centres) ** 2).sum(2).amin(1).sum()


def work(args: Args) -> Work:
    (n, d), k = args[0].shape, len(args[1])
    return Work(Cost(8 * n * d, 3 * n * k * d), Cost(8 * n * d, 3 * n * k * d + n * d), 8 * n * d)


PROBLEMS = (
    Problem(
        "kmeans",
        "k-means, 20,000 points, k 20, d 8",
        cost,
        (1,),
        data,
        {"n": 20_000, "k": 20, "d": 8},
        {"n": 211, "k": 5, "d": 3},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (1,)),
            "PyTorch": partial(peers.by_torch, in_torch, (1,)),
        },
    ),
)
