"""The required ratios, and whether a run meets them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.suite import machine
from benchmarks.suite.measuring import Measured

PEER_SHARE = 0.2  # of JAX's and PyTorch's time, in the geometric mean


@dataclass(frozen=True)
class Bar:
    """A required ratio. ``at_least``: the larger the better. With an infinite ``bound`` the ratio is only shown."""

    text: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def ok(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        limit = f"{'at least' if self.at_least else 'at most'} {self.bound:.3g}"
        limit = limit if math.isfinite(self.bound) else "no bar"
        return f"{'ok  ' if self.ok else 'over'} {self.value:8.2f}  {self.text} ({limit})"


def mean(values: Iterable[float]) -> float:
    """The geometric mean."""
    logarithms = [math.log(v) for v in values]
    return math.exp(sum(logarithms) / len(logarithms))


def bars(results: Sequence[Measured], counts: Sequence[int]) -> Iterator[Bar]:
    """All bars for which there are measurements. ``counts``: the numbers of threads that were run; the first is 1."""
    one, most = counts[0], counts[-1]
    for m in results:
        ratio = m.ratio(("adc", "gradient", one), ("adc", "primal", one))
        if m.problem.most is not None and ratio is not None:
            yield Bar(f"{m.problem.name}: gradient / primal, one thread", ratio, m.problem.most)
    yield from _beside_c(results, counts)
    yield from _beside_frameworks(results, most)
    primal = [r for m in results for n in counts if (r := m.ratio((m.fused, "primal", n), ("Numba", "primal", n)))]
    if primal:
        yield Bar("adc's primal / Numba's, geometric mean", mean(primal), 0.9)
    if most > one:
        yield from _over_threads(results, one, most)
    for m in results:
        for what in ("primal", "gradient"):
            share = m.share(what, most, m.fused)
            if share is not None:
                name = m.limits[what, most].name
                bound = 0.8 if name == "memory" else 0.6
                text = f"{m.problem.name}: {what}, share of the limit ({name}), {most} threads"
                yield Bar(text, share, bound, at_least=True)


def _beside_c(results: Sequence[Measured], counts: Sequence[int]) -> Iterator[Bar]:
    ratios = {}
    for m in results:
        for n in counts:
            if ratio := m.ratio((m.fused, "gradient", n), ("C", "gradient", n)):
                ratios[f"{m.problem.name}, {n} threads"] = ratio
    exact = [r for m in results for n in counts if (r := m.ratio(("adc", "gradient", n), ("C", "gradient", n)))]
    if ratios:
        yield Bar("adc's gradient / hand-written C's, geometric mean", mean(ratios.values()), 1.1)
        yield Bar("the same with each operation rounded, which C's are not", mean(exact), math.inf)
        worst = max(ratios, key=ratios.__getitem__)
        yield Bar(f"adc's gradient / hand-written C's, the worst ({worst})", ratios[worst], 1.4)


def _beside_frameworks(results: Sequence[Measured], threads: int) -> Iterator[Bar]:
    for peer in ("JAX", "PyTorch"):
        ratios = {
            m.problem.name: r
            for m in results
            if (r := m.ratio(("adc", "gradient", threads), (peer, "gradient", threads)))
        }
        if ratios:
            worst = max(ratios, key=ratios.__getitem__)
            yield Bar(f"adc's gradient / {peer}'s, geometric mean", mean(ratios.values()), PEER_SHARE)
            yield Bar(f"adc's gradient / {peer}'s, the worst ({worst})", ratios[worst], 1.0)


def _over_threads(results: Sequence[Measured], one: int, most: int) -> Iterator[Bar]:
    for m in results:
        primal = m.ratio(("adc", "primal", one), ("adc", "primal", most))
        gradient = m.ratio(("adc", "gradient", one), ("adc", "gradient", most))
        if primal is None or gradient is None or not m.problem.scales:
            continue
        for what, speedup in (("primal", primal), ("gradient", gradient)):
            bound, why = wanted_speedup(m, what, one, most)
            yield Bar(f"{m.problem.name}: {what}, {most} threads over one ({why})", speedup, bound, at_least=True)
        text = f"{m.problem.name}: speedup of the gradient / of the primal, {most} threads"
        yield Bar(text, gradient / primal, 0.95, at_least=True)


def wanted_speedup(m: Measured, what: str, one: int, most: int) -> tuple[float, str]:
    """1.85 for each doubling; or STREAM's speedup on the working set, if memory is the limit and it is less."""
    full = 1.85 ** math.log2(most / one)
    known = m.limits.get((what, most))
    if known is None or known.name != "memory":
        return full, "compute-bound or in cache"
    size = m.working_set
    stream = machine.bandwidth(size, most) / machine.bandwidth(size, one)
    return (stream, "as STREAM") if stream < full else (full, "in cache")
