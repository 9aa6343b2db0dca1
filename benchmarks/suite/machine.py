"""The limits of this machine, measured during the run, and which of them bounds a problem."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass

from benchmarks.suite import native
from benchmarks.suite.problem import Cost

_REPEATS = 7


def _rate(name: str, threads: int, amount: float, *args: int) -> float:
    """The highest rate, ``amount`` per second, of several repeats."""
    run = native.bound("machine", name, threads, *args)
    run()
    best = math.inf
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return amount / best


@functools.cache
def bandwidth(working_set: int, threads: int) -> float:
    """Bytes per second of STREAM's triad with a working set of this size, which may fit into a cache."""
    n = max(working_set // 24, 512)
    repeats = max(1, 20_000_000 // n)
    return _rate("triad", threads, 24.0 * n * repeats, n, repeats)


@functools.cache
def sines(threads: int) -> float:
    """Vector sines per second."""
    n = 4_000_000
    return _rate("sines", threads, float(n) * threads, n)


@functools.cache
def flops(threads: int) -> float:
    """Additions and multiplications per second, as fused multiply-adds."""
    n = 80 * 1_200_000  # a multiple of the chains, for all widths
    return _rate("multiply_adds", threads, 2.0 * n * threads, n)


@functools.cache
def links() -> float:
    """Dependent multiply-adds per second."""
    n = 5_000_000
    return _rate("chain", 1, float(n), n)


@dataclass(frozen=True)
class Limit:
    """A lower bound of the time of a call: its cause, and its seconds."""

    name: str
    seconds: float


def rounded(working_set: float) -> int:
    """Bytes, rounded to a power of two: working sets of similar size share a measurement."""
    return 1 << max(14, round(math.log2(max(working_set, 1.0))))


def limit(cost: Cost, working_set: int, threads: int) -> Limit:
    """The limit that applies: memory, vector mathematics, arithmetic or latency, whichever takes longest."""
    candidates = [
        Limit("memory", cost.bytes / bandwidth(working_set, threads)),
        Limit("vector math", cost.special / sines(threads)),
        Limit("arithmetic", cost.flops / flops(threads)),
        Limit("latency", cost.chain / links() if cost.chain else 0.0),
    ]
    return max(candidates, key=lambda known: known.seconds)


def summary(threads: int, *, quick: bool = False) -> dict[str, float]:
    """The rates that the report shows, on one thread and on ``threads``. Unless ``quick``, STREAM is measured in main
    memory."""
    rates = {}
    large = 1 << (20 if quick else 29)
    for n in dict.fromkeys((1, threads)):
        rates[f"STREAM triad, {n} threads, GB/s"] = bandwidth(large, n) / 1e9
        rates[f"vector sine, {n} threads, 1e9/s"] = sines(n) / 1e9
        rates[f"multiply-add, {n} threads, GFlop/s"] = flops(n) / 1e9
    rates["dependent multiply-adds, 1e9/s"] = links() / 1e9
    return rates
