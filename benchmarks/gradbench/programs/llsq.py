"""Least squares: half the sum of squares of the residuals of a polynomial fit to the sign of t, at n points of [-1,
1]."""

from __future__ import annotations

from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program


def sign(t):
    if t > 0.0:
        return 1.0
    if t < 0.0:
        return -1.0
    return 0.0


def primal(x, n):
    total = 0.0
    for i in range(n):
        t = -1.0 + i * 2.0 / (n - 1)
        left = sign(t)
        for j in range(len(x)):
            left -= x[j] * t**j
        total += left * left
    return total / 2.0


compiled = adc.jit_grad(threads=1)(primal)


def given(rng: np.random.Generator, m: int, n: int) -> Input:
    return {"x": rng.random(m), "n": n}


def by_adc(given: Input) -> dict[str, Call]:
    x, n = np.asarray(given["x"], float), int(given["n"])
    return {"primal": lambda: compiled(x, n), "gradient": lambda: compiled.grad(x, n)}


def by_c(given: Input) -> dict[str, Call]:
    x, n = np.asarray(given["x"], float), int(given["n"])
    bar, left = np.empty_like(x), np.empty(n)
    gradient = native.bound("llsq", "gradient", x, bar, left, len(x), n)
    running = native.bound("llsq", "gradient_by_products", x, bar, left, len(x), n)
    return {
        "primal": native.bound("llsq", "value", x, len(x), n),
        "gradient": lambda: (gradient(), bar)[1],
        "gradient, powers by products": lambda: (running(), bar)[1],
    }


def by_jax(jax: Any, given: Input) -> dict[str, Call]:
    jnp, n = jax.numpy, int(given["n"])

    def primal(x):
        t = -1.0 + jnp.arange(n) * 2.0 / (n - 1)
        left = jnp.sign(t) - (x * t[:, None] ** jnp.arange(len(x))).sum(1)
        return (left * left).sum() / 2.0

    gradient, x = jax.jit(jax.grad(primal)), jnp.asarray(given["x"], float)
    return {"gradient": lambda: jax.block_until_ready(gradient(x))}


PROGRAM = Program(
    "llsq", "gradient", "primal", given, {"m": 128, "n": 2048}, {"m": 5, "n": 9}, by_adc, by_c, by_jax,
    "powers by `pow` in both, as in the definition",
)  # fmt: skip
