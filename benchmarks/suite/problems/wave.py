"""Acoustic waves from a source to receivers: the gradient of the misfit with respect to the medium and the source."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def misfit(speed, source, at, data):
    """``speed``: squared Courant numbers; ``at``: columns of the receivers, in row 3; the source is in the middle."""
    n, m = speed.shape
    steps, count = data.shape
    p = np.zeros((n, m))
    u = np.zeros((n, m))
    loss = 0.0
    for t in range(steps):
        for i in range(2, n - 2):
            for j in range(2, m - 2):
                laplacian = (
                    -5.0 * u[i, j]
                    + (4.0 / 3.0) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                    - (1.0 / 12.0) * (u[i - 2, j] + u[i + 2, j] + u[i, j - 2] + u[i, j + 2])
                )
                p[i, j] = 2.0 * u[i, j] - p[i, j] + speed[i, j] * laplacian
        p[n // 2, m // 2] += source[t]
        p, u = u, p
        for k in range(count):
            d = u[3, at[k]] - data[t, k]
            loss += 0.5 * d * d
    return loss


def data(rng: np.random.Generator, n: int, m: int, steps: int, receivers: int) -> Args:
    speed = 0.15 + 0.05 * rng.random((n, m))
    time = (np.arange(steps) - 40.0) / 12.0
    source = (1.0 - 2.0 * time**2) * np.exp(-(time**2))
    at = np.linspace(3, m - 4, receivers).astype(np.int64)
    return speed, source, at, 0.1 * rng.standard_normal((steps, receivers))


INNER = (slice(2, -2), slice(2, -2))


def laplacian(u: Any) -> Any:
    middle = slice(2, -2)
    near = u[1:-3, middle] + u[3:-1, middle] + u[middle, 1:-3] + u[middle, 3:-1]
    far = u[:-4, middle] + u[4:, middle] + u[middle, :-4] + u[middle, 4:]
    return -5.0 * u[INNER] + (4.0 / 3.0) * near - (1.0 / 12.0) * far


def by_numpy(args: Args, threads: int) -> Runner:
    speed, source, at, recorded = args
    n, m = speed.shape
    steps = len(recorded)

    def run(states: list[Any] | None) -> tuple[float, Any]:
        p, u = np.zeros((n, m)), np.zeros((n, m))
        residual = np.empty_like(recorded)
        for t in range(steps):
            if states is not None:
                states.append(u.copy())
            p[INNER] = 2.0 * u[INNER] - p[INNER] + speed[INNER] * laplacian(u)
            p[n // 2, m // 2] += source[t]
            p, u = u, p
            residual[t] = u[3, at] - recorded[t]
        return 0.5 * float(np.sum(residual * residual)), residual

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        states: list[Any] = []
        loss, residual = run(states)
        a, b = np.zeros((n, m)), np.zeros((n, m))
        bar, source_bar = np.zeros((n, m)), np.zeros(steps)
        for t in range(steps - 1, -1, -1):
            np.add.at(a, (3, at), residual[t])
            source_bar[t] = a[n // 2, m // 2]
            bar[INNER] += a[INNER] * laplacian(states[t])
            scaled = np.zeros((n, m))
            scaled[INNER] = speed[INNER] * a[INNER]
            b[INNER] = 2.0 * a[INNER] - b[INNER] + laplacian(scaled)
            a, b = b, a
        return loss, (bar, source_bar)

    return Runner(lambda: run(None)[0], gradient)


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def primal(speed, source, at, data):
        n, m = speed.shape
        steps, count = data.shape
        p, u = np.zeros((n, m)), np.zeros((n, m))
        loss = 0.0
        for t in range(steps):
            for i in prange(2, n - 2):
                for j in range(2, m - 2):
                    near = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    far = u[i - 2, j] + u[i + 2, j] + u[i, j - 2] + u[i, j + 2]
                    change = -5.0 * u[i, j] + (4.0 / 3.0) * near - (1.0 / 12.0) * far
                    p[i, j] = 2.0 * u[i, j] - p[i, j] + speed[i, j] * change
            p[n // 2, m // 2] += source[t]
            p, u = u, p
            for k in range(count):
                d = u[3, at[k]] - data[t, k]
                loss += 0.5 * d * d
        return loss

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bar, source_bar = np.empty_like(args[0]), np.empty_like(args[1])
    sizes = (*args[3].shape, *bar.shape)
    primal = native.bound("wave", "primal", threads, *args, *sizes)
    gradient = native.bound("wave", "gradient", threads, *args, *sizes[:2], bar, source_bar, *sizes[2:])
    return Runner(primal, lambda: (gradient(), (bar, source_bar)))


def in_jax(jax):
    jnp = jax.numpy

    def misfit(speed, source, at, data):
        n, m = speed.shape

        def step(state, given):
            p, u = state
            pulse, recorded = given
            new = p.at[INNER].set(2.0 * u[INNER] - p[INNER] + speed[INNER] * laplacian(u))
            new = new.at[n // 2, m // 2].add(pulse)
            d = new[3, at] - recorded
            return (u, new), 0.5 * jnp.sum(d * d)

        rest = (jnp.zeros((n, m)), jnp.zeros((n, m)))
        _, losses = jax.lax.scan(step, rest, (source, data))
        return jnp.sum(losses)

    return misfit


def in_torch(torch):
    pad = torch.nn.functional.pad

    def misfit(speed, source, at, data):
        n, m = speed.shape
        p, u = torch.zeros((n, m), dtype=speed.dtype), torch.zeros((n, m), dtype=speed.dtype)
        place = torch.zeros((n, m), dtype=speed.dtype)
        place[n // 2, m // 2] = 1.0
        loss = 0.0
        for t in range(len(data)):
            p, u = u, pad(2.0 * u[INNER] - p[INNER] + speed[INNER] * laplacian(u), (2, 2, 2, 2)) + source[t] * place
            loss = loss + 0.5 * torch.sum((u[3, at] - data[t]) ** 2)
        return loss

    return misfit


def work(args: Args) -> Work:
    points, steps = args[0].size, len(args[1])
    # A step reads the field, the previous field and the medium, and writes one; the reverse step also undoes the step.
    primal = Cost(32 * points * steps, 15 * points * steps)
    return Work(primal, Cost((32 + 96) * points * steps, (15 + 32) * points * steps), 8 * 8 * points)


PROBLEMS = (
    Problem(
        "wave",
        "acoustic wave 2-D 400² x 1000, 4th order, by medium and source",
        misfit,
        (0, 1),
        data,
        {"n": 400, "m": 400, "steps": 1000, "receivers": 100},
        {"n": 12, "m": 15, "steps": 60, "receivers": 5},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1)),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1)),
        },
        most=5.0,
    ),
)
