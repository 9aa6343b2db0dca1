"""A lattice-Boltzmann method (D2Q9, one relaxation time), periodic, with solid points that bounce populations back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work

CX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
CY = (0, 0, 1, 0, -1, 1, 1, -1, -1)
OPPOSITE = (0, 3, 4, 1, 2, 7, 8, 5, 6)
WEIGHTS = (4 / 9,) + 4 * (1 / 9,) + 4 * (1 / 36,)


def misfit(f0, omega, target, solid, steps):
    _, n, m = f0.shape
    f = f0.copy()
    g = f0.copy()
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                p = [f[q, (i - CX[q]) % n, (j - CY[q]) % m] for q in range(9)]
                if solid[i, j]:
                    for q in range(9):
                        g[q, i, j] = p[OPPOSITE[q]]
                else:
                    rho = sum(p)
                    u = (p[1] + p[5] + p[8] - p[3] - p[6] - p[7]) / rho
                    v = (p[2] + p[5] + p[6] - p[4] - p[7] - p[8]) / rho
                    for q in range(9):
                        along = CX[q] * u + CY[q] * v
                        balance = 1.0 + 3.0 * along + 4.5 * along * along - 1.5 * (u * u + v * v)
                        g[q, i, j] = p[q] + omega * (WEIGHTS[q] * rho * balance - p[q])
        f, g = g, f
    return 0.5 * np.sum((f - target) ** 2)


def data(rng: np.random.Generator, n: int, m: int, steps: int) -> Args:
    weights = np.array(WEIGHTS)[:, None, None]
    f0, target = (weights * (1.0 + 0.1 * rng.random((9, n, m))) for _ in range(2))
    return f0, 1.3, target, rng.random((n, m)) < 0.1, steps


def step(xp: Any, f: Any, omega: Any, solid: Any) -> Any:
    """All populations after a step, on whole arrays."""
    p = xp.stack([xp.roll(f[q], (CX[q], CY[q]), (0, 1)) for q in range(9)])
    rho = p.sum(0)
    u = (p[1] + p[5] + p[8] - p[3] - p[6] - p[7]) / rho
    v = (p[2] + p[5] + p[6] - p[4] - p[7] - p[8]) / rho
    square = 1.0 - 1.5 * (u * u + v * v)
    rows = []
    for q in range(9):
        along = CX[q] * u + CY[q] * v
        balance = WEIGHTS[q] * rho * (square + 3.0 * along + 4.5 * along * along)
        rows.append(xp.where(solid, p[OPPOSITE[q]], p[q] + omega * (balance - p[q])))
    return xp.stack(rows)


def by_numpy(args: Args, threads: int) -> Runner:
    f0, omega, target, solid, steps = args

    def primal() -> Any:
        f = f0
        for _ in range(steps):
            f = step(np, f, omega, solid)
        return 0.5 * np.sum((f - target) ** 2)

    return Runner(primal)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    cx, cy, opposite, weights = np.array(CX), np.array(CY), np.array(OPPOSITE), np.array(WEIGHTS)

    @njit(parallel=True, fastmath=True)
    def primal(f0, omega, target, solid, steps):
        _, n, m = f0.shape
        f, g = f0.copy(), f0.copy()
        for _ in range(steps):
            for i in prange(n):
                p = np.empty(9)
                for j in range(m):
                    for q in range(9):
                        p[q] = f[q, (i - cx[q]) % n, (j - cy[q]) % m]
                    if solid[i, j]:
                        for q in range(9):
                            g[q, i, j] = p[opposite[q]]
                    else:
                        rho = p.sum()
                        u = (p[1] + p[5] + p[8] - p[3] - p[6] - p[7]) / rho
                        v = (p[2] + p[5] + p[6] - p[4] - p[7] - p[8]) / rho
                        square = 1.0 - 1.5 * (u * u + v * v)
                        for q in range(9):
                            along = cx[q] * u + cy[q] * v
                            balance = weights[q] * rho * (square + 3.0 * along + 4.5 * along * along)
                            g[q, i, j] = p[q] + omega * (balance - p[q])
            f, g = g, f
        return 0.5 * np.sum((f - target) ** 2)

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bar, by_omega = np.empty_like(args[0]), np.empty(1)
    sizes = bar.shape[1:]
    primal = native.bound("boltzmann", "primal", threads, *args, *sizes)
    gradient = native.bound("boltzmann", "gradient", threads, *args, bar, by_omega, *sizes)
    return Runner(primal, lambda: (gradient(), (bar, by_omega[0])))


def in_jax(jax):
    jnp = jax.numpy

    def misfit(f0, omega, target, solid, steps):
        f, _ = jax.lax.scan(lambda f, _: (step(jnp, f, omega, solid), None), f0, None, length=steps)
        return 0.5 * jnp.sum((f - target) ** 2)

    return misfit


def in_torch(torch):
    def misfit(f0, omega, target, solid, steps):
        f = f0
        for _ in range(steps):
            f = step(torch, f, omega, solid)
        return 0.5 * torch.sum((f - target) ** 2)

    return misfit


def work(args: Args) -> Work:
    amount = args[3].size * args[4]
    # Nine populations are read and written in a step; a reverse step also reads the state.
    primal = Cost(8 * 18 * amount, 120 * amount)
    return Work(primal, Cost(8 * (18 + 27) * amount, (120 + 260) * amount), 8 * 9 * args[3].size * (args[4] + 2))


PROBLEMS = (
    Problem(
        "boltzmann",
        "lattice-Boltzmann 256² x 20",
        misfit,
        (0, 1),
        data,
        {"n": 256, "m": 256, "steps": 20},
        {"n": 6, "m": 7, "steps": 4},
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
