"""A plate of 512 x 512 points cooling for 200 steps: the cost of its gradient in time and memory.

1. With respect to the initial temperature, on one thread: time compared with the function's, and no tape at all,
because the scheme is linear in the temperature. 2. With respect to the diffusivity as well, which requires the
temperatures of all steps. 3. One thread and two give the same bits. 4. The machine code: innermost loops use vector
registers and have no bounds checks.

    python -m benchmarks.heat [--size N] [--steps N]
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

import adc
from adc import jit_grad
from adc.backend import runtime
from benchmarks.machine_code import hot_loops
from benchmarks.timing import least, ratio, times


def cooled(u0, r, target, steps):  # type: ignore[no-untyped-def]
    """Half the squared distance of the plate after ``steps`` steps from ``target``."""
    n, m = u0.shape
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + r * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return 0.5 * np.sum((u - target) ** 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    n, steps = options.size, options.steps
    u0, target = rng.random((n, n)), rng.random((n, n))
    arguments = (u0, 0.2, target, steps)
    one, two = jit_grad(threads=1)(cooled), jit_grad(threads=2)(cooled)
    both_one, both_two = adc.grad(one, (0, 1)), adc.grad(two, (0, 1))

    check(one, both_one, arguments)
    same = np.array_equal(one.grad(*arguments), two.grad(*arguments))
    both = zip(both_one(*arguments), both_two(*arguments), strict=True)
    same_both = all(np.array_equal(a, b) for a, b in both)
    memory = {name: peak(run) for name, run in {
        "function": lambda: one(*arguments),
        "by state": lambda: one.grad(*arguments),
        "by state and diffusivity": lambda: both_one(*arguments),
    }.items()}
    best = least(
        {
            "function": lambda: one(*arguments),
            "gradient by the initial state": lambda: one.grad(*arguments),
            "gradient by state and diffusivity": lambda: both_one(*arguments),
            "function, 2 threads": lambda: two(*arguments),
            "gradient by the initial state, 2 threads": lambda: two.grad(*arguments),
        },
        repeats=7,
        warm=1,
    )
    by_state, by_both = (best[f"gradient by {what}"] for what in ("the initial state", "state and diffusivity"))
    good = ratio("gradient by the initial state / function", by_state / best["function"], 2.5)
    print(f"    {by_both / best['function']:8.2f}  gradient by both / function")
    plane = 8 * n * n
    tape = (memory["by state"] - memory["function"]) / plane
    # In addition to the two planes of the function: their shadows, and at most one plane for the final residual.
    good &= ratio("planes of memory more than the function's, by the initial state", tape, 3.0)
    print(f"    {(memory['by state and diffusivity'] - memory['function']) / plane:8.2f}  planes more, by both")
    print(f"{'ok ' if same and same_both else 'BAD'} one and two threads give the same bits: {same}, {same_both}")
    types = "f64[:, ::1], f64, f64[:, ::1], i64"
    good &= hot_loops(one, types, "primal") & hot_loops(one, types, "gradient")
    times(best)
    print("\nby the initial state:")
    print(plan(one))
    print("\nby state and diffusivity:")
    print(plan(jit_grad(argnums=(0, 1))(cooled)))
    return 0 if good and same and same_both else 1


def peak(run: Any) -> int:
    """The most bytes of tapes and temporaries that a call uses at once."""
    runtime.peak_bytes(reset=True)
    run()
    return runtime.peak_bytes()


def plan(function: Any) -> str:
    text = str(function.report("f64[:, ::1], f64, f64[:, ::1], i64"))
    return "\n".join("    " + line for line in text.splitlines() if "tape" in line or line.startswith("  line"))


def check(one: Any, both: Any, arguments: tuple[Any, ...]) -> None:
    """Compare the gradients along a random direction with central differences."""
    u0, r, target, steps = arguments
    step = np.random.default_rng(1).standard_normal(u0.shape)
    by_state, (again, by_rate) = one.grad(*arguments), both(*arguments)
    h = 1e-5
    numeric = (one(u0 + h * step, r, target, steps) - one(u0 - h * step, r, target, steps)) / (2 * h)
    np.testing.assert_allclose(np.sum(by_state * step), numeric, rtol=1e-6)
    np.testing.assert_allclose(again, by_state, rtol=1e-12)
    numeric = (one(u0, r + h, target, steps) - one(u0, r - h, target, steps)) / (2 * h)
    np.testing.assert_allclose(by_rate, numeric, rtol=1e-6)


if __name__ == "__main__":
    sys.exit(main())
