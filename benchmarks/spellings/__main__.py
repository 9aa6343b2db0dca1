"""How much speed depends on the spelling: problems that are written in several ways, and programs that a rewriter makes
of them, which keep the meaning; the time of each over the quickest spelling of its problem.

    python -m benchmarks.spellings [PATTERN] [--threads N] [--repeats N] [--drawn N] [--seed N]

All spellings of a problem are timed by turns in one process. They must agree in value and gradient.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.spellings.measure import NAMES, Problem, Times, measure, problem
from benchmarks.spellings.rewriter import drawn
from benchmarks.timing import ratio

WORST, MEAN = 1.5, 1.15  # of the time over the quickest spelling's
OUTLIERS = 0.02  # of the programs drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--drawn", type=int, default=0, help="programs that are drawn and rewritten")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    names = [name for name in NAMES if re.search(arguments.pattern, name)]
    print("| problem | spelling | value (ms) | over the quickest | gradient (ms) | over the quickest | compiling (s) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    values: list[float] = []
    gradients: list[float] = []
    shared = {name: arguments.drawn // len(names) + (k < arguments.drawn % len(names)) for k, name in enumerate(names)}
    outliers = 0
    for name in names:
        given = problem(name)
        with tempfile.TemporaryDirectory() as folder:
            written = [(f.__name__, f) for f in given.spellings]
            made = drawn(given, shared[name], random.Random(f"{arguments.seed} {name}"), Path(folder))
            found = measure(given, [*written, *made], arguments.threads, arguments.repeats)
        ratios = _shown(given, found)
        values += [value for spelling, (value, _) in ratios.items() if "+" not in spelling]
        gradients += [gradient for spelling, (_, gradient) in ratios.items() if "+" not in spelling]
        outliers += sum(max(both) > WORST for spelling, both in ratios.items() if "+" in spelling)
    print()
    for what, every in (("value", values), ("gradient", gradients)):
        ratio(f"{what}, the worst spelling over the quickest", max(every), WORST)
        ratio(f"{what}, geometric mean over the quickest", float(np.exp(np.mean(np.log(every)))), MEAN)
    if arguments.drawn:
        ratio(f"share of the programs drawn above {WORST}", outliers / arguments.drawn, OUTLIERS)


def _shown(given: Problem, found: dict[str, Times]) -> dict[str, tuple[float, float]]:
    """Print the rows of a problem; times over the quickest spelling's, of those that were compiled."""
    quickest = min(t.value for t in found.values()), min(t.gradient for t in found.values())
    ratios: dict[str, tuple[float, float]] = {}
    for name, times in found.items():
        if times.refused:
            print(f"| {given.name} | {name} | refused: {times.refused} | - | - | - | - |")
            continue
        both = ratios[name] = times.value / quickest[0], times.gradient / quickest[1]
        print(
            f"| {given.name} | {name} | {1e3 * times.value:.4f} | {both[0]:.2f} | {1e3 * times.gradient:.4f} | "
            f"{both[1]:.2f} | {times.compiling:.2f} |",
            flush=True,
        )
    return ratios


main()
