"""Many random stencil programs, on all processors: ``python -m tests.stencils.run --programs 500``.

Prints what was wrong with its seed; the exit code says whether anything was. One seed again:
``python -m tests.stencils.run --first SEED --programs 1``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections import Counter

CHUNK = 5
Job = tuple[int, int]


def run_chunk(job: Job) -> tuple[Counter[str], list[str]]:
    """Check the programs of some seeds."""
    from tests.stencils.check import check

    outcomes: Counter[str] = Counter()
    failures = []
    for seed in range(job[0], job[0] + job[1]):
        try:
            verdict = check(seed)
            outcomes["derivatives checked" if verdict.checked else verdict.skipped] += 1
        except Exception:
            outcomes["WRONG"] += 1
            failures.append(traceback.format_exc())
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    last = options.first + options.programs
    jobs = [(n, min(CHUNK, last - n)) for n in range(options.first, last, CHUNK)]
    outcomes: Counter[str] = Counter()
    start = time.perf_counter()
    # A worker is replaced now and then: what it compiled is not unloaded while its functions live.
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=10) as pool:
        for done, failures in pool.imap_unordered(run_chunk, jobs):
            outcomes += done
            for text in failures:
                print(text, flush=True)
            if sum(outcomes.values()) % 50 < CHUNK:
                print(f"{time.perf_counter() - start:7.0f} s  {dict(outcomes)}", flush=True)
    print(f"{sum(outcomes.values())} programs in {time.perf_counter() - start:.0f} s: {dict(outcomes)}")
    return 1 if outcomes["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
