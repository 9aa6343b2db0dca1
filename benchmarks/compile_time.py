"""Compile times of generated functions of 1,000 and 2,000 lines: primal and gradient.

    python -m benchmarks.compile_time [--lines N]
"""

from __future__ import annotations

import argparse
import os
import random
import sys

import numpy as np

from benchmarks.generated import first_calls, load
from benchmarks.timing import ratio


def source(lines: int, seed: int = 0) -> str:
    """A function of about ``lines`` lines: scalars, loops over arrays, branches, in-place updates, calls."""
    rng = random.Random(seed)
    text = ["import math", "import numpy as np", "", "def helper(a, b):", "    return math.sin(a) * b + 0.1 * a", ""]
    text += ["def generated(x, y, n):", "    s, t = 0.5, 0.25"]
    while len(text) < lines:
        c = round(rng.uniform(0.1, 0.9), 3)
        block = rng.choice(
            [
                [f"s = {c} * s + math.cos(t) * {c}"],
                [f"t = t * {c} + s * s * 0.01", "s = math.exp(-s * s) + t"],
                [f"s = helper(s, t) * {c}"],
                ["if s > t:", f"    s = s - {c} * t", "else:", f"    t = t + {c} * math.tanh(s)"],
                ["for i in range(1, n - 1):", f"    y[i] = y[i] + {c} * (x[i + 1] - 2.0 * x[i] + x[i - 1]) * s"],
                ["for i in range(n):", f"    s = s + {c} * 1e-3 * math.sin(x[i]) * y[i]"],
            ]
        )
        text += ["    " + line for line in block]
    return "\n".join([*text, "    return s + t + np.sum(y)", ""])


def seconds(lines: int, number: int) -> tuple[float, float]:
    """CPU seconds until the first value and until the first gradient of a new function."""
    function = load(source(lines), f"<generated-{lines}-{number}>", "generated")
    return first_calls(function, (np.linspace(0.0, 1.0, 50), np.linspace(1.0, 2.0, 50), 50))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3, help="the least of so many counts")
    options = parser.parse_args()
    os.environ["ADC_CACHE"] = "0"  # otherwise there would be nothing to measure
    best: dict[int, tuple[float, float]] = {}
    seconds(50, -1)
    for number in range(options.repeats):
        for lines in (options.lines, 2 * options.lines):
            taken = seconds(lines, number)
            known = best.get(lines, taken)
            best[lines] = (min(known[0], taken[0]), min(known[1], taken[1]))
    short, long = best[options.lines], best[2 * options.lines]
    good = ratio(f"{2 * options.lines} lines / {options.lines}: first value", long[0] / short[0], 2.3)
    good &= ratio(f"{2 * options.lines} lines / {options.lines}: first gradient", long[1] / short[1], 2.3)
    for lines, (value, gradient) in best.items():
        print(f"    {value:8.2f} s  {lines} lines, first value\n    {gradient:8.2f} s  {lines} lines, first gradient")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
