"""Runs many random programs, by their seeds, on all processors."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Protocol


class Verdict(Protocol):
    """What became of a program: how many derivatives were checked, or why none was."""

    @property
    def checked(self) -> int: ...

    @property
    def skipped(self) -> str: ...


Check = Callable[[int], Verdict]
_CHUNK = 5
_PER_WORKER = 200  # a worker is replaced now and then: what it compiled is not unloaded while its functions live


def parser(description: str | None, programs: int) -> argparse.ArgumentParser:
    """The options that ``run`` takes."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--programs", type=int, default=programs)
    made.add_argument("--first", type=int, default=0)
    made.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return made


def run(check: Check, options: argparse.Namespace, *, report: int) -> int:
    """Check the programs of the seeds that ``options`` ask for; a line after every ``report`` of them.

    Prints what was wrong with its seed. The result is an exit code: 1 if anything was.
    """
    last = options.first + options.programs
    jobs = [(check, n, min(_CHUNK, last - n)) for n in range(options.first, last, _CHUNK)]
    outcomes: Counter[str] = Counter()
    start = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.processes, maxtasksperchild=_PER_WORKER // _CHUNK) as pool:
        for done, failures in pool.imap_unordered(_chunk, jobs):
            outcomes += done
            for text in failures:
                print(text, flush=True)
            if sum(outcomes.values()) % report < _CHUNK:
                print(f"{time.perf_counter() - start:7.0f} s  {dict(outcomes)}", flush=True)
    print(f"{sum(outcomes.values())} programs in {time.perf_counter() - start:.0f} s: {dict(outcomes)}")
    return 1 if outcomes["WRONG"] else 0


def _chunk(job: tuple[Check, int, int]) -> tuple[Counter[str], list[str]]:
    """Check the programs of some seeds."""
    check, first, count = job
    outcomes: Counter[str] = Counter()
    failures = []
    for seed in range(first, first + count):
        try:
            verdict = check(seed)
            outcomes["derivatives checked" if verdict.checked else verdict.skipped] += 1
        except Exception:
            outcomes["WRONG"] += 1
            failures.append(traceback.format_exc())
    return outcomes, failures
