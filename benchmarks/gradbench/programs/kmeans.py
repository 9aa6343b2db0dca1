"""k-means: Newton's direction, which is the gradient divided by the diagonal of the (diagonal) Hessian."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program


def distance(a, b):
    total = 0.0
    for i in range(len(a)):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return total


def cost(points, centroids):
    total = 0.0
    for i in range(len(points)):
        closest = math.inf
        for j in range(len(centroids)):
            closest = min(closest, distance(points[i], centroids[j]))
        total += closest
    return total


compiled = adc.jit_grad(argnums=1, threads=1)(cost)


def given(rng: np.random.Generator, n: int, k: int, d: int) -> Input:
    points = rng.random((n, d))
    return {"points": points, "centroids": points[-k:].copy()}


def by_adc(given: Input) -> dict[str, Call]:
    points, centroids = (np.asarray(given[name], float) for name in ("points", "centroids"))
    ones = np.ones_like(centroids)

    def direction():
        gradient, curvature = compiled.grad.jvp((points, centroids), (None, ones))
        return gradient / curvature

    return {"cost": lambda: compiled(points, centroids), "dir": direction}


def by_c(given: Input) -> dict[str, Call]:
    points, centroids = (np.asarray(given[name], float) for name in ("points", "centroids"))
    (n, d), k = points.shape, len(centroids)
    out, work = np.empty_like(centroids), np.empty(k * (d + 1))
    direction = native.bound("kmeans", "direction", points, centroids, out, work, n, k, d)
    return {"cost": native.bound("kmeans", "value", points, centroids, n, k, d), "dir": lambda: (direction(), out)[1]}


def by_jax(jax: Any, given: Input) -> dict[str, Call]:
    jnp = jax.numpy
    points, centroids = (jnp.asarray(given[name], float) for name in ("points", "centroids"))

    def cost(centroids):
        return ((points[:, None] - centroids) ** 2).sum(2).min(1).sum()

    @jax.jit
    def direction(centroids):
        gradient, curvature = jax.jvp(jax.grad(cost), (centroids,), (jnp.ones_like(centroids),))
        return gradient / curvature

    return {"dir": lambda: jax.block_until_ready(direction(centroids))}


PROGRAM = Program(
    "kmeans", "dir", "cost", given, {"n": 10_000, "k": 100, "d": 8}, {"n": 12, "k": 3, "d": 2}, by_adc, by_c, by_jax,
    "C: the Hessian in closed form, from the sizes of clusters",
)  # fmt: skip
