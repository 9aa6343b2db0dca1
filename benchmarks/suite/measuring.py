"""Times of the problems: adc and its peers alternate, and the minimum counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adc.backend import runtime
from benchmarks.suite import machine, peers
from benchmarks.suite.checking import Result, differences
from benchmarks.suite.machine import Limit
from benchmarks.suite.problem import Args, Problem, Runner

THREAD_COUNTS = (1, 2, 3, 4, 8)  # for which adc must give the same bits


@dataclass
class Measured:
    """The measurements of one problem at one size.

    ``seconds`` has keys (peer, "primal" or "gradient", threads). ``wrong`` says which results differ, ``skipped`` why
    peers were not run. ``limits`` has keys ("primal" or "gradient", threads). ``working_set`` is in bytes.
    """

    problem: Problem
    size: Mapping[str, int]
    seconds: dict[tuple[str, str, int], float] = field(default_factory=dict)
    limits: dict[tuple[str, int], Limit] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    working_set: int = 0

    @property
    def fused(self) -> str:
        """The name of the adc variant to compare with peers that fuse products with sums."""
        known = any(peer == peers.CONTRACTED for peer, _, _ in self.seconds)
        return peers.CONTRACTED if known else "adc"

    def cost_of_exactness(self, what: str, threads: int) -> float | None:
        """How much longer adc takes if each operation is rounded than if products may be fused with sums."""
        return self.ratio(("adc", what, threads), (peers.CONTRACTED, what, threads))

    def ratio(self, over: tuple[str, str, int], under: tuple[str, str, int]) -> float | None:
        if over not in self.seconds or under not in self.seconds:
            return None
        return self.seconds[over] / self.seconds[under]

    def share(self, what: str, threads: int, peer: str = "adc") -> float | None:
        """The fraction of the limit that adc, or a peer, reaches."""
        if (what, threads) not in self.limits or (peer, what, threads) not in self.seconds:
            return None
        return self.limits[what, threads].seconds / self.seconds[peer, what, threads]


def measure(
    problem: Problem,
    size: Mapping[str, int],
    counts: tuple[int, ...],
    *,
    budget: float,
    only: tuple[str, ...] = (),
    timed: bool = True,
) -> Measured:
    """Check and then time adc and its peers on each of ``counts`` threads.

    ``budget``: approximate seconds of timing per peer. ``only``: the peers to run; empty means all.
    """
    args = problem.arguments(size)
    work = problem.work(args)
    measured = Measured(problem, size, working_set=machine.rounded(work.working_set))
    ours = _on_any_threads(problem, args, measured.wrong)
    runners: dict[tuple[str, int], Runner] = {}
    if timed:
        for n in counts:
            runners["adc", n] = peers.by_adc(problem, args, n)
            runners[peers.CONTRACTED, n] = peers.by_adc(problem, args, n, contract=True)
            found = list(differences(problem, ours, Result.of(runners[peers.CONTRACTED, n])))
            measured.wrong += [f"{peers.CONTRACTED}, {n} threads: {text}" for text in found]
    for name, make in problem.peers.items():
        if only and name not in only:
            continue
        if not peers.available(name):
            measured.skipped[name] = "not installed"
            continue
        # NumPy always runs on one thread.
        for n in counts if name != "NumPy" else (1,):
            runner = make(args, n)
            found = list(differences(problem, ours, Result.of(runner)))
            measured.wrong += [f"{name}, {n} threads: {text}" for text in found]
            if not found:
                runners[name, n] = runner
    if timed:
        calls: dict[tuple[str, str, int], Callable[[], Any]] = {}
        for (name, n), runner in runners.items():
            if runner.primal is not None:
                calls[name, "primal", n] = runner.primal
            if runner.gradient is not None:
                calls[name, "gradient", n] = runner.gradient
        measured.seconds = least(calls, budget)
        if peers.available("C"):
            for n in counts:
                measured.limits["primal", n] = machine.limit(work.primal, measured.working_set, n)
                measured.limits["gradient", n] = machine.limit(work.gradient, measured.working_set, n)
    return measured


def _on_any_threads(problem: Problem, args: Args, wrong: list[str]) -> Result:
    """adc's result on one thread, after checking that the other ``THREAD_COUNTS`` give the same bits."""
    runner, usual, found = peers.by_adc(problem, args, None), runtime.threads(), []
    try:
        for n in THREAD_COUNTS:
            runtime.set_threads(n)
            found.append(Result.of(runner))
            if found[-1].bits() != found[0].bits():
                wrong.append(f"adc on {n} threads: not the bits of one")
            del found[1:]
    finally:
        runtime.set_threads(usual)
    return found[0]


def least(
    calls: Mapping[tuple[str, str, int], Callable[[], Any]], budget: float, rounds: int = 5
) -> dict[tuple[str, str, int], float]:
    """The minimum seconds of each call.

    The calls alternate, so that a busy moment affects all. A turn is several calls in a row, the first of which finds
    cold caches; short calls have longer turns. After two rounds a call that has used up its budget is skipped.
    """
    best = dict.fromkeys(calls, float("inf"))
    used = dict.fromkeys(calls, 0.0)
    for round_number in range(rounds):
        for key, call in calls.items():
            if round_number >= 2 and used[key] > budget:
                continue
            begin = time.perf_counter()
            for _ in range(1000):
                start = time.perf_counter()
                call()
                end = time.perf_counter()
                best[key] = min(best[key], end - start)
                if end - begin > budget / rounds:
                    break
            used[key] += time.perf_counter() - begin
    return best
