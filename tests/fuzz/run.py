"""Many random programs, on all processors: ``python -m tests.fuzz.run --programs 20000``.

Prints what was wrong with its seed; the exit code says whether anything was. One seed again:
``python -m tests.fuzz.run --first SEED --programs 1``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter

CHUNK = 10


Job = tuple[int, int, str, frozenset[str] | None]


def run_chunk(job: Job) -> tuple[Counter[str], list[str]]:
    """Check the programs of some seeds."""
    from tests.fuzz.check import check

    first, count, engine, only = job
    outcomes: Counter[str] = Counter()
    failures = []
    for seed in range(first, first + count):
        try:
            verdict = check(seed, engine=engine, only=only)
            outcomes["derivatives checked" if verdict.checked else verdict.skipped] += 1
        except Exception:
            outcomes["WRONG"] += 1
            failures.append(traceback.format_exc())
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, dest="first")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--engine", choices=("native", "interpreter"), default="native")
    parser.add_argument("--features", help="of features.py, by commas: each program has all of these and no others")
    options = parser.parse_args()
    only = frozenset(options.features.split(",")) if options.features else None
    os.environ.setdefault("ADC_NUM_THREADS", "2")
    last = options.first + options.programs
    jobs = [(n, min(CHUNK, last - n), options.engine, only) for n in range(options.first, last, CHUNK)]
    outcomes: Counter[str] = Counter()
    start = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    # A worker is replaced now and then: what it compiled is not unloaded while its functions live.
    with context.Pool(options.processes, maxtasksperchild=20) as pool:
        for done, failures in pool.imap_unordered(run_chunk, jobs):
            outcomes += done
            for text in failures:
                print(text, flush=True)
            if sum(outcomes.values()) % 200 < CHUNK:
                print(f"{time.perf_counter() - start:7.0f} s  {dict(outcomes)}", flush=True)
    print(f"{sum(outcomes.values())} programs in {time.perf_counter() - start:.0f} s: {dict(outcomes)}")
    return 1 if outcomes["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
