"""A sparse matrix times a vector, and a hyperbolic tangent of each row; subscripts are data."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def misfit(values, x, columns, first, target):
    n = len(target)
    out = np.empty(n)
    for i in range(n):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        out[i] = math.tanh(s)
    return 0.5 * np.sum((out - target) ** 2)


def data(rng: np.random.Generator, rows: int, most: int) -> Args:
    """Rows have between none and ``most`` entries."""
    first = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, rows))]).astype(np.int64)
    entries = int(first[-1])
    columns = rng.integers(0, rows, entries)
    return rng.standard_normal(entries) / most, rng.standard_normal(rows), columns, first, rng.random(rows)


def by_numpy(args: Args, threads: int) -> Runner:
    values, x, columns, first, target = args
    rows = np.repeat(np.arange(len(target)), np.diff(first))

    def outputs() -> Any:
        return np.tanh(np.bincount(rows, values * x[columns], len(target)))

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        out = outputs()
        s = ((out - target) * (1.0 - out * out))[rows]
        value = 0.5 * np.sum((out - target) ** 2)
        return value, (s * x[columns], np.bincount(columns, s * values, len(target)))

    return Runner(lambda: 0.5 * np.sum((outputs() - target) ** 2), gradient)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def primal(values, x, columns, first, target):
        total = 0.0
        for i in prange(len(target)):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * x[columns[e]]
            total += (math.tanh(s) - target[i]) ** 2
        return 0.5 * total

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    by_values, by_x = np.empty_like(args[0]), np.empty_like(args[1])
    primal = native.bound("spmv", "primal", threads, *args, len(by_x))
    gradient = native.bound("spmv", "gradient", threads, *args, by_values, by_x, len(by_x))
    return Runner(primal, lambda: (gradient(), (by_values, by_x)))


def in_jax(jax):
    jnp = jax.numpy

    def misfit(values, x, columns, first, target):
        n = len(target)
        rows = jnp.repeat(jnp.arange(n), jnp.diff(first), total_repeat_length=len(values))
        sums = jax.ops.segment_sum(values * x[columns], rows, n, indices_are_sorted=True)
        return 0.5 * jnp.sum((jnp.tanh(sums) - target) ** 2)

    return misfit


def in_torch(torch):
    def misfit(values, x, columns, first, target):
        rows = torch.repeat_interleave(torch.arange(len(target)), torch.diff(first))
        sums = torch.zeros_like(target).index_add(0, rows, values * x[columns])
        return 0.5 * torch.sum((torch.tanh(sums) - target) ** 2)

    return misfit


def work(args: Args) -> Work:
    entries, n = len(args[0]), len(args[1])
    primal = Cost(16 * entries + 32 * n, 2 * entries, 2 * n)
    return Work(primal, Cost(40 * entries + 48 * n, 5 * entries, 2 * n), 24 * entries + 32 * n)


PROBLEMS = (
    Problem(
        "spmv",
        "sparse product with tanh, 1e5 rows",
        misfit,
        (0, 1),
        data,
        {"rows": 100_000, "most": 24},
        {"rows": 301, "most": 6},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1)),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1)),
        },
    ),
)
