"""A book of European calls: its value, and the derivatives with respect to spots, times, volatilities and the rate."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from adc import prange
from benchmarks.suite import native, peers
from benchmarks.suite.problem import Args, Cost, Problem, Runner, Work

WRT = (0, 2, 3, 4)


def book(s, k, t, vol, rate):
    total = 0.0
    for i in prange(len(s)):
        spread = vol[i] * math.sqrt(t[i])
        d1 = (math.log(s[i] / k[i]) + (rate + 0.5 * vol[i] * vol[i]) * t[i]) / spread
        d2 = d1 - spread
        first = 0.5 * math.erfc(-d1 / math.sqrt(2.0))
        second = 0.5 * math.erfc(-d2 / math.sqrt(2.0))
        total += s[i] * first - k[i] * math.exp(-rate * t[i]) * second
    return total


def data(rng: np.random.Generator, n: int) -> Args:
    s, k = rng.uniform(50.0, 150.0, n), rng.uniform(50.0, 150.0, n)
    return s, k, rng.uniform(0.2, 2.0, n), rng.uniform(0.1, 0.5, n), 0.03


def by_numba(args: Args, threads: int) -> Runner:
    import numba
    from numba import njit

    half, density = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)

    @njit(parallel=True, fastmath=True)
    def primal(s, k, t, vol, rate):
        total = 0.0
        for i in numba.prange(len(s)):
            spread = vol[i] * math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + (rate + 0.5 * vol[i] * vol[i]) * t[i]) / spread
            d2 = d1 - spread
            second = 0.5 * math.erfc(-d2 * half)
            total += s[i] * 0.5 * math.erfc(-d1 * half) - k[i] * math.exp(-rate * t[i]) * second
        return total

    @njit(parallel=True, fastmath=True)
    def gradient(s, k, t, vol, rate):
        total, rho = 0.0, 0.0
        by_s, by_t, by_vol = np.empty_like(s), np.empty_like(s), np.empty_like(s)
        for i in numba.prange(len(s)):
            root = math.sqrt(t[i])
            spread = vol[i] * root
            d1 = (math.log(s[i] / k[i]) + (rate + 0.5 * vol[i] * vol[i]) * t[i]) / spread
            first = 0.5 * math.erfc(-d1 * half)
            second = k[i] * math.exp(-rate * t[i]) * 0.5 * math.erfc((spread - d1) * half)
            bell = s[i] * density * math.exp(-0.5 * d1 * d1)
            total += s[i] * first - second
            by_s[i] = first
            by_t[i] = 0.5 * bell * vol[i] / root + rate * second
            by_vol[i] = bell * root
            rho += t[i] * second
        return total, (by_s, by_t, by_vol, rho)

    return peers.numba_runner(primal, gradient, args, threads)


def by_c(args: Args, threads: int) -> Runner:
    n = len(args[0])
    bars, rho = tuple(np.empty(n) for _ in range(3)), np.empty(1)
    primal = native.bound("black_scholes", "primal", threads, *args, n)
    gradient = native.bound("black_scholes", "gradient", threads, *args, *bars, rho, n)
    return Runner(primal, lambda: (gradient(), (*bars, rho[0])))


def in_arrays(xp: Any, erfc: Any) -> Any:
    def book(s, k, t, vol, rate):
        spread = vol * xp.sqrt(t)
        d1 = (xp.log(s / k) + (rate + 0.5 * vol * vol) * t) / spread
        first, second = 0.5 * erfc(-d1 / math.sqrt(2.0)), 0.5 * erfc((spread - d1) / math.sqrt(2.0))
        return xp.sum(s * first - k * xp.exp(-rate * t) * second)

    return book


def in_jax(jax):
    return in_arrays(jax.numpy, jax.scipy.special.erfc)


def in_torch(torch):
    return in_arrays(torch, torch.erfc)


def work(args: Args) -> Work:
    n = len(args[0])
    # A complementary error function costs about two sines; square roots and divisions are counted as a tenth.
    return Work(Cost(8 * 4 * n, 20 * n, 6.3 * n), Cost(8 * 7 * n, 35 * n, 7.4 * n), 8 * 7 * n)


PROBLEMS = (
    Problem(
        "black-scholes",
        "Black-Scholes, 1e6 calls",
        book,
        WRT,
        data,
        {"n": 1_000_000},
        {"n": 1003},
        work,
        {
            "Numba": by_numba,
            "C": by_c,
            "JAX": partial(peers.by_jax, in_jax, WRT),
            "PyTorch": partial(peers.by_torch, in_torch, WRT),
        },
        most=2.0,
        scaling=({"n": 10_000}, {"n": 100_000}, {"n": 1_000_000}),
    ),
)
