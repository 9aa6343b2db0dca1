"""The logarithm of a sum of exponentials, with the largest factored out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program


def primal(x):
    largest = x[0]
    for i in range(1, len(x)):
        largest = max(largest, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - largest)
    return math.log(total) + largest


compiled = adc.jit_grad(threads=1)(primal)


def given(rng: np.random.Generator, n: int) -> Input:
    return {"x": rng.random(n)}


def by_adc(given: Input) -> dict[str, Call]:
    x = np.asarray(given["x"], float)
    return {"primal": lambda: compiled(x), "gradient": lambda: compiled.grad(x)}


def by_c(given: Input) -> dict[str, Call]:
    x = np.asarray(given["x"], float)
    bar = np.empty_like(x)
    gradient = native.bound("lse", "gradient", x, bar, len(x))
    return {"primal": native.bound("lse", "value", x, len(x)), "gradient": lambda: (gradient(), bar)[1]}


def by_jax(jax: Any, given: Input) -> dict[str, Call]:
    jnp = jax.numpy

    def primal(x):
        largest = jnp.max(x)
        return jnp.log(jnp.sum(jnp.exp(x - largest))) + largest

    gradient, x = jax.jit(jax.grad(primal)), jnp.asarray(given["x"], float)
    return {"gradient": lambda: jax.block_until_ready(gradient(x))}


PROGRAM = Program("lse", "gradient", "primal", given, {"n": 100_000}, {"n": 7}, by_adc, by_c, by_jax)
