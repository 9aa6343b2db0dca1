"""A plate that cools: the gradient with respect to its initial state, which needs no tape, and also to its
diffusivity."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def cooled(u0, r, target, steps):
    n, m = u0.shape
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + r * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return 0.5 * np.sum((u - target) ** 2)


def data(rng: np.random.Generator, n: int, m: int, steps: int) -> Args:
    return rng.random((n, m)), 0.2, rng.random((n, m)), steps


def flow(u: Any) -> Any:
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]


def by_numpy(state_only: bool, args: Args, threads: int) -> Runner:
    u0, r, target, steps = args

    def trajectory(every: bool) -> list[Any]:
        u = u0.copy()
        states = [u]
        for _ in range(steps):
            v = u.copy()
            v[1:-1, 1:-1] += r * flow(u)
            u = v
            states = [*states, u] if every else [u]
        return states

    def back(bar: Any, u: Any) -> float:
        """Pull ``bar`` back by one step, in place; returns the derivative with respect to r if there is a state."""
        inner = bar[1:-1, 1:-1].copy()
        bar[1:-1, 1:-1] -= 4.0 * r * inner
        for part in (bar[:-2, 1:-1], bar[2:, 1:-1], bar[1:-1, :-2], bar[1:-1, 2:]):
            part += r * inner
        return 0.0 if u is None else float(np.sum(inner * flow(u)))

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        states = trajectory(not state_only)
        bar = states[-1] - target
        value = 0.5 * np.sum(bar * bar)
        by_r = 0.0
        for t in range(steps - 1, -1, -1):
            by_r += back(bar, None if state_only else states[t])
        return value, (bar,) if state_only else (bar, by_r)

    return Runner(lambda: 0.5 * np.sum((trajectory(False)[0] - target) ** 2), gradient)


def by_numba(state_only: bool, args: Args, threads: int) -> Runner:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def primal(u0, r, target, steps):
        n, m = u0.shape
        u, v = u0.copy(), u0.copy()
        for _ in range(steps):
            for i in prange(1, n - 1):
                for j in range(1, m - 1):
                    v[i, j] = u[i, j] + r * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
            u, v = v, u
        total = 0.0
        for i in prange(n):
            for j in range(m):
                total += (u[i, j] - target[i, j]) ** 2
        return 0.5 * total

    return peers.numba_runner(primal, None, args, threads)


def by_c(name: str, args: Args, threads: int) -> Runner:
    u0, r, target, steps = args
    bar, by_r = np.empty_like(u0), np.empty(1)
    primal = native.bound("heat2d", "primal", threads, u0, r, target, steps, *u0.shape)
    bars = (bar,) if name == "gradient_state" else (bar, by_r)
    gradient = native.bound("heat2d", name, threads, u0, r, target, steps, *bars, *u0.shape)
    return Runner(primal, lambda: (gradient(), tuple(b if b is bar else b[0] for b in bars)))


def in_jax(jax):
    jnp = jax.numpy

    def cooled(u0, r, target, steps):
        step = lambda u, _: (u.at[1:-1, 1:-1].add(r * flow(u)), None)
        u, _ = jax.lax.scan(step, u0, None, length=steps)
        return 0.5 * jnp.sum((u - target) ** 2)

    return cooled


def in_torch(torch):
    pad = torch.nn.functional.pad

    def cooled(u0, r, target, steps):
        u = u0
        for _ in range(steps):
            u = u + pad(r * flow(u), (1, 1, 1, 1))
        return 0.5 * torch.sum((u - target) ** 2)

    return cooled


def work(state_only: bool, args: Args) -> Work:
    plane, steps = args[0].size, args[3]
    primal = Cost(16 * plane * steps, 7 * plane * steps)
    if state_only:
        return Work(primal, Cost(32 * plane * steps, 14 * plane * steps), 2 * 8 * plane)
    # Forward, again between snapshots, and backward, where the state is read as well.
    return Work(primal, Cost((16 + 16 + 24) * plane * steps, (7 + 7 + 15) * plane * steps), 8 * 8 * plane)


def problem(name: str, title: str, state_only: bool, most: float) -> Problem:
    argnums = (0,) if state_only else (0, 1)
    in_c = {"C": partial(by_c, "gradient_state" if state_only else "gradient")}
    if not state_only:
        in_c["C, tangent"] = partial(by_c, "gradient_tangent")
    return Problem(
        name,
        title,
        cooled,
        argnums,
        data,
        {"n": 512, "m": 512, "steps": 200},
        {"n": 13, "m": 19, "steps": 7},
        partial(work, state_only),
        {
            "NumPy": partial(by_numpy, state_only),
            "Numba": partial(by_numba, state_only),
            **in_c,
            "JAX": partial(peers.by_jax, in_jax, argnums),
            "PyTorch": partial(peers.by_torch, in_torch, argnums),
        },
        most=most,
        scaling=tuple({"n": n, "m": n, "steps": 50} for n in (64, 128, 256, 512, 1024)),
    )


PROBLEMS = (
    problem("heat2d", "heat 2-D 512² x 200, by state", True, 2.2),
    problem("heat2d-coefficient", "heat 2-D 512² x 200, by state and coefficient", False, 6.0),
)
