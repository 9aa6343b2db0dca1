"""``adc demo``: the plate problem step by step, from a Python function to its gradient and an object file."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from adc import plate
from adc.commands.ahead import compile_ahead
from adc.reports.dump import resolve, write_stage
from adc.reports.report import report


def demo(output: Path, size: int) -> None:
    """Run the demonstration; files go to the folder ``output``. ``size``: points along each side of the plate."""
    output.mkdir(parents=True, exist_ok=True)
    clock = _Clock()
    problem = plate.measured(size)
    guess = problem.misfit(*problem.first_guess())

    reference: Callable[..., Any] = plate.misfit_loops

    _title("1. The function: a plate cools; how far is a simulation from the measurements?")
    print(inspect.getsource(plate.misfit_loops))

    _title("2. Compiled when it is first called")
    python = clock("plain Python", lambda: reference(*guess))
    first = clock("adc, first call: trace, optimise, generate code", lambda: plate.loops(*guess))
    again = clock("adc, second call", lambda: plate.loops(*guess))
    _agree("the value", first, python)
    _agree("the value again", again, first)
    clock.compare("plain Python", "adc, second call")

    _title("3. Its gradient, by reverse-mode differentiation of the compiled code")
    clock("adc, first gradient: differentiate, optimise, generate code", lambda: plate.loops.value_and_grad(*guess))
    _, (u0_bar, r_bar) = clock("adc, second gradient", lambda: plate.loops.value_and_grad(*guess))
    clock.compare("adc, second gradient", "adc, second call", "the gradient costs {:.1f} times the function")
    _check(problem, u0_bar, r_bar)

    _title("4. The intermediate representation")
    small = "f64[:, ::1], f64, f64[:, :, ::1], i64, f64, f64"
    write_stage(sys.stdout, "the function, simplified", abridged(plate.loops.dump_ir("simplified", small), 44))
    write_stage(sys.stdout, "its gradient", abridged(plate.loops.dump_ir("adjoint", small), 70))
    plan = report(plate.loops._subject, resolve(plate.loops._subject, small), plate.loops._derivative)
    write_stage(sys.stdout, "what the gradient stores, and what it does not", abridged(str(plan), 40), "text")

    _title("5. The plate, recovered from noisy measurements")
    print(f"{len(problem.data)} frames of {size} x {size} points, error {problem.sigma} each; 60 iterations\n")
    recovered = clock("minimisation", lambda: plate.recover(problem, progress=_progress))
    print(f"\n{recovered.method}: {recovered.evaluations} gradients with respect to {size * size + 1} unknowns")
    print(f"diffusivity: true {problem.r:.4f}, first guess 0.1000, recovered {recovered.r:.4f}")
    before, after = (_rms(u - problem.truth) for u in (problem.data[0], recovered.u0))
    print(f"error of the plate: first measurement {before:.4f}, recovered {after:.4f}\n")
    _beside(("truth", problem.truth), ("first measurement", problem.data[0]), ("recovered", recovered.u0))

    _title("6. An object file for C")
    subject = plate.loops._subject
    arguments = (subject, resolve(subject, small), plate.loops._chosen, output / "misfit.o")
    done = clock("adc compile", lambda: compile_ahead(*arguments, source="adc/plate.py:misfit_loops"))
    for path in done.files:
        print(f"wrote {path} ({path.stat().st_size} bytes)")
    print(f"functions: {', '.join(done.functions)}")
    _run_from_c(output, done.libraries, problem, first)

    _title("Times")
    clock.show()


def abridged(text: str, lines: int) -> str:
    """``text``, with its middle omitted if it has more than ``lines`` lines."""
    rows = text.rstrip().splitlines()
    if len(rows) <= lines:
        return text
    head = lines * 2 // 3
    tail = lines - head
    return "\n".join([*rows[:head], f"// ... {len(rows) - lines} lines ...", *rows[-tail:]])


class _Clock:
    """Runs functions and records how long they took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, run: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = run()
        self.seconds[name] = time.perf_counter() - start
        return result

    def compare(self, slow: str, fast: str, text: str = "{:.0f} times faster than plain Python") -> None:
        print(text.format(self.seconds[slow] / self.seconds[fast]))

    def show(self) -> None:
        width = max(map(len, self.seconds))
        for name, seconds in self.seconds.items():
            print(f"{name:{width}}  {1e3 * seconds:10.3f} ms")


def _title(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}\n")


def _agree(what: str, a: float, b: float) -> None:
    difference = abs(a - b) / abs(b)
    print(f"{what}: {a:.12g}, relative difference {difference:.1e}")
    if difference > 1e-10:
        raise AssertionError(f"{what} differs")


def _check(problem: plate.Problem, u0_bar: plate.Array, r_bar: float) -> None:
    """Compare the gradient along a random direction with central differences."""
    rng = np.random.default_rng(1)
    u_step, r_step = rng.standard_normal(u0_bar.shape), 0.1
    along = float(np.sum(u0_bar * u_step)) + r_bar * r_step
    h = 1e-5
    u0, r = problem.first_guess()
    ahead = plate.loops(*problem.misfit(u0 + h * u_step, r + h * r_step))
    behind = plate.loops(*problem.misfit(u0 - h * u_step, r - h * r_step))
    differences = (ahead - behind) / (2 * h)
    print(f"along a random direction: {along:.10g}; by central differences: {differences:.10g}")
    if abs(along - differences) > 1e-6 * abs(along):
        raise AssertionError("the gradient disagrees with finite differences")


def _rms(values: plate.Array) -> float:
    return float(np.sqrt(np.mean(values * values)))


def _progress(iteration: int, misfit: float, r: float) -> None:
    if iteration == 1 or iteration % 10 == 0:
        print(f"  iteration {iteration:3d}   misfit {misfit:12.2f}   diffusivity {r:.4f}")


def _beside(*pictures: tuple[str, plate.Array]) -> None:
    """Print small pictures of plates, in characters, side by side."""
    shades, rows, columns = " .:-=+*#%@", 14, 28
    drawn = []
    for _, u in pictures:
        i = np.linspace(0, u.shape[0] - 1, rows).round().astype(int)
        j = np.linspace(0, u.shape[1] - 1, columns).round().astype(int)
        level = np.clip(u[np.ix_(i, j)] * (len(shades) - 1), 0, len(shades) - 1).round().astype(int)
        drawn.append(["".join(shades[k] for k in row) for row in level])
    print("   ".join(f"{name:{columns}}" for name, _ in pictures))
    for lines in zip(*drawn, strict=True):
        print("   ".join(lines))


_C = """\
#include <stdio.h>
#include <stdlib.h>
#include "misfit.h"

int main(void) {{
    int64_t n = {n}, frames = {frames};
    double *u0 = malloc(sizeof(double) * n * n), *data = malloc(sizeof(double) * frames * n * n);
    FILE *file = fopen("misfit.bin", "rb");
    if (!file || fread(u0, sizeof(double), n * n, file) != (size_t)(n * n)) return 1;
    if (fread(data, sizeof(double), frames * n * n, file) != (size_t)(frames * n * n)) return 1;
    double value;
    if (misfit_loops({call}, &value)) {{ fprintf(stderr, "%s\\n", misfit_loops_message()); return 1; }}
    printf("%.17g\\n", value);
    return 0;
}}
"""


def _run_from_c(output: Path, libraries: tuple[str, ...], problem: plate.Problem, expected: float) -> None:
    """Link the object file with a C program, if there is a C compiler, and compare its value."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        print("no C compiler here: the object file was not linked")
        return
    n, frames = problem.truth.shape[0], len(problem.data)
    call = f"u0, n, n, 0.1, data, frames, n, n, {problem.every}, {problem.sigma!r}, {problem.smooth!r}"
    (output / "main.c").write_text(_C.format(n=n, frames=frames, call=call))
    (output / "misfit.bin").write_bytes(problem.data[0].tobytes() + problem.data.tobytes())
    command = [*compiler.split(), "main.c", "misfit.o", *libraries, "-o", "main"]
    print(f"$ {' '.join(command)}")
    subprocess.run(command, cwd=output, check=True)
    run = subprocess.run(["./main"], cwd=output, check=True, capture_output=True, text=True)
    print(f"$ ./main\n{run.stdout.strip()}")
    same = float(run.stdout) == expected
    print("the same value as from Python" + (", bit for bit" if same else f": {expected!r}"))
