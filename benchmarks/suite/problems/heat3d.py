"""Heat in a box, with respect to the initial state and the diffusivity."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def cooled(u0, r, target, steps):
    n, m, l = u0.shape
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, l - 1):
                    v[i, j, k] = u[i, j, k] + r * (
                        u[i - 1, j, k]
                        + u[i + 1, j, k]
                        + u[i, j - 1, k]
                        + u[i, j + 1, k]
                        + u[i, j, k - 1]
                        + u[i, j, k + 1]
                        - 6.0 * u[i, j, k]
                    )
        u, v = v, u
    return 0.5 * np.sum((u - target) ** 2)


def data(rng: np.random.Generator, n: int, m: int, l: int, steps: int) -> Args:
    return rng.random((n, m, l)), 0.15, rng.random((n, m, l)), steps


INNER = (slice(1, -1),) * 3


def neighbours(u: Any) -> tuple[Any, ...]:
    middle = slice(1, -1)
    return (
        u[:-2, middle, middle],
        u[2:, middle, middle],
        u[middle, :-2, middle],
        u[middle, 2:, middle],
        u[middle, middle, :-2],
        u[middle, middle, 2:],
    )


def flow(u: Any) -> Any:
    return sum(neighbours(u)) - 6.0 * u[INNER]


def by_numpy(args: Args, threads: int) -> Runner:
    u0, r, target, steps = args

    def last() -> Any:
        u = u0.copy()
        for _ in range(steps):
            u[INNER] += r * flow(u)
        return u

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        states = [u0]
        for _ in range(steps):
            u = states[-1].copy()
            u[INNER] += r * flow(u)
            states.append(u)
        bar = states[-1] - target
        value, by_r = 0.5 * np.sum(bar * bar), 0.0
        for u in reversed(states[:-1]):
            g = bar[INNER].copy()
            by_r += np.sum(g * flow(u))
            bar[INNER] -= 6.0 * r * g
            for part in neighbours(bar):
                part += r * g
        return value, (bar, by_r)

    return Runner(lambda: 0.5 * np.sum((last() - target) ** 2), gradient)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def primal(u0, r, target, steps):
        n, m, l = u0.shape
        u, v = u0.copy(), u0.copy()
        for _ in range(steps):
            for i in prange(1, n - 1):
                for j in range(1, m - 1):
                    for k in range(1, l - 1):
                        near = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k]
                        v[i, j, k] = u[i, j, k] + r * (near + u[i, j, k - 1] + u[i, j, k + 1] - 6.0 * u[i, j, k])
            u, v = v, u
        total = 0.0
        for i in prange(n):
            for j in range(m):
                for k in range(l):
                    total += (u[i, j, k] - target[i, j, k]) ** 2
        return 0.5 * total

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bar, by_r = np.empty_like(args[0]), np.empty(1)
    primal = native.bound("heat3d", "primal", threads, *args, *bar.shape)
    gradient = native.bound("heat3d", "gradient", threads, *args, bar, by_r, *bar.shape)
    return Runner(primal, lambda: (gradient(), (bar, by_r[0])))


def in_jax(jax):
    jnp = jax.numpy

    def cooled(u0, r, target, steps):
        u, _ = jax.lax.scan(lambda u, _: (u.at[INNER].add(r * flow(u)), None), u0, None, length=steps)
        return 0.5 * jnp.sum((u - target) ** 2)

    return cooled


def in_torch(torch):
    pad = torch.nn.functional.pad

    def cooled(u0, r, target, steps):
        u = u0
        for _ in range(steps):
            u = u + pad(r * flow(u), (1, 1, 1, 1, 1, 1))
        return 0.5 * torch.sum((u - target) ** 2)

    return cooled


def work(args: Args) -> Work:
    amount = args[0].size * args[3]
    # Forward, again between snapshots, and backward, where the state is read as well.
    gradient = Cost((16 + 16 + 24) * amount, (9 + 9 + 19) * amount)
    return Work(Cost(16 * amount, 9 * amount), gradient, 18 * args[0].nbytes)


PROBLEMS = (
    Problem(
        "heat3d",
        "heat 3-D 128³ x 50, by state and coefficient",
        cooled,
        (0, 1),
        data,
        {"n": 128, "m": 128, "l": 128, "steps": 50},
        {"n": 6, "m": 7, "l": 9, "steps": 5},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1)),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1)),
        },
        most=4.5,
    ),
)
