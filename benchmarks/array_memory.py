"""The memory of programs on whole arrays, each in its own process, measured as the growth of the resident set.

Bars: elementwise expressions take at most 1 % more than their inputs and outputs, in any spelling and with any number
of statements; the gradient of a time loop in slices takes at most 5 % more memory and time than the one in loops.

    python -m benchmarks.array_memory [--elements N] [--size N] [--steps N] [--only NAME ...]
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import adc
from adc.backend import runtime
from benchmarks.memory import wave


def total(x, y):
    return np.sum(np.exp(-x * x) * np.sin(y) + x * y)


def result(x, y):
    return np.exp(-x * x) * np.sin(y) + x * y


def named(x, y):
    a = np.exp(-x * x)
    b = np.sin(y)
    c = a * b
    return c + x * y


def given(x, y, out):
    out[:] = np.exp(-x * x) * np.sin(y) + x * y


def out_arguments(x, y, out):
    np.multiply(x, x, out=out)
    np.negative(out, out=out)
    np.exp(out, out=out)
    out *= np.sin(y)
    out += x * y


def branches(x, y):
    return np.sqrt(np.where(x > y, x - y, 0.5 * y) + np.maximum(x, 1.0))


def standardised(x, y):
    return (x - x.mean()) / x.std() + y


def differences(x, y):
    d = x[1:] - x[:-1]
    return np.sum(d * d * y[1:]) + np.linalg.norm(x - y)


def _soft(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def functions(x, y):
    z = _soft(_soft(x) * y)
    return np.sum(z * _soft(y))


def clipped(x, y):
    z = np.clip(x, 0.2, 0.8)
    w = np.where(z > y, z - y, 0.0)
    return np.mean(w * w)


# Name: function, number of arrays that the value makes, and that the gradient makes (None: no gradient).
ELEMENTWISE: dict[str, tuple[Callable[..., Any], int, int | None]] = {
    "total": (total, 0, 2),
    "result": (result, 1, None),
    "named": (named, 1, None),
    "given": (given, 0, None),
    "out_arguments": (out_arguments, 0, None),
    "branches": (branches, 1, None),
    "standardised": (standardised, 1, None),
    "differences": (differences, 0, 2),
    "functions": (functions, 0, 2),
    "clipped": (clipped, 0, 2),
}


def heat_loops(u0, steps):
    n, m = u0.shape
    u, new = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = u[i, j] + 0.1 * u[i, j] * (
                    u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                )
        u, new = new, u
    return np.sum(u * u)


def heat_slices(u0, steps):
    u = u0.copy()
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * u[1:-1, 1:-1] * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
        u = new
    return np.sum(u * u)


def heat_in_place(u0, steps):
    u = u0.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * u[1:-1, 1:-1] * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
    return np.sum(u * u)


def burgers_loops(u0, v0, steps):
    n, m = u0.shape
    u, v, un, vn = u0.copy(), v0.copy(), u0.copy(), v0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                un[i, j] = (
                    u[i, j]
                    - 0.1 * u[i, j] * (u[i, j] - u[i - 1, j])
                    - 0.1 * v[i, j] * (u[i, j] - u[i, j - 1])
                    + 0.05 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
                )
                vn[i, j] = (
                    v[i, j]
                    - 0.1 * u[i, j] * (v[i, j] - v[i - 1, j])
                    - 0.1 * v[i, j] * (v[i, j] - v[i, j - 1])
                    + 0.05 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j])
                )
        u, un = un, u
        v, vn = vn, v
    return np.sum(u * u + v * v)


def burgers_slices(u0, v0, steps):
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        here = un[1:-1, 1:-1]
        u[1:-1, 1:-1] = (
            here
            - 0.1 * here * (here - un[:-2, 1:-1])
            - 0.1 * vn[1:-1, 1:-1] * (here - un[1:-1, :-2])
            + 0.05 * (un[:-2, 1:-1] + un[2:, 1:-1] + un[1:-1, :-2] + un[1:-1, 2:] - 4.0 * here)
        )
        there = vn[1:-1, 1:-1]
        v[1:-1, 1:-1] = (
            there
            - 0.1 * here * (there - vn[:-2, 1:-1])
            - 0.1 * there * (there - vn[1:-1, :-2])
            + 0.05 * (vn[:-2, 1:-1] + vn[2:, 1:-1] + vn[1:-1, :-2] + vn[1:-1, 2:] - 4.0 * there)
        )
    return np.sum(u * u + v * v)


def burgers_swapped(u0, v0, steps):
    u, v, un, vn = u0.copy(), v0.copy(), u0.copy(), v0.copy()
    for _ in range(steps):
        un[1:-1, 1:-1] = (
            u[1:-1, 1:-1]
            - 0.1 * u[1:-1, 1:-1] * (u[1:-1, 1:-1] - u[:-2, 1:-1])
            - 0.1 * v[1:-1, 1:-1] * (u[1:-1, 1:-1] - u[1:-1, :-2])
            + 0.05 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1])
        )
        vn[1:-1, 1:-1] = (
            v[1:-1, 1:-1]
            - 0.1 * u[1:-1, 1:-1] * (v[1:-1, 1:-1] - v[:-2, 1:-1])
            - 0.1 * v[1:-1, 1:-1] * (v[1:-1, 1:-1] - v[1:-1, :-2])
            + 0.05 * (v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4.0 * v[1:-1, 1:-1])
        )
        u, un = un, u
        v, vn = vn, v
    return np.sum(u * u + v * v)


def wave_slices(c, u0, steps):
    old, now, new = u0.copy(), u0.copy(), u0.copy()
    for _ in range(steps):
        around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * now[1:-1, 1:-1]
        new[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + c[1:-1, 1:-1] * around
        old, now, new = now, new, old
    return np.sum(now * now)


def wave_new_arrays(c, u0, steps):
    old, now = u0.copy(), u0.copy()
    for _ in range(steps):
        new = u0.copy()
        around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * now[1:-1, 1:-1]
        new[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + c[1:-1, 1:-1] * around
        old, now = now, new
    return np.sum(now * now)


# The loop form, the forms in slices, and the differentiated arguments.
LOOPS: dict[str, tuple[Callable[..., Any], dict[str, Callable[..., Any]], tuple[int, ...]]] = {
    "heat": (heat_loops, {"slices": heat_slices, "in place": heat_in_place}, (0,)),
    "burgers": (burgers_loops, {"slices": burgers_slices, "swapped": burgers_swapped}, (0, 1)),
    "wave": (wave, {"slices": wave_slices, "new arrays": wave_new_arrays}, (0, 1)),
}


def run_one(function: str, gradient: bool, shapes: Sequence[tuple[int, ...]], steps: int) -> None:
    """Print the memory of a call beyond its arguments, and its time, as JSON."""
    rng = np.random.default_rng(0)
    arguments: list[Any] = [rng.random(shape) for shape in shapes]
    if function.startswith("wave"):
        arguments[0] *= 0.2
    small = [np.full(tuple(8 for _ in shape), 0.3) for shape in shapes]
    if steps:
        arguments.append(steps)
        small.append(2)  # type: ignore[arg-type]
    compiled: Callable[..., Any] = adc.jit_grad(threads=1)(globals()[function])
    if gradient:
        compiled = adc.value_and_grad(compiled, argnums=tuple(range(len(shapes))))
    compiled(*small)  # compilation is not counted
    runtime.release_memory()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak resident set
    before = _status("VmRSS")
    kept = compiled(*arguments)
    taken = _status("VmHWM") - before
    del kept
    seconds = []
    for _ in range(3):
        start = time.process_time()
        compiled(*arguments)
        seconds.append(time.process_time() - start)
    print(json.dumps({"taken": taken, "seconds": min(seconds)}))


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise OSError(f"the system does not say {name}")


def one(function: str, gradient: bool, shapes: Sequence[tuple[int, ...]], steps: int = 0) -> dict[str, float]:
    given = json.dumps([function, gradient, shapes, steps])
    command = [sys.executable, "-m", "benchmarks.array_memory", "--one", given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=100_000_000)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[*ELEMENTWISE, *LOOPS])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(*json.loads(options.one))
        return 0
    good = True
    whole = 8 * options.elements
    for name in options.only:
        if name not in ELEMENTWISE:
            continue
        function, arrays, of_gradient = ELEMENTWISE[name]
        inputs = function.__code__.co_argcount
        for gradient, made in ((False, arrays), (True, of_gradient)):
            if made is None:
                continue
            found = one(function.__name__, gradient, [(options.elements,)] * inputs)
            share = (inputs * whole + found["taken"]) / ((inputs + made) * whole)
            good &= share <= 1.01
            what = f"{name}, gradient" if gradient else name
            print(f"{what:26}{found['taken'] / 1e6:10.1f} MB beyond the arguments; over inputs and outputs {share:.3f}")
    for name in options.only:
        if name not in LOOPS:
            continue
        loops, forms, by = LOOPS[name]
        shapes = [(options.size, options.size)] * len(by)
        base = one(loops.__name__, True, shapes, options.steps)
        print(f"{name + ', loops':26}{base['taken'] / 1e6:10.1f} MB {1e3 * base['seconds']:10.1f} ms")
        for form, function in forms.items():
            found = one(function.__name__, True, shapes, options.steps)
            memory, seconds = (found[n] / base[n] for n in ("taken", "seconds"))
            good &= memory <= 1.05 and seconds <= 1.05
            print(
                f"{name + ', ' + form:26}{found['taken'] / 1e6:10.1f} MB {1e3 * found['seconds']:10.1f} ms; "
                f"over those of loops {memory:.2f} and {seconds:.2f}"
            )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
