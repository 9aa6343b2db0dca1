"""The compile time of one more statement on whole arrays, and of a tuple with twice as many arrays.

    python -m benchmarks.statements [--repeats N]

CPU time of the first value and of the first gradient of functions with few and with many statements; the difference is
divided by the number of statements. The minimum of the repeats counts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.generated import first_calls, load
from benchmarks.timing import ratio

FEW, MANY = 8, 24
MOST = {"value": 25.0, "gradient": 60.0}  # milliseconds
FORMS = (
    "a = a * b + 0.5 * np.sin(c)",
    "b = b - 0.1 * a * c",
    "c = np.sqrt(c * c + a * a)",
    "a = np.where(b > 0.0, a + c, a - b)",
    "b += 0.1 * np.exp(-a)",
    "c[:] = 0.9 * c + 0.01 * a / (1.0 + b * b)",
)


def seconds(body: list[str], head: str, number: int, arguments: tuple[Any, ...], argnums: Any) -> dict[str, float]:
    """CPU time of the first value and of the first gradient of a function."""
    text = "\n".join(["import numpy as np", "", head, *(f"    {line}" for line in body), ""])
    function = load(text, f"<statements-{len(body)}-{number}>", "main")
    return dict(zip(MOST, first_calls(function, arguments, argnums), strict=True))


def statements(count: int, rank: int, number: int) -> dict[str, float]:
    body = ["b, c = b.copy(), c.copy()", *(FORMS[k % len(FORMS)] for k in range(count)), "return np.sum(a * b * c)"]
    arguments = tuple(np.random.default_rng(0).random((3, *(6, 5, 4)[:rank])) + 0.5)
    return seconds(body, "def main(a, b, c):", number, arguments, (0, 1, 2))


def arrays(count: int, number: int) -> dict[str, float]:
    body = ["s = 0.0", *(f"s += np.sum(p[{k}] * p[{k}] + {k}.0)" for k in range(count)), "return s"]
    given = tuple(np.random.default_rng(0).random((count, 7)))
    return seconds(body, "def main(p):", number, (given,), 0)


def least(make: Callable[[int], dict[str, float]], repeats: int) -> dict[str, float]:
    found = [make(number) for number in range(repeats)]
    return {what: min(one[what] for one in found) for what in found[0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    os.environ["ADC_CACHE"] = "0"  # otherwise there would be nothing to measure
    statements(1, 1, -1)
    good = True
    for rank in (1, 2, 3):
        few, many = (least(partial(statements, count, rank), options.repeats) for count in (FEW, MANY))
        for what, most in MOST.items():
            each = 1000 * (many[what] - few[what]) / (MANY - FEW)
            good = each <= most and good
            print(
                f"rank {rank}, {what}: {FEW} statements {few[what]:.2f} s, {MANY} {many[what]:.2f} s, "
                f"each {each:.0f} ms (wanted: at most {most:.0f})",
                flush=True,
            )
    half, whole = (least(partial(arrays, count), options.repeats) for count in (30, 60))
    for what in MOST:
        good = ratio(f"60 arrays in a tuple / 30: {what}", whole[what] / half[what], 2.2) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
