"""Lorenz' equations by the Runge-Kutta method, with respect to initial state and parameters: one long chain of
operations."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def rates(x, y, z, sigma, rho, beta):
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def lorenz(x, y, z, sigma, rho, beta, dt, steps):
    for _ in range(steps):
        ax, ay, az = rates(x, y, z, sigma, rho, beta)
        bx, by, bz = rates(x + 0.5 * dt * ax, y + 0.5 * dt * ay, z + 0.5 * dt * az, sigma, rho, beta)
        cx, cy, cz = rates(x + 0.5 * dt * bx, y + 0.5 * dt * by, z + 0.5 * dt * bz, sigma, rho, beta)
        dx, dy, dz = rates(x + dt * cx, y + dt * cy, z + dt * cz, sigma, rho, beta)
        x += dt / 6.0 * (ax + 2.0 * bx + 2.0 * cx + dx)
        y += dt / 6.0 * (ay + 2.0 * by + 2.0 * cy + dy)
        z += dt / 6.0 * (az + 2.0 * bz + 2.0 * cz + dz)
    return x * y + z


def data(rng: np.random.Generator, steps: int) -> Args:
    # Four units of time: chaos has not yet amplified rounding errors too much in the gradient.
    return 1.0, 1.5, 20.0, 10.0, 28.0, 8.0 / 3.0, 4.0 / steps, steps


def by_numba(args: Args, threads: int) -> Runner:
    from numba import njit

    f = njit(fastmath=True)(rates)

    @njit(fastmath=True)
    def primal(x, y, z, sigma, rho, beta, dt, steps):
        for _ in range(steps):
            ax, ay, az = f(x, y, z, sigma, rho, beta)
            bx, by, bz = f(x + 0.5 * dt * ax, y + 0.5 * dt * ay, z + 0.5 * dt * az, sigma, rho, beta)
            cx, cy, cz = f(x + 0.5 * dt * bx, y + 0.5 * dt * by, z + 0.5 * dt * bz, sigma, rho, beta)
            dx, dy, dz = f(x + dt * cx, y + dt * cy, z + dt * cz, sigma, rho, beta)
            x += dt / 6.0 * (ax + 2.0 * bx + 2.0 * cx + dx)
            y += dt / 6.0 * (ay + 2.0 * by + 2.0 * cy + dy)
            z += dt / 6.0 * (az + 2.0 * bz + 2.0 * cz + dz)
        return x * y + z

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bars = np.empty(6)
    gradient = native.bound("lorenz", "gradient", threads, *args, bars)
    return Runner(native.bound("lorenz", "primal", threads, *args), lambda: (gradient(), tuple(bars)))


def by_recurrence(args: Args, threads: int) -> Runner:
    """NumPy on vectors of three: the tangents of all six inputs are carried with the state, as an independent
    reference."""
    x, y, z, sigma, rho, beta, dt, steps = args

    def f(s: Any, t: Any) -> tuple[Any, Any]:
        jacobian = np.array([[-sigma, sigma, 0.0], [rho - s[2], -1.0, -s[0]], [s[1], s[0], -beta]])
        tangent = jacobian @ t
        tangent[0, 3] += s[1] - s[0]
        tangent[1, 4] += s[0]
        tangent[2, 5] -= s[2]
        return np.array(rates(s[0], s[1], s[2], sigma, rho, beta)), tangent

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        s, t = np.array([x, y, z]), np.eye(3, 6)
        for _ in range(steps):
            a, at = f(s, t)
            b, bt = f(s + 0.5 * dt * a, t + 0.5 * dt * at)
            c, ct = f(s + 0.5 * dt * b, t + 0.5 * dt * bt)
            d, dt_ = f(s + dt * c, t + dt * ct)
            s, t = s + dt / 6.0 * (a + 2.0 * b + 2.0 * c + d), t + dt / 6.0 * (at + 2.0 * bt + 2.0 * ct + dt_)
        return s[0] * s[1] + s[2], tuple(s[1] * t[0] + s[0] * t[1] + t[2])

    return Runner(None, gradient)


def in_jax(jax):
    def lorenz(x, y, z, sigma, rho, beta, dt, steps):
        def step(state, _):
            def f(s):
                return jax.numpy.stack(rates(s[0], s[1], s[2], sigma, rho, beta))

            a = f(state)
            b = f(state + 0.5 * dt * a)
            c = f(state + 0.5 * dt * b)
            d = f(state + dt * c)
            return state + dt / 6.0 * (a + 2.0 * b + 2.0 * c + d), None

        s, _ = jax.lax.scan(step, jax.numpy.stack([x, y, z]), None, length=steps)
        return s[0] * s[1] + s[2]

    return lorenz


def work(args: Args) -> Work:
    steps = args[7]
    # The longest chain in a step: four stages of a subtraction, two multiply-adds and one to the next; the sum.
    return Work(
        Cost(flops=68.0 * steps, chain=18.0 * steps),
        Cost(48.0 * steps, 68.0 * steps * 3, chain=(18.0 + 16.0) * steps),
        24.0 * steps,
    )


PROBLEMS = (
    Problem(
        "lorenz",
        "Lorenz, Runge-Kutta, 200,000 steps",
        lorenz,
        (0, 1, 2, 3, 4, 5),
        data,
        {"steps": 200_000},
        {"steps": 300},
        work,
        {
            "NumPy": by_recurrence,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1, 2, 3, 4, 5)),
        },
        most=3.0,
        tolerance=1e-8,
        scales=False,
    ),
)
