"""Runge-Kutta on y'[0] = x[0], y'[i] = x[i] y[i - 1], from 0 to 2; the gradient of the last component with respect to
x."""

from __future__ import annotations

from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program


def slope(x, y, z):
    z[0] = x[0]
    for i in range(1, len(x)):
        z[i] = x[i] * y[i - 1]


def primal(x, s):
    n = len(x)
    h = 2.0 / s
    y, at = np.zeros(n), np.empty(n)
    k1, k2, k3, k4 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(s):
        slope(x, y, k1)
        for i in range(n):
            at[i] = y[i] + h * k1[i] / 2.0
        slope(x, at, k2)
        for i in range(n):
            at[i] = y[i] + h * k2[i] / 2.0
        slope(x, at, k3)
        for i in range(n):
            at[i] = y[i] + h * k3[i]
        slope(x, at, k4)
        for i in range(n):
            y[i] += h * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]) / 6.0
    return y


def last(x, s):
    return primal(x, s)[-1]


solution = adc.jit_grad(threads=1)(primal)
compiled = adc.jit_grad(threads=1)(last)


def given(rng: np.random.Generator, n: int, s: int) -> Input:
    return {"x": 0.5 + rng.random(n), "s": s}


def by_adc(given: Input) -> dict[str, Call]:
    x, s = np.asarray(given["x"], float), int(given["s"])
    return {"primal": lambda: solution(x, s), "gradient": lambda: compiled.grad(x, s)}


def by_c(given: Input) -> dict[str, Call]:
    x, s = np.asarray(given["x"], float), int(given["s"])
    n = len(x)
    y, bar, tape, work = np.empty(n), np.empty(n), np.empty(4 * n * s), np.empty(8 * n)
    value = native.bound("ode", "value", x, y, work, n, s)
    gradient = native.bound("ode", "gradient", x, bar, tape, work, n, s)
    return {"primal": lambda: (value(), y)[1], "gradient": lambda: (gradient(), bar)[1]}


def by_jax(jax: Any, given: Input) -> dict[str, Call]:
    jnp, s = jax.numpy, int(given["s"])
    h = 2.0 / s

    def last(x):
        def slope(y):
            return x * jnp.concatenate([jnp.ones(1), y[:-1]])

        def step(y, _):
            k1 = slope(y)
            k2 = slope(y + h * k1 / 2)
            k3 = slope(y + h * k2 / 2)
            k4 = slope(y + h * k3)
            return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6, None

        return jax.lax.scan(step, jnp.zeros_like(x), None, length=s)[0][-1]

    gradient, x = jax.jit(jax.grad(last)), jnp.asarray(given["x"], float)
    return {"gradient": lambda: jax.block_until_ready(gradient(x))}


PROGRAM = Program(
    "ode", "gradient", "primal", given, {"n": 1000, "s": 100}, {"n": 4, "s": 6}, by_adc, by_c, by_jax,
    "C: every stage on a tape; GradBench's own is the closed form",
)  # fmt: skip
