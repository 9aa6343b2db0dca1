"""Many random programs, on all processors: ``python -m tests.fuzz.run --programs 20000``.

Prints failures with their seeds; the exit code says whether there were any. One seed again:
``python -m tests.fuzz.run --first SEED --programs 1``.
"""

from __future__ import annotations

import os
import sys
from functools import partial

from tests import many
from tests.fuzz.check import check


def main() -> int:
    parser = many.parser(__doc__, 20_000)
    parser.add_argument("--engine", choices=("native", "interpreter"), default="native")
    parser.add_argument("--features", help="of features.py, by commas: each program has all of these and no others")
    parser.add_argument("--idioms", action="store_true", help="programs of what numerical programs are made of")
    options = parser.parse_args()
    only = frozenset(options.features.split(",")) if options.features else None
    os.environ.setdefault("ADC_NUM_THREADS", "2")
    return many.run(partial(check, engine=options.engine, only=only, idioms=options.idioms), options, report=200)


if __name__ == "__main__":
    sys.exit(main())
