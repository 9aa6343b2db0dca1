"""Gaussian mixture: the log-likelihood of points under full covariances, with a Wishart prior.

The inverse square root of a covariance is a lower triangular matrix: ``q`` has the logarithms of its diagonal, ``l``
the entries below, packed by columns and read with a running index.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import adc
from benchmarks.gradbench import native
from benchmarks.gradbench.program import Call, Input, Program

ACTIVE = (0, 1, 2, 3)  # alpha, mu, q, l


def log_sum_exp(x):
    largest = x[0]
    for i in range(1, len(x)):
        largest = max(largest, x[i])
    total = 0.0
    for i in range(len(x)):
        total += math.exp(x[i] - largest)
    return math.log(total) + largest


def times_triangle(diagonal, below, x, out):
    d = len(x)
    for i in range(d):
        out[i] = diagonal[i] * x[i]
    at = 0
    for i in range(d):
        for j in range(i + 1, d):
            out[j] += below[at] * x[i]
            at += 1


def square(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return total


def log_prior(diagonals, sums, l, gamma, m):
    k, d = diagonals.shape
    n = d + m + 1
    gammas = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(1, d + 1):
        gammas += math.lgamma(0.5 * n + 0.5 * (1 - j))
    constant = n * d * (math.log(gamma) - 0.5 * math.log(2.0)) - gammas
    out = 0.0
    for c in range(k):
        out += 0.5 * gamma * gamma * (square(diagonals[c]) + square(l[c])) - m * sums[c]
    return k * constant - out


def objective(alpha, mu, q, l, x, gamma, m):
    n, d = x.shape
    k = len(alpha)
    diagonals = np.empty((k, d))
    sums = np.zeros(k)
    for c in range(k):
        for i in range(d):
            diagonals[c, i] = math.exp(q[c, i])
            sums[c] += q[c, i]
    centred = np.empty(d)
    turned = np.empty(d)
    terms = np.empty(k)
    total = 0.0
    for p in range(n):
        for c in range(k):
            for i in range(d):
                centred[i] = x[p, i] - mu[c, i]
            times_triangle(diagonals[c], l[c], centred, turned)
            terms[c] = alpha[c] + sums[c] - 0.5 * square(turned)
        total += log_sum_exp(terms)
    total -= n * log_sum_exp(alpha)
    return total - 0.5 * n * d * math.log(2.0 * math.pi) + log_prior(diagonals, sums, l, gamma, m)


def given(rng: np.random.Generator, d: int, k: int, n: int) -> Input:
    triangle = d * (d - 1) // 2
    return {
        "d": d, "k": k, "n": n, "gamma": 1.0, "m": 0,
        "alpha": rng.standard_normal(k), "mu": rng.random((k, d)), "q": 0.3 * rng.standard_normal((k, d)),
        "l": rng.standard_normal((k, triangle)) / d, "x": rng.standard_normal((n, d)),
    }  # fmt: skip


def arguments(given: Input) -> tuple[Any, ...]:
    k, triangle = given["k"], given["d"] * (given["d"] - 1) // 2
    arrays = [np.asarray(given[name], float) for name in ("alpha", "mu", "q", "l", "x")]
    arrays[3] = arrays[3].reshape(k, triangle)
    return *arrays, float(given["gamma"]), int(given["m"])


compiled = adc.jit_grad(argnums=ACTIVE, threads=1)(objective)


def by_adc(given: Input) -> dict[str, Call]:
    args = arguments(given)
    return {"objective": lambda: compiled(*args), "jacobian": lambda: compiled.grad(*args)}


def by_c(given: Input) -> dict[str, Call]:
    args = arguments(given)
    sizes = given["d"], given["k"], given["n"]
    constant = log_prior(np.zeros((sizes[1], sizes[0])), np.zeros(sizes[1]), np.zeros((sizes[1], 0)), *args[5:])
    bars = tuple(np.empty_like(args[i]) for i in ACTIVE)
    value = native.bound("gmm", "value", *args, constant, *sizes)
    gradient = native.bound("gmm", "gradient", *args, constant, *bars, *sizes)
    return {"objective": value, "jacobian": lambda: (gradient(), bars)[1]}


def in_jax(jax):
    jnp = jax.numpy
    lse = jax.scipy.special.logsumexp

    def objective(alpha, mu, q, l, x, gamma, m):
        (n, d), k = x.shape, len(alpha)
        columns, rows = np.triu_indices(d, 1)
        lower = jnp.zeros((k, d, d)).at[:, rows, columns].set(l)
        factors = lower + jnp.exp(q)[:, :, None] * jnp.eye(d)
        sums = q.sum(1)
        turned = jnp.einsum("kij,nkj->nki", factors, x[:, None] - mu[None])
        likelihood = lse(alpha + sums - 0.5 * (turned**2).sum(2), axis=1).sum() - n * lse(alpha)
        prior = 0.5 * gamma * gamma * ((jnp.exp(q) ** 2).sum() + (l * l).sum()) - m * sums.sum()
        constant = log_prior(np.zeros((k, d)), np.zeros(k), np.zeros((k, 0)), gamma, m)
        return likelihood - 0.5 * n * d * math.log(2 * math.pi) + constant - prior

    return objective


def by_jax(jax: Any, given: Input) -> dict[str, Call]:
    args = arguments(given)
    arrays = tuple(jax.numpy.asarray(a) for a in args[:5])
    function = in_jax(jax)
    gradient = jax.jit(jax.grad(lambda *a: function(*a, *args[5:]), ACTIVE))
    return {"jacobian": lambda: jax.block_until_ready(gradient(*arrays))}


def answer(given: Input, function: str, result: Any) -> Any:
    return result if function == "objective" else dict(zip(("alpha", "mu", "q", "l"), result, strict=True))


PROGRAM = Program(
    "gmm", "jacobian", "objective", given, {"d": 20, "k": 25, "n": 1000}, {"d": 3, "k": 2, "n": 5}, by_adc, by_c,
    by_jax, answer=answer,
)  # fmt: skip
