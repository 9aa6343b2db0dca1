"""The amount of code for a program: lines of LLVM IR for its value and gradient, and of assembly, compared with goals.

Run ``python -m benchmarks.code_lines [PATTERN]``. What is counted is what one call of the value and one of the gradient
compile. Texts that several parts share count once; the stubs that Python calls, and units that the calls do not reach,
are counted separately.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterable
from typing import Any
from unittest import mock

from adc import jit_grad
from adc.backend.optimize import optimize
from adc.backend.target import host
from adc.driver import late_units
from benchmarks.compiled_texts import compiled_texts
from benchmarks.generated import load
from benchmarks.latency import arrays, programs

RUNGE_KUTTA = """
def slope(u, a):
    v = np.zeros(10)
    v[1:-1] = (u[2:] - u[:-2]) * u[1:-1] + a
    v[0] = (u[1] - u[9]) * u[0] + a
    v[9] = (u[0] - u[8]) * u[9] + a
    return v - u

def main(u, a, h):
    k1 = slope(u, a)
    k2 = slope(u + 0.5 * h * k1, a)
    k3 = slope(u + 0.5 * h * k2, a)
    k4 = slope(u + h * k3, a)
    return np.sum((u + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)) ** 2)

arguments = rng.random(10), 8.0, 0.01
"""
PROGRAMS = programs.PROGRAMS | arrays.PROGRAMS | {"Runge-Kutta on ten numbers": RUNGE_KUTTA}
GOALS = {"README's heat": 3000, "network of 2": 4000, "Runge-Kutta on ten numbers": 4000}
"""Lines of LLVM before optimisation."""


def levels_of(source: str) -> tuple[dict[str, int], list[str]]:
    """The texts of a program's value and gradient that are compiled, each with LLVM's optimisation level, and those of
    units that are not."""
    text = f"{programs.HEAD}{source}\ndef both():\n    return main, arguments, argnums\n"
    main, arguments, argnums = load(text, "<program>", "both")()
    units: list[str] = []
    lates = late_units.lates

    def note(*given: Any) -> tuple[late_units.Late, ...]:
        made = lates(*given)
        units.extend(zlib.decompress(late.text).decode() for late in made)
        return made

    with compiled_texts() as found, mock.patch.object(late_units, "lates", note):
        function = jit_grad(argnums=argnums)(main)
        function(*arguments)
        function.value_and_grad(*arguments)
    return found, [text for text in dict.fromkeys(units) if text not in found]


def _lines(texts: Iterable[str]) -> int:
    return sum(len(text.splitlines()) for text in texts)


def main() -> int:
    good = True
    print(f"{'':28}{'LLVM':>8}{'goal':>8}{'assembly':>10}{'stubs':>8}{'not reached':>13}")
    for name, source in PROGRAMS.items():
        if not re.search(sys.argv[1] if len(sys.argv) > 1 else "", name):
            continue
        levels, left = levels_of(source)
        code = {text: level for text, level in levels.items() if '@"adc.stub' not in text}
        lines = _lines(code)
        stubs = _lines(levels) - lines
        assembly = _lines(optimize(text, host(), level).assembly() for text, level in code.items())
        good &= lines <= GOALS.get(name, lines)
        print(f"{name:28}{lines:8}{GOALS.get(name, '-'):>8}{assembly:10}{stubs:8}{_lines(left):13}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
