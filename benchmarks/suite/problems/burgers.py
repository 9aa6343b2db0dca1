"""Burgers' equations in two dimensions: a nonlinear time loop, whose adjoint needs the trajectory."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def burgers(u0, v0, c, k, u_target, v_target, steps):
    n, m = u0.shape
    u, v, un, vn = u0.copy(), v0.copy(), u0.copy(), v0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                un[i, j] = (
                    u[i, j]
                    - c * u[i, j] * (u[i, j] - u[i - 1, j])
                    - c * v[i, j] * (u[i, j] - u[i, j - 1])
                    + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
                )
                vn[i, j] = (
                    v[i, j]
                    - c * u[i, j] * (v[i, j] - v[i - 1, j])
                    - c * v[i, j] * (v[i, j] - v[i, j - 1])
                    + k * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j])
                )
        u, un = un, u
        v, vn = vn, v
    return 0.5 * np.sum((u - u_target) ** 2 + (v - v_target) ** 2)


def data(rng: np.random.Generator, n: int, m: int, steps: int) -> Args:
    fields = [rng.random((n, m)) for _ in range(4)]
    return (*fields[:2], 0.1, 0.05, *fields[2:], steps)


def change(f: Any, u: Any, v: Any, c: float, k: float) -> Any:
    """The change of the field f in a step, at inner points."""
    here, up, left = f[1:-1, 1:-1], f[:-2, 1:-1], f[1:-1, :-2]
    upwind = c * u[1:-1, 1:-1] * (here - up) + c * v[1:-1, 1:-1] * (here - left)
    return k * (up + f[2:, 1:-1] + left + f[1:-1, 2:] - 4.0 * here) - upwind


def by_numpy(args: Args, threads: int) -> Runner:
    u0, v0, c, k, u_target, v_target, steps = args

    def run() -> list[Any]:
        states = [(u0, v0)]
        for _ in range(steps):
            u, v = states[-1]
            un, vn = u.copy(), v.copy()
            un[1:-1, 1:-1] += change(u, u, v, c, k)
            vn[1:-1, 1:-1] += change(v, u, v, c, k)
            states.append((un, vn))
        return states

    def distance(states: list[Any]) -> Any:
        u, v = states[-1]
        return 0.5 * np.sum((u - u_target) ** 2 + (v - v_target) ** 2)

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        states = run()
        ub, vb = states[-1][0] - u_target, states[-1][1] - v_target
        for u, v in reversed(states[:-1]):
            p, q = ub[1:-1, 1:-1].copy(), vb[1:-1, 1:-1].copy()
            a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
            for f, bar, g in ((u, ub, p), (v, vb, q)):
                here, up, left = f[1:-1, 1:-1], f[:-2, 1:-1], f[1:-1, :-2]
                bar[1:-1, 1:-1] -= g * (c * (a + b) + 4.0 * k)
                bar[:-2, 1:-1] += g * (c * a + k)
                bar[1:-1, :-2] += g * (c * b + k)
                bar[2:, 1:-1] += g * k
                bar[1:-1, 2:] += g * k
                ub[1:-1, 1:-1] -= g * c * (here - up)
                vb[1:-1, 1:-1] -= g * c * (here - left)
        return distance(states), (ub, vb)

    return Runner(lambda: distance(run()), gradient)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def primal(u0, v0, c, k, u_target, v_target, steps):
        n, m = u0.shape
        u, v, un, vn = u0.copy(), v0.copy(), u0.copy(), v0.copy()
        for _ in range(steps):
            for i in prange(1, n - 1):
                for j in range(1, m - 1):
                    a, b = u[i, j], v[i, j]
                    un[i, j] = (
                        a - c * a * (a - u[i - 1, j]) - c * b * (a - u[i, j - 1])
                        + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * a)
                    )
                    vn[i, j] = (
                        b - c * a * (b - v[i - 1, j]) - c * b * (b - v[i, j - 1])
                        + k * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * b)
                    )
            u, un = un, u
            v, vn = vn, v
        total = 0.0
        for i in prange(n):
            for j in range(m):
                total += (u[i, j] - u_target[i, j]) ** 2 + (v[i, j] - v_target[i, j]) ** 2
        return 0.5 * total

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    ub, vb = np.empty_like(args[0]), np.empty_like(args[1])
    primal = native.bound("burgers", "primal", threads, *args, *ub.shape)
    gradient = native.bound("burgers", "gradient", threads, *args, ub, vb, *ub.shape)
    return Runner(primal, lambda: (gradient(), (ub, vb)))


def in_jax(jax):
    jnp = jax.numpy

    def burgers(u0, v0, c, k, u_target, v_target, steps):
        def step(state, _):
            u, v = state
            inner = (slice(1, -1), slice(1, -1))
            return (u.at[inner].add(change(u, u, v, c, k)), v.at[inner].add(change(v, u, v, c, k))), None

        (u, v), _ = jax.lax.scan(step, (u0, v0), None, length=steps)
        return 0.5 * jnp.sum((u - u_target) ** 2 + (v - v_target) ** 2)

    return burgers


def in_torch(torch):
    pad = torch.nn.functional.pad

    def burgers(u0, v0, c, k, u_target, v_target, steps):
        u, v = u0, v0
        for _ in range(steps):
            u, v = u + pad(change(u, u, v, c, k), (1, 1, 1, 1)), v + pad(change(v, u, v, c, k), (1, 1, 1, 1))
        return 0.5 * torch.sum((u - u_target) ** 2 + (v - v_target) ** 2)

    return burgers


def work(args: Args) -> Work:
    points, steps = args[0].size, args[6]
    # Forward, again between snapshots, and backward, where two states and two adjoints are read and two written.
    forward, back = Cost(32 * points * steps, 32 * points * steps), Cost(48 * points * steps, 50 * points * steps)
    gradient = Cost(2 * forward.bytes + back.bytes, 2 * forward.flops + back.flops)
    return Work(forward, gradient, 8 * 24 * points)


PROBLEMS = (
    Problem(
        "burgers",
        "Burgers 2-D 512² x 100",
        burgers,
        (0, 1),
        data,
        {"n": 512, "m": 512, "steps": 100},
        {"n": 11, "m": 17, "steps": 7},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1)),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1)),
        },
        most=7.0,
        scaling=tuple({"n": n, "m": n, "steps": 20} for n in (64, 128, 256, 512)),
    ),
)
