"""Two pointwise stencils over 100,000 random points: values and the three partial derivatives at each point.

    python examples/stencil.py [--points N] [--threads N]

The loops run in parallel in both sweeps; sequential and parallel runs agree to the last bit.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from adc import jit_grad, prange


def simple_stencil(a, b, c):  # type: ignore[no-untyped-def]
    out = np.empty_like(a)
    for i in prange(len(a)):
        out[i] = 2 * a[i] * 3 * b[i] * 4 * c[i]
    return out


def complex_stencil(a, b, c):  # type: ignore[no-untyped-def]
    out = np.empty_like(a)
    for i in prange(len(a)):
        out[i] = math.sin(2 * a[i]) * math.cos(3 * b[i]) * 4 * c[i]
    return out


def simple_partials(a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    """The closed form, to check against."""
    return 24 * b * c, 24 * a * c, 24 * a * b


def complex_partials(a: Any, b: Any, c: Any) -> tuple[Any, Any, Any]:
    """The closed form, to check against."""
    sa, ca, sb, cb = np.sin(2 * a), np.cos(2 * a), np.sin(3 * b), np.cos(3 * b)
    return 8 * ca * cb * c, -12 * sa * sb * c, 4 * sa * cb


def values_and_partials(stencil: Any, a: Any, b: Any, c: Any) -> tuple[Any, tuple[Any, Any, Any]]:
    """The value at each point, and its partial derivatives with respect to a, b and c there.

    The value at a point depends on that point alone, so one pullback of ones gives all partial derivatives.
    """
    values, back = stencil.pullback(a, b, c)
    return values, back(np.ones_like(values))


def fastest(run: Callable[[], Any], repeats: int = 20) -> float:
    """The minimum of several times, in seconds."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=None, help="default: ADC_NUM_THREADS, or all cores")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    points = tuple(rng.random(options.points) for _ in range(3))
    for function, closed_form in ((simple_stencil, simple_partials), (complex_stencil, complex_partials)):
        parallel = jit_grad(threads=options.threads)(function)
        sequential = jit_grad(threads=1)(function)
        values, partials = values_and_partials(parallel, *points)
        same_values, same_partials = values_and_partials(sequential, *points)
        assert np.array_equal(values, same_values)
        assert all(np.array_equal(p, s) for p, s in zip(partials, same_partials, strict=True))
        worst = max(
            float(np.max(np.abs(p - q)))
            for p, q in zip(partials, closed_form(*points), strict=True)
        )
        print(f"{function.__name__} at {options.points:,} points")
        print(f"  value, d/da, d/db, d/dc at the first: {values[0]:.6f}", *(f"{p[0]:.6f}" for p in partials))
        print(f"  largest difference from the closed form: {worst:.1e}; parallel and sequential agree bit for bit")
        for name, stencil in (("parallel", parallel), ("sequential", sequential)):
            seconds = fastest(lambda stencil=stencil: values_and_partials(stencil, *points))  # type: ignore[misc]
            print(f"  {name:>10}: values and partials in {1e3 * seconds:.3f} ms")


if __name__ == "__main__":
    main()
