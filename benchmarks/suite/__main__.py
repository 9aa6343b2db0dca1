"""Run the suite: ``python -m benchmarks.suite --help``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.suite import bars, machine, peers, plots, report
from benchmarks.suite.measuring import Measured, measure
from benchmarks.suite.problem import Problem
from benchmarks.suite.problems import PROBLEMS


def options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suite",
        description="adc's values and gradients beside those of its peers: checked, then timed. Peers that are not "
        "installed are skipped. The exit status is 1 if anything disagrees, and with --strict if a bar is missed.",
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a problem; may be repeated")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME", help="a peer; may be repeated")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="besides one (default: all cores)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--check", action="store_true", help="compare values and gradients, time nothing")
    parser.add_argument("--scaling", action="store_true", help="further sizes and numbers of threads, for plots")
    parser.add_argument("--budget", type=float, default=3.0, metavar="S", help="seconds per timed function (default 3)")
    parser.add_argument("--output", type=Path, default=Path("bench-output"), help="folder for results.json and plots")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--list", action="store_true", help="name the problems, and stop")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    chosen = options(argv)
    console = Console()
    if not console.is_terminal:
        console = Console(width=170)  # for output to a file
    if chosen.list:
        for problem in PROBLEMS:
            console.print(f"{problem.name:20}  {problem.title}", highlight=False)
        return 0
    unknown = set(chosen.only) - {problem.name for problem in PROBLEMS}
    if unknown:
        console.print(f"no problem is called {', '.join(sorted(unknown))}; --list names them")
        return 2
    problems = [p for p in PROBLEMS if not chosen.only or p.name in chosen.only]
    counts = thread_counts(chosen.threads, every=chosen.scaling)
    timed, budget = not chosen.check, 0.02 if chosen.quick else chosen.budget
    results: list[Measured] = []
    scaled: list[Measured] = []
    for problem in problems:
        console.print(f"{problem.title} ...", highlight=False)
        size = problem.quick if chosen.quick else problem.full
        results.append(measure(problem, size, counts, budget=budget, only=tuple(chosen.peer), timed=timed))
        if chosen.scaling and timed:
            scaled += _scaled(problem, counts, budget)
    # At small sizes ratios mean nothing.
    wanted = list(bars.bars(results, counts)) if timed and not chosen.quick else []
    rates = machine.summary(chosen.threads, quick=chosen.quick) if timed and peers.available("C") else {}
    report.show(console, results, counts, wanted)
    for name, rate in rates.items():
        console.print(f"{rate:8.2f}  {name}", highlight=False)
    if timed:
        report.write(chosen.output / "results.json", report.as_json(results + scaled, rates, counts, wanted))
        try:
            plots.draw(chosen.output, results, scaled, counts)
        except ImportError:
            console.print("no plots: matplotlib is not installed")
        console.print(f"written to {chosen.output}", highlight=False)
    wrong = any(m.wrong for m in results + scaled)
    return int(wrong or (chosen.strict and not all(bar.ok for bar in wanted)))


def thread_counts(most: int, *, every: bool) -> tuple[int, ...]:
    """One and ``most``; with ``every``, also the powers of two between them."""
    between = [1 << k for k in range(1, most.bit_length()) if 1 << k < most] if every else []
    return tuple(dict.fromkeys((1, *between, most)))


def _scaled(problem: Problem, counts: tuple[int, ...], budget: float) -> list[Measured]:
    return [measure(problem, size, counts, budget=budget / 4, only=("adc",)) for size in problem.scaling]


if __name__ == "__main__":
    sys.exit(main())
