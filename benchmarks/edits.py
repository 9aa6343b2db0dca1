"""The time of the first gradient after an edit of one statement in twenty, compared with the very first gradient.

    python -m benchmarks.edits [--repeats N] [--stages] [PATTERN]

Each program is compiled in a new process with an empty cache, and then, with one statement edited, in another process
that finds the cache of the first one. CPU time of the first gradient without imports; the minimum of the repeats
counts. ``--stages`` shows where that time goes.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adc.backend import optimize
from adc.backend.lowering import lower, lower_units
from adc.driver import compiler, cpu
from adc.ir.core import Module
from adc.passes import pipelines
from adc.passes.base import Pipeline
from adc.passes.differentiation import differentiate
from benchmarks.timing import ratio

ROOT = Path(__file__).resolve().parent.parent
COUNT = 20
EDITED = COUNT // 2
MOST = 0.15  # of the cold time

HEAD = """
import numpy as np
from adc import jit_grad

rng = np.random.default_rng(0)


"""
FORMULAS = (
    "a = a * b + {c} * np.sin(c)",
    "b = b - {c} * a * c",
    "c = np.sqrt(c * c + {c} * a * a)",
    "a = np.where(b > {c}, a + c, a - b)",
    "b = b + {c} * np.exp(-a * a)",
)
PRODUCTS = (
    "a = {c} * (w @ a) + b",
    "b = b - {c} * (a @ v)",
    "a = np.tanh({c} * (b @ w))",
    "b = {c} * a.T + b",
)
STENCILS = (
    "u[1:-1, 1:-1] += {c} * (u[2:, 1:-1] + u[:-2, 1:-1] - 2.0 * u[1:-1, 1:-1])",
    "v[1:-1, 1:-1] = {c} * u[1:-1, 2:] * v[1:-1, :-2] + v[1:-1, 1:-1]",
    "u[1:, :] = u[1:, :] - {c} * np.sin(v[1:, :] - v[:-1, :])",
    "w[:, 1:] = w[:, 1:] + {c} * (u[:, 1:] - u[:, :-1]) * w[:, :-1]",
    "v[2:-2, :] = v[2:-2, :] + {c} * (w[4:, :] - w[:-4, :]) ** 2",
)
LOOPS = (
    ("for i in range(1, n - 1):", "    x[i] = x[i] + {c} * (y[i + 1] - y[i - 1])"),
    ("for i in range(1, n):", "    y[i] = {c} * y[i - 1] + np.sin(x[i])"),
    ("s = 0.0", "for i in range(n):", "    s += x[i] * y[i]", "z[0] = z[0] + {c} * s"),
    ("for i in range(n):", "    if x[i] > {c}:", "        z[i] += x[i] * x[i]", "    else:", "        z[i] = y[i]"),
    ("for i in range(n):", "    for j in range(i):", "        z[i] += {c} * x[j] * y[i - j]"),
)


@dataclass(frozen=True)
class Program:
    """A program of repeated statements, each with its own coefficient, between a head and an end; with its
    arguments."""

    head: tuple[str, ...]
    statements: tuple[str | tuple[str, ...], ...]
    end: str
    arguments: str

    def text(self, edited: str | None = None) -> str:
        """The text. ``edited``: one statement has a new coefficient, or is replaced."""
        lines = list(self.head)
        for k in range(COUNT):
            form = k + 1 if edited == "statement" and k == EDITED else k
            coefficient = 0.77 if edited == "coefficient" and k == EDITED else 0.1 + 0.01 * k
            statement = self.statements[form % len(self.statements)]
            for line in (statement,) if isinstance(statement, str) else statement:
                lines.append(line.replace("{c}", f"{coefficient:.2f}"))
        body = "\n".join(f"    {line}" for line in [*lines[1:], self.end])
        return f"{HEAD}{lines[0]}\n{body}\n\n\narguments = {self.arguments}\n"


PROGRAMS = {
    "formulas": Program(
        ("def main(a, b, c):",), FORMULAS, "return np.sum(a * b * c)", "tuple(rng.random((3, 200)) + 0.5)"
    ),
    "products": Program(
        ("def main(w, v, a, b):",), PRODUCTS, "return np.sum(a * b)", "tuple(0.1 * rng.random((4, 30, 30)))"
    ),
    "stencils": Program(
        ("def main(u, v, w):", "u, v, w = u.copy(), v.copy(), w.copy()"),
        STENCILS,
        "return np.sum(u * v * w)",
        "tuple(rng.random((3, 40, 50)))",
    ),
    "loops": Program(
        ("def main(x, y, z):", "x, y, z, n = x.copy(), y.copy(), z.copy(), len(x)"),
        LOOPS,
        "return np.sum(x * y * z)",
        "tuple(rng.random((3, 30)))",
    ),
}
EDITS = "coefficient", "statement"

TAIL = """
import contextlib
import importlib
import pickle
import sys
import time

from benchmarks import edits

for name in {modules}:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
stages = edits.Stages()
stages.watch()
function = jit_grad(main)
loaded = set(sys.modules)
begin = time.process_time()
value, found = function.value_and_grad(*arguments)
stages.seconds["all"] = time.process_time() - begin
assert np.isfinite(value) and np.isfinite(found).all()
with open("told", "wb") as file:
    pickle.dump((stages.seconds, sorted(set(sys.modules) - loaded)), file)
"""


class Stages:
    """CPU seconds of a process by stage; the time of an inner stage is not counted for the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner = [0.0]

    def watch(self) -> None:
        def which(_: Module, steps: Pipeline, **options: Any) -> str:
            return {pipelines.PREPARE: "prepare"}.get(steps, "lower" if len(steps) > 40 else "other passes")

        named: list[tuple[Any, str, str | Callable[..., str]]] = [
            (compiler, "trace", "trace"),
            (compiler, "run_pipeline", which),
            (differentiate, "gradient", "differentiate"),
            (lower_units, "lower_units", "text of units"),
            (lower, "lower_module", "text"),
            (cpu, "optimize_or_find_all", "objects"),
            (optimize, "_run_pipeline", "optimising"),
        ]
        for owner, function, label in named:
            setattr(owner, function, self._timed(getattr(owner, function), label))

    def _timed(self, run: Callable[..., Any], label: str | Callable[..., str]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            stage = label if isinstance(label, str) else label(*given, **named)
            self._inner.append(0.0)
            begin = time.process_time()
            try:
                return run(*given, **named)
            finally:
                taken = time.process_time() - begin
                self.seconds[stage] = self.seconds.get(stage, 0.0) + taken - self._inner.pop()
                self._inner[-1] += taken

        return timed


class Processes:
    """Runs programs. Modules that a program imported while it compiled are imported before the next one is timed."""

    def __init__(self) -> None:
        self._modules: list[str] = []

    def run(self, text: str, folder: Path) -> dict[str, float]:
        file = folder / "program.py"
        file.write_text(text + TAIL.format(modules=self._modules))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "ADC_CACHE": "1", "ADC_CACHE_DIR": str(folder / "kept")}
        for name in ("ADC_LEVEL", "PYTHONDONTWRITEBYTECODE"):
            environment.pop(name, None)
        subprocess.run([sys.executable, str(file)], check=True, env=environment, cwd=folder)
        seconds: dict[str, float]
        seconds, modules = pickle.loads((folder / "told").read_bytes())
        self._modules += modules
        return seconds


def measure(program: Program, repeats: int) -> dict[str, dict[str, float]]:
    processes = Processes()
    with tempfile.TemporaryDirectory() as folder:
        processes.run(program.text(), Path(folder))  # finds the modules
    best: dict[str, dict[str, float]] = {}
    for _ in range(repeats):
        for edit in EDITS:
            with tempfile.TemporaryDirectory() as folder:
                for what, text in (("cold", program.text()), (edit, program.text(edit))):
                    told = processes.run(text, Path(folder))
                    if what not in best or told["all"] < best[what]["all"]:
                        best[what] = told
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--stages", action="store_true")
    options = parser.parse_args()
    good = True
    for name, program in PROGRAMS.items():
        if re.search(options.pattern, name):
            best = measure(program, options.repeats)
            for edit in EDITS:
                text = f"{name}: cold {best['cold']['all']:.2f} s, one {edit} edited {best[edit]['all']:.2f} s"
                good &= ratio(text, best[edit]["all"] / best["cold"]["all"], MOST)
            for what in ("cold", *EDITS) if options.stages else ():
                parts = ", ".join(f"{stage} {1e3 * s:.0f}" for stage, s in best[what].items() if stage != "all")
                print(f"      {what} (ms): {parts}")
            sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
