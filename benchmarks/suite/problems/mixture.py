"""The log-likelihood of a Gaussian mixture with a Wishart prior, as in ADBench, in explicit loops.

The inverse covariance of a component is Q'Q, with Q lower triangular: a row of ``icf`` has the logarithms of Q's
diagonal, then the entries below it, by columns.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from adc import prange
from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work


def log_likelihood(alphas, means, icf, x, gamma, m, constant):
    n, d = x.shape
    k = len(alphas)
    diagonal = np.empty((k, d))
    sums = np.empty(k)
    for c in range(k):
        total = 0.0
        for i in range(d):
            diagonal[c, i] = math.exp(icf[c, i])
            total += icf[c, i]
        sums[c] = total
    terms = np.empty((n, k))
    likelihood = 0.0
    for p in prange(n):
        for c in range(k):
            square = 0.0
            for i in range(d):
                q = diagonal[c, i] * (x[p, i] - means[c, i])
                for j in range(i):
                    q += icf[c, d + j * (2 * d - j - 1) // 2 + i - j - 1] * (x[p, j] - means[c, j])
                square += q * q
            terms[p, c] = alphas[c] + sums[c] - 0.5 * square
        largest = terms[p, 0]
        for c in range(1, k):
            largest = max(largest, terms[p, c])
        total = 0.0
        for c in range(k):
            total += math.exp(terms[p, c] - largest)
        likelihood += largest + math.log(total)
    prior = 0.0
    for c in range(k):
        square = 0.0
        for i in range(d):
            square += diagonal[c, i] * diagonal[c, i]
        for i in range(d, icf.shape[1]):
            square += icf[c, i] * icf[c, i]
        prior += 0.5 * gamma * gamma * square - m * sums[c]
    largest = np.max(alphas)
    return constant + likelihood + prior - n * (largest + math.log(np.sum(np.exp(alphas - largest))))


def constant(n: int, d: int, k: int, gamma: float, m: int) -> float:
    """The terms of the normal density and of the prior that do not depend on the parameters."""
    degrees = d + m + 1
    gammas = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma(0.5 * (degrees - i)) for i in range(d))
    return -n * d * 0.5 * math.log(2 * math.pi) - k * (degrees * d * (math.log(gamma) - 0.5 * math.log(2)) - gammas)


def data(rng: np.random.Generator, n: int, k: int, d: int) -> Args:
    gamma, m = 1.2, 2
    alphas, means, x = rng.standard_normal(k), rng.random((k, d)), rng.random((n, d))
    return alphas, means, 0.5 * rng.standard_normal((k, d * (d + 1) // 2)), x, gamma, m, constant(n, d, k, gamma, m)


def factors(icf: Any, d: int) -> Any:
    """The matrices Q, (k, d, d)."""
    q = np.zeros((len(icf), d, d))
    columns, rows = np.triu_indices(d, 1)
    q[:, rows, columns] = icf[:, d:]
    q[:, np.arange(d), np.arange(d)] = np.exp(icf[:, :d])
    return q


def by_numpy(args: Args, threads: int) -> Runner:
    alphas, means, icf, x, gamma, m, fixed = args
    n, d = x.shape

    def parts() -> tuple[Any, ...]:
        q = factors(icf, d)
        centred = x[:, None, :] - means
        product = np.einsum("kij,nkj->nki", q, centred)
        terms = alphas + icf[:, :d].sum(1) - 0.5 * np.sum(product**2, 2)
        largest = terms.max(1)
        shares = np.exp(terms - largest[:, None])
        total = shares.sum(1)
        top = alphas.max()
        weights = np.exp(alphas - top)
        prior = 0.5 * gamma**2 * (np.sum(np.exp(2 * icf[:, :d])) + np.sum(icf[:, d:] ** 2)) - m * icf[:, :d].sum()
        value = fixed + np.sum(largest + np.log(total)) + prior - n * (top + np.log(weights.sum()))
        return value, q, centred, product, shares / total[:, None], weights / weights.sum()

    def gradient() -> tuple[Any, tuple[Any, ...]]:
        value, q, centred, product, shares, weights = parts()
        bar = -shares[:, :, None] * product
        outer = np.einsum("nki,nkj->kij", bar, centred)
        columns, rows = np.triu_indices(d, 1)
        exponentials = np.exp(icf[:, :d])
        by_diagonal = np.einsum("kii->ki", outer) * exponentials + (gamma * exponentials) ** 2 - m
        by_diagonal += shares.sum(0)[:, None]
        by_triangle = outer[:, rows, columns] + gamma**2 * icf[:, d:]
        by_means = -np.einsum("kij,nki->kj", q, bar)
        return value, (shares.sum(0) - n * weights, by_means, np.hstack([by_diagonal, by_triangle]))

    return Runner(lambda: parts()[0], gradient)


def by_numba(args: Args, threads: int) -> Runner:
    import numba
    from numba import njit

    @njit(parallel=True, fastmath=True)
    def primal(alphas, means, icf, x, gamma, m, constant):
        n, d = x.shape
        k = len(alphas)
        likelihood = 0.0
        q = np.zeros((k, d, d))
        prior, sums = 0.0, np.zeros(k)
        for c in range(k):
            at = d
            for j in range(d):
                q[c, j, j] = math.exp(icf[c, j])
                sums[c] += icf[c, j]
                prior += 0.5 * gamma * gamma * q[c, j, j] ** 2 - m * icf[c, j]
                for i in range(j + 1, d):
                    q[c, i, j] = icf[c, at]
                    prior += 0.5 * gamma * gamma * icf[c, at] ** 2
                    at += 1
        for p in numba.prange(n):
            terms, v = np.empty(k), np.empty(d)
            for c in range(k):
                for i in range(d):
                    v[i] = x[p, i] - means[c, i]
                square = 0.0
                for i in range(d):
                    s = 0.0
                    for j in range(i + 1):
                        s += q[c, i, j] * v[j]
                    square += s * s
                terms[c] = alphas[c] + sums[c] - 0.5 * square
            largest = terms.max()
            likelihood += largest + math.log(np.sum(np.exp(terms - largest)))
        largest = alphas.max()
        return constant + likelihood + prior - n * (largest + math.log(np.sum(np.exp(alphas - largest))))

    return peers.numba_runner(primal, None, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    bars = tuple(np.empty_like(a) for a in args[:3])
    sizes = (len(args[3]), *args[1].shape)
    primal = native.bound("mixture", "primal", threads, *args, *sizes)
    gradient = native.bound("mixture", "gradient", threads, *args, *bars, *sizes)
    return Runner(primal, lambda: (gradient(), bars))


def in_jax(jax):
    jnp = jax.numpy
    logsumexp = jax.scipy.special.logsumexp

    def log_likelihood(alphas, means, icf, x, gamma, m, constant):
        n, d = x.shape
        columns, rows = np.triu_indices(d, 1)
        logs, below = icf[:, :d], icf[:, d:]
        q = jnp.zeros((len(icf), d, d)).at[:, rows, columns].set(below)
        q = q.at[:, np.arange(d), np.arange(d)].set(jnp.exp(logs))
        product = jnp.einsum("kij,nkj->nki", q, x[:, None, :] - means)
        terms = alphas + logs.sum(1) - 0.5 * jnp.sum(product**2, 2)
        prior = 0.5 * gamma**2 * jnp.sum(q**2) - m * logs.sum()
        return constant + jnp.sum(logsumexp(terms, axis=1)) + prior - n * logsumexp(alphas)

    return log_likelihood


def in_torch(torch):
    def log_likelihood(alphas, means, icf, x, gamma, m, constant):
        n, d = x.shape
        columns, rows = np.triu_indices(d, 1)
        logs, below = icf[:, :d], icf[:, d:]
        triangle = torch.zeros((len(icf), d, d), dtype=icf.dtype)
        triangle[:, torch.from_numpy(rows), torch.from_numpy(columns)] = below
        q = triangle + torch.diag_embed(torch.exp(logs))
        product = torch.einsum("kij,nkj->nki", q, x[:, None, :] - means)
        terms = alphas + logs.sum(1) - 0.5 * torch.sum(product**2, 2)
        prior = 0.5 * gamma**2 * torch.sum(q**2) - m * logs.sum()
        return constant + torch.logsumexp(terms, 1).sum() + prior - n * torch.logsumexp(alphas, 0)

    return log_likelihood


def work(args: Args) -> Work:
    n, (k, d) = len(args[3]), args[1].shape
    pairs, entries = n * k, d * (d + 1) // 2
    # The reverse sweep computes the products again and adds an outer product.
    primal = Cost(8 * n * d, pairs * (2 * entries + 3 * d), pairs)
    return Work(primal, Cost(16 * n * d, pairs * (6 * entries + 8 * d), pairs), 8 * (n * d + 3 * k * entries))


PROBLEMS = (
    Problem(
        "mixture",
        "Gaussian mixture, d 10, k 25, n 1000",
        log_likelihood,
        (0, 1, 2),
        data,
        {"n": 1000, "k": 25, "d": 10},
        {"n": 71, "k": 4, "d": 3},
        work,
        {
            "NumPy": by_numpy,
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, (0, 1, 2)),
            "PyTorch": partial(peers.by_torch, in_torch, (0, 1, 2)),
        },
        most=2.5,
    ),
)
