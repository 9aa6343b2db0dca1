"""LLVM's time for the code of the latency programs' first gradients, for several choices in its pipeline.

    python -m benchmarks.llvm_time [--repeats N] [PATTERN]

CPU time of optimisation and of code generation, and the sizes of the objects: with adc's choices, and with others. They
alternate, so that a busy moment affects all; the minimum of the repeats counts.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

from adc import jit_grad
from adc.backend import optimize
from adc.backend.target import host
from benchmarks.compiled_texts import compiled_texts
from benchmarks.generated import load
from benchmarks.latency import arrays, programs

CHOICES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "O3": {"_PIPELINES": {3: 3}},
    "O1 and SIMD": {"_PIPELINES": {3: 1}},
    "loop strength reduction": {"short_code_generation": contextlib.nullcontext},
    "O3 and that": {"_PIPELINES": {3: 3}, "short_code_generation": contextlib.nullcontext},
}

Cost = tuple[float, float, int]
"""Seconds of optimisation and of code generation, and bytes."""


def texts(pattern: str) -> Iterator[tuple[str, list[str]]]:
    """The modules of each program's gradient as LLVM IR, found by compiling without optimisation."""
    for name, source in (programs.PROGRAMS | arrays.PROGRAMS).items():
        if not re.search(pattern, name):
            continue
        text = f"{programs.HEAD}{source}\ndef both():\n    return main, arguments, argnums\n"
        main, arguments, argnums = load(text, f"<{name}>", "both")()
        with compiled_texts() as found:
            jit_grad(argnums=argnums)(main).value_and_grad(*arguments)
        yield name, list(found)


def measure(modules: list[str], choice: str) -> Cost:
    total: Cost = (0.0, 0.0, 0)
    with contextlib.ExitStack() as stack:
        for name, value in CHOICES[choice].items():
            stack.enter_context(mock.patch.object(optimize, name, value))
        for text in modules:
            begin = time.process_time()
            optimized = optimize.optimize(text, host())
            middle = time.process_time()
            size = len(optimized.object_code)
            total = _sum(total, (middle - begin, time.process_time() - middle, size))
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    total: dict[str, Cost] = dict.fromkeys(CHOICES, (0.0, 0.0, 0))
    print(f"{'program':20}" + "".join(f"{choice:>28}" for choice in CHOICES))
    for name, modules in texts(options.pattern):
        found: dict[str, list[Cost]] = {choice: [] for choice in CHOICES}
        for _ in range(options.repeats):
            for choice, times in found.items():
                times.append(measure(modules, choice))
        best = {choice: min(times, key=lambda t: t[0] + t[1]) for choice, times in found.items()}
        total = {choice: _sum(total[choice], cost) for choice, cost in best.items()}
        show(name, best)
    show("all", total)
    return 0


def _sum(one: Cost, other: Cost) -> Cost:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def show(name: str, found: dict[str, Cost]) -> None:
    cells = (f"{opt * 1e3:9.0f} +{code * 1e3:6.0f} ms {size / 1e3:6.0f} kB" for opt, code, size in found.values())
    print(f"{name:20}" + "".join(f"{cell:>28}" for cell in cells), flush=True)


if __name__ == "__main__":
    sys.exit(main())
