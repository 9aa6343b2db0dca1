"""The cost of checking that Python's integers fit into 64 bits: each row of the suite with and without checks,
alternating.

Bar: at most 3 %, for values and gradients. One thread, the suite's quick sizes unless ``--full`` is given. The last
column says how many of the function's checks remain in the lowered code; the others are proved, or tested before the
loops.

    python -m benchmarks.overflow [--full] [REPEATS] [NAME...]
"""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import Any

import adc
from adc import jit_grad
from adc.ir import ops
from adc.passes import pipelines
from adc.passes.bounds.drop_checks import DropChecks
from benchmarks.suite import problems
from benchmarks.suite.problem import Problem
from benchmarks.timing import least


def main() -> None:
    given = [a for a in sys.argv[1:] if a != "--full"]
    repeats = int(given.pop(0)) if given and given[0].isdigit() else 15
    pipelines.UNCHECKED = (DropChecks(of=ops.fits), *pipelines.PREPARE)
    good = True
    print("| problem | value | gradient | checks left |\n|---|---|---|---|")
    for problem in problems.PROBLEMS:
        if not given or problem.name in given:
            good &= _row(problem, problem.full if "--full" in sys.argv else problem.quick, repeats)
    sys.exit(not good)


def _row(problem: Problem, size: Any, repeats: int) -> bool:
    args = problem.arguments(size)
    make: Any = jit_grad
    checked, free = (make(argnums=problem.argnums, threads=1, _bounds=b)(problem.function) for b in (True, False))
    value = least({"checked": partial(checked, *args), "free": partial(free, *args)}, repeats)
    if problem.cotangent is None:
        runs = {"checked": partial(checked.value_and_grad, *args), "free": partial(free.value_and_grad, *args)}
    else:
        weighted = [make(threads=1, _bounds=b)(problem.weighted) for b in (True, False)]
        both = [adc.value_and_grad(f, problem.argnums, has_aux=True) for f in weighted]
        seed = problem.cotangent(args)
        runs = {name: partial(f, *args, seed) for name, f in zip(("checked", "free"), both, strict=True)}
    gradient = least(runs, repeats)
    ratios = [t["checked"] / t["free"] for t in (value, gradient)]
    left = len(re.findall("adc.fits", checked.dump_ir("lowered")))
    print(f"| {problem.name} | {ratios[0]:.3f} | {ratios[1]:.3f} | {left or 'none'} |", flush=True)
    return max(ratios) <= 1.03


if __name__ == "__main__":
    main()
