"""Time and memory of programs on whole arrays, relative to the same programs in loops, in several spellings.

Each problem is one time loop in several equivalent spellings. A row has the ratios of time (value, gradient) and of
peak memory (value, gradient) to those of the loop form. Time is the minimum CPU time of several calls, in which the two
forms alternate; memory is the growth of the resident set.

    python -m benchmarks.array_forms [--size N] [--steps N] [--repeat N] [--only NAME ...]
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import adc
from adc.backend import runtime
from benchmarks.array_memory import (
    burgers_loops,
    burgers_slices,
    burgers_swapped,
    heat_in_place,
    heat_loops,
    heat_slices,
    wave_new_arrays,
    wave_slices,
)
from benchmarks.memory import wave


def heat_empty(u0, steps):
    u = u0.copy()
    for _ in range(steps):
        new = np.empty_like(u)
        new[0], new[-1], new[:, 0], new[:, -1] = u[0], u[-1], u[:, 0], u[:, -1]
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * u[1:-1, 1:-1] * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
        u = new
    return np.sum(u * u)


def heat_named(u0, steps):
    u = u0.copy()
    for _ in range(steps):
        c = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * c
        change = 0.1 * c * around
        new = u.copy()
        new[1:-1, 1:-1] += change
        u = new
    return np.sum(u * u)


def heat_swapped(u0, steps):
    u, new = u0.copy(), u0.copy()
    for _ in range(steps):
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * u[1:-1, 1:-1] * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
        u, new = new, u
    return np.sum(u * u)


def decay_loops(u0, k, steps):
    n, m = u0.shape
    u = u0.copy()
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                u[i, j] = u[i, j] + 0.01 * (k[i, j] - u[i, j] * u[i, j])
    return np.sum(u * u)


def decay_rebound(u0, k, steps):
    u = u0
    for _ in range(steps):
        u = u + 0.01 * (k - u * u)
    return np.sum(u * u)


def decay_function(u0, k, steps):
    def rate(u):
        return k - u * u

    u = u0
    for _ in range(steps):
        u = u + 0.01 * rate(u)
    return np.sum(u * u)


def decay_in_place(u0, k, steps):
    u = u0.copy()
    for _ in range(steps):
        u += 0.01 * (k - u * u)
    return np.sum(u * u)


def ring_loops(u0, k, steps):
    n, m = u0.shape
    u, new = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                new[i, j] = u[i, j] + 0.01 * k[i, j] * (u[(i + 1) % n, j] + u[i - 1, j] - 2.0 * u[i, j])
        u, new = new, u
    return np.sum(u * u)


def ring_rolled(u0, k, steps):
    u = u0
    for _ in range(steps):
        u = u + 0.01 * k * (np.roll(u, -1, axis=0) + np.roll(u, 1, axis=0) - 2.0 * u)
    return np.sum(u * u)


def water_loops(h0, u0, v0, steps):
    n, m = h0.shape
    h, u, v = h0.copy(), u0.copy(), v0.copy()
    for _ in range(steps):
        for i in range(1, n):
            for j in range(m):
                u[i, j] = u[i, j] - 0.05 * (h[i, j] - h[i - 1, j])
        for i in range(n):
            for j in range(1, m):
                v[i, j] = v[i, j] - 0.05 * (h[i, j] - h[i, j - 1])
        for i in range(n - 1):
            for j in range(m - 1):
                h[i, j] = h[i, j] - 0.05 * h[i, j] * (u[i + 1, j] - u[i, j] + v[i, j + 1] - v[i, j])
    return np.sum(h * h)


def water_slices(h0, u0, v0, steps):
    h, u, v = h0.copy(), u0.copy(), v0.copy()
    for _ in range(steps):
        u[1:] -= 0.05 * (h[1:] - h[:-1])
        v[:, 1:] -= 0.05 * (h[:, 1:] - h[:, :-1])
        h[:-1, :-1] -= 0.05 * h[:-1, :-1] * (u[1:, :-1] - u[:-1, :-1] + v[:-1, 1:] - v[:-1, :-1])
    return np.sum(h * h)


def water_diff(h0, u0, v0, steps):
    h, u, v = h0.copy(), u0.copy(), v0.copy()
    for _ in range(steps):
        u[1:] = u[1:] - 0.05 * np.diff(h, axis=0)
        v[:, 1:] = v[:, 1:] - 0.05 * np.diff(h, axis=1)
        flux = np.diff(u, axis=0)[:, :-1] + np.diff(v, axis=1)[:-1]
        h[:-1, :-1] = h[:-1, :-1] * (1.0 - 0.05 * flux)
    return np.sum(h * h)


def water_new(h0, u0, v0, steps):
    h, u, v = h0, u0, v0
    for _ in range(steps):
        un, vn, hn = u.copy(), v.copy(), h.copy()
        un[1:] = u[1:] - 0.05 * (h[1:] - h[:-1])
        vn[:, 1:] = v[:, 1:] - 0.05 * (h[:, 1:] - h[:, :-1])
        hn[:-1, :-1] = h[:-1, :-1] - 0.05 * h[:-1, :-1] * (un[1:, :-1] - un[:-1, :-1] + vn[:-1, 1:] - vn[:-1, :-1])
        h, u, v = hn, un, vn
    return np.sum(h * h)


def transport_loops(u0, v0, steps):
    n, m = u0.shape
    u, v, dt = u0.copy(), v0.copy(), 0.1
    p, q = u0.copy(), v0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                c, e = u[i, j], v[i, j]
                p[i, j] = c - dt * (c * (c - u[i - 1, j]) + e * (c - u[i, j - 1])) + 0.01 * (
                    u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * c
                )
                q[i, j] = e - dt * (c * (e - v[i - 1, j]) + e * (e - v[i, j - 1])) + 0.01 * (
                    v[i + 1, j] + v[i - 1, j] + v[i, j + 1] + v[i, j - 1] - 4.0 * e
                )
        u, v, p, q = p, q, u, v
    return np.sum(u * u) + np.sum(v * v)


def transport_slices(u0, v0, steps):
    u, v, dt = u0.copy(), v0.copy(), 0.1
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        c = un[1:-1, 1:-1]
        e = vn[1:-1, 1:-1]
        u[1:-1, 1:-1] = c - dt * (c * (c - un[:-2, 1:-1]) + e * (c - un[1:-1, :-2])) + 0.01 * (
            un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4.0 * c
        )
        v[1:-1, 1:-1] = e - dt * (c * (e - vn[:-2, 1:-1]) + e * (e - vn[1:-1, :-2])) + 0.01 * (
            vn[2:, 1:-1] + vn[:-2, 1:-1] + vn[1:-1, 2:] + vn[1:-1, :-2] - 4.0 * e
        )
    return np.sum(u * u) + np.sum(v * v)


def transport_swapped(u0, v0, steps):
    u, v, dt = u0.copy(), v0.copy(), 0.1
    p, q = u0.copy(), v0.copy()
    for _ in range(steps):
        c, e = u[1:-1, 1:-1], v[1:-1, 1:-1]
        p[1:-1, 1:-1] = c - dt * (c * (c - u[:-2, 1:-1]) + e * (c - u[1:-1, :-2])) + 0.01 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * c
        )
        q[1:-1, 1:-1] = e - dt * (c * (e - v[:-2, 1:-1]) + e * (e - v[1:-1, :-2])) + 0.01 * (
            v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * e
        )
        u, v, p, q = p, q, u, v
    return np.sum(u * u) + np.sum(v * v)


def transport_new(u0, v0, steps):
    u, v, dt = u0, v0, 0.1
    for _ in range(steps):
        p, q = u.copy(), v.copy()
        c, e = u[1:-1, 1:-1], v[1:-1, 1:-1]
        p[1:-1, 1:-1] = c - dt * (c * (c - u[:-2, 1:-1]) + e * (c - u[1:-1, :-2])) + 0.01 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * c
        )
        q[1:-1, 1:-1] = e - dt * (c * (e - v[:-2, 1:-1]) + e * (e - v[1:-1, :-2])) + 0.01 * (
            v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4.0 * e
        )
        u, v = p, q
    return np.sum(u * u) + np.sum(v * v)


Form = Callable[..., Any]
PROBLEMS: dict[str, tuple[Form, dict[str, Form]]] = {
    "heat": (
        heat_loops,
        {
            "copy": heat_slices,
            "empty_like": heat_empty,
            "names": heat_named,
            "swapped": heat_swapped,
            "in place": heat_in_place,
        },
    ),
    "burgers": (burgers_loops, {"copy": burgers_slices, "swapped": burgers_swapped}),
    "wave": (wave, {"swapped": wave_slices, "new array": wave_new_arrays}),
    "decay": (decay_loops, {"rebound": decay_rebound, "function": decay_function, "in place": decay_in_place}),
    "ring": (ring_loops, {"rolled": ring_rolled}),
    "water": (water_loops, {"in place": water_slices, "np.diff": water_diff, "new arrays": water_new}),
    "transport": (
        transport_loops,
        {"copy": transport_slices, "swapped": transport_swapped, "new arrays": transport_new},
    ),
}
"""For each name the form in loops, and the forms in array statements."""


def run_one(name: str, size: int, steps: int, repeat: int, only: list[str]) -> None:
    """Print the ratios of each form of a problem, as JSON."""
    loops, forms = PROBLEMS[name]
    chosen = {"loops": loops, **{form: f for form, f in forms.items() if not only or form in only}}
    calls = {form: _calls(function) for form, function in chosen.items()}
    arguments = _arguments(loops, size, steps)
    small = _arguments(loops, 12, 3)
    for value, gradient in calls.values():
        value(*small)  # compilation is not counted
        gradient(*small)
    truth = calls["loops"][1](*small)
    for form, (_, gradient) in calls.items():
        _compare(form, gradient(*small), truth)
    memory = {form: [_taken(call, arguments) for call in pair] for form, pair in calls.items()}
    seconds = {form: [float("inf")] * 2 for form in calls}
    for _ in range(repeat):
        for form, pair in calls.items():
            for which, call in enumerate(pair):
                start = time.process_time()
                call(*arguments)
                seconds[form][which] = min(seconds[form][which], time.process_time() - start)
    print(json.dumps({form: [*seconds[form], *memory[form]] for form in calls}))


def _calls(function: Form) -> tuple[Form, Form]:
    compiled = adc.jit_grad(threads=1)(function)
    arrays = function.__code__.co_argcount - 1
    return compiled, adc.value_and_grad(compiled, argnums=tuple(range(arrays)))


def _arguments(function: Form, size: int, steps: int) -> list[Any]:
    rng = np.random.default_rng(0)
    arrays = [rng.random((size, size)) for _ in range(function.__code__.co_argcount - 1)]
    arrays[0] *= 0.2
    return [*arrays, steps]


def _compare(form: str, found: Any, truth: Any) -> None:
    np.testing.assert_allclose(found[0], truth[0], rtol=1e-12, err_msg=form)
    for a, b in zip(found[1], truth[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=form)


def _taken(call: Form, arguments: list[Any]) -> float:
    """The growth of the resident set in a call."""
    runtime.release_memory()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak resident set
    before = _status("VmRSS")
    call(*arguments)
    return _status("VmHWM") - before


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise OSError(f"the system does not say {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=384)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--only", nargs="*", default=[*PROBLEMS])
    parser.add_argument("--forms", nargs="*", default=[])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(*json.loads(options.one))
        return 0
    print(f"{'problem':12}{'spelling':14}{'value':>8}{'gradient':>10}{'MB value':>10}{'MB gradient':>13}")
    good = True
    for name in options.only:
        given = json.dumps([name, options.size, options.steps, options.repeat, options.forms])
        command = [sys.executable, "-m", "benchmarks.array_forms", "--one", given]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: {done.stderr}")
            good = False
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        base = found.pop("loops")
        print(f"{name:12}{'loops':14}{1e3 * base[0]:6.1f}ms{1e3 * base[1]:8.1f}ms{base[2]:10.1f}{base[3]:13.1f}")
        for form, numbers in found.items():
            ratios = [a / b for a, b in zip(numbers, base, strict=True)]
            good &= max(ratios) <= 1.05
            print(f"{name:12}{form:14}{ratios[0]:8.2f}{ratios[1]:10.2f}{ratios[2]:10.2f}{ratios[3]:13.2f}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
