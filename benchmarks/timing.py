"""Timing for the benchmarks: the minimum of several repeats of alternating candidates."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


def least(
    candidates: Mapping[str, Callable[[], Any]],
    repeats: int = 15,
    warm: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The minimum seconds of each candidate. They alternate, ``repeats`` times, so that a busy moment affects all.
    Single-threaded candidates may be timed by ``time.process_time``, which is independent of other work on the
    machine."""
    for run in candidates.values():
        for _ in range(warm):
            run()
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(repeats):
        for name, run in candidates.items():
            start = clock()
            run()
            best[name] = min(best[name], clock() - start)
    return best


def ratio(text: str, value: float, bound: float, *, at_least: bool = False) -> bool:
    """Print a ratio and whether it is within its bound."""
    good = value >= bound if at_least else value <= bound
    limit = f"{'at least' if at_least else 'at most'} {bound:g}"
    print(f"{'ok ' if good else 'BAD'} {value:8.2f}  {text} (wanted: {limit})")
    return good


def times(seconds: Mapping[str, float]) -> None:
    for name, value in seconds.items():
        print(f"    {1e3 * value:10.3f} ms  {name}")
