"""The first gradient of programs in a new process with an empty cache, compared with JAX's, and the first value,
compared with Numba's; and the first gradient in a second process, which finds the code that the first one compiled.

    python -m benchmarks.latency [--repeats N] [--numpy] [PATTERN]

CPU time of the call, summed over threads, without imports; the minimum of several processes counts. JAX: the first call
of ``jit(value_and_grad(f))`` for the program as a user of JAX writes it. Numba: the first call of the program compiled
by ``njit``, if Numba supports it. Values and gradients must agree. Peers that are not installed are skipped.

With ``--numpy`` the programs are those of ``tests/programs/numpy``, which were written for other purposes, and the
gradients alone are timed.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.jax_forms import CLOSE, ILL_CONDITIONED
from benchmarks.latency.processes import CALLS, NUMPY, PROGRAMS, First, Processes
from benchmarks.suite.peers import available
from benchmarks.timing import ratio

PEERS = "JAX", "Numba"
SECOND = "adc, second process"
MEAN, WORST = 1.0, 2.0  # adc's gradient over JAX's
NUMBA = 0.5  # adc's value over Numba's compilation
MILLISECONDS = 20.0  # of the second process
LONG = 10.0  # seconds; longer calls are measured only once


def measure(processes: Processes, name: str, calls: list[str], repeats: int) -> dict[str, First]:
    """The fastest first call of each kind, without those that were refused."""
    best: dict[str, First] = {}
    for _ in range(repeats):
        wanted = [what for what in calls if what not in best or best[what].seconds < LONG]
        for what, first in _calls(processes, name, wanted):
            known = best.get(what, first)
            best[what] = first if first.seconds < known.seconds else known
    found = {what: first for what, first in best.items() if first.found is not None}
    both = found["adc, gradient"].found
    for what, first in found.items():
        _agree(f"{name}: {what}", first.found, both if isinstance(first.found, tuple) else both[0], close(name))
    return found


def _calls(processes: Processes, name: str, wanted: list[str]) -> Iterator[tuple[str, First]]:
    for what in wanted:
        with tempfile.TemporaryDirectory() as folder:
            yield what, processes.first(what, name, Path(folder))
            if what == "adc, gradient":
                yield SECOND, processes.first(what, name, Path(folder))


def close(name: str) -> float:
    return ILL_CONDITIONED.get(name, CLOSE)


def _agree(what: str, found: Any, truth: Any, within: float) -> None:
    """Compare results of equal structure, by differences relative to the largest element."""
    if isinstance(truth, tuple):
        for part, other in zip(found, truth, strict=True):
            _agree(what, part, other, within)
        return
    scale = np.max(np.abs(truth), initial=0.0)
    if not np.all(np.abs(found - truth) <= within * scale + 1e-14):
        raise SystemExit(f"{what} differs from adc's gradient: {found} is not {truth}")


def row(name: str, found: dict[str, First]) -> str:
    def milliseconds(what: str) -> str:
        return f"{1e3 * found[what].seconds:.0f}" if what in found else "-"

    def over(what: str, other: str) -> str:
        return f"{found[what].seconds / found[other].seconds:.2f}" if other in found else "-"

    cells = [milliseconds("adc, gradient"), milliseconds("JAX, gradient"), over("adc, gradient", "JAX, gradient")]
    cells += [milliseconds("adc, value"), milliseconds("Numba, value"), over("adc, value", "Numba, value")]
    return f"| {' | '.join([name, *cells, milliseconds(SECOND)])} |"


def bars(all_found: dict[str, dict[str, First]]) -> bool:
    """Print the bars, and whether they are met."""

    def over(what: str, other: str) -> dict[str, float]:
        return {name: f[what].seconds / f[other].seconds for name, f in all_found.items() if other in f}

    good = True
    if ratios := over("adc, gradient", "JAX, gradient"):
        worst = max(ratios, key=lambda name: ratios[name])
        good &= ratio("first gradient / JAX's, geometric mean", _mean(ratios), MEAN)
        good &= ratio(f"first gradient / JAX's, the worst ({worst})", ratios[worst], WORST)
    if ratios := over("adc, value", "Numba, value"):
        worst = max(ratios, key=lambda name: ratios[name])
        print(f"    {_mean(ratios):8.2f}  first value / Numba's, geometric mean")
        good &= ratio(f"first value / Numba's, the worst ({worst})", ratios[worst], NUMBA)
    second = {name: 1e3 * found[SECOND].seconds for name, found in all_found.items()}
    worst = max(second, key=lambda name: second[name])
    good &= ratio(f"milliseconds in a second process, the worst ({worst})", second[worst], MILLISECONDS)
    for name, found in all_found.items():
        if found[SECOND].runs:
            good = False
            print(f"BAD {name}: a second process ran LLVM {found[SECOND].runs} times")
    return good


def _mean(ratios: dict[str, float]) -> float:
    return math.exp(sum(map(math.log, ratios.values())) / len(ratios))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--numpy", action="store_true", help="the programs of tests/programs/numpy")
    options = parser.parse_args()
    for peer in PEERS:
        if not available(peer):
            print(f"{peer} is not installed: left out")
    wanted = [what for what in CALLS if not options.numpy or what.endswith("gradient")]
    calls = [what for what in wanted if all(available(peer) for peer in PEERS if what.startswith(peer))]
    processes = Processes()
    names = [name for name in (NUMPY if options.numpy else PROGRAMS) if re.search(options.pattern, name)]
    all_found: dict[str, dict[str, First]] = {}
    for _ in _calls(processes, names[0], calls):
        pass  # so that it is known what these calls import
    print("| program | gradient (ms) | JAX | ratio | value (ms) | Numba | ratio | gradient in a second process (ms) |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in names:
        all_found[name] = measure(processes, name, calls, options.repeats)
        print(row(name, all_found[name]), flush=True)
    return 0 if bars(all_found) else 1


if __name__ == "__main__":
    sys.exit(main())
