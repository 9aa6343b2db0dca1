"""Many random array programs, on all processors: ``python -m tests.arrays.run --programs 20000``.

Prints failures with their seeds; the exit code says whether there were any. One program in ten is compiled in two more
processes, which must get the same bits. One seed again: ``python -m tests.arrays.run --first SEED --programs 1``.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

from tests import many
from tests.arrays.check import check, digest


def main() -> int:
    options = many.parser(__doc__, 20_000).parse_args()
    os.environ.setdefault("ADC_NUM_THREADS", "2")
    wrong = many.run(check, options, report=200)
    seeds = range(options.first, options.first + options.programs, 10)
    found = []
    for _ in range(2):
        with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=40) as pool:
            found.append(pool.map(digest, seeds, chunksize=5))
    differing = [seed for seed, one, two in zip(seeds, *found, strict=True) if one != two]
    print(f"{len(seeds)} programs in two processes each: {len(differing)} differ {differing or ''}")
    return 1 if wrong or differing else 0


if __name__ == "__main__":
    sys.exit(main())
