"""The stencil sin(2a) cos(3b) 4c, on one thread: ratios first, then times.

1. Values and three partials at 100,000 points, compared with the same closed-form partials in vectorised NumPy. 2. The
gradient of sum(w * stencil(x)) over ten million points of one array, where a, b and c are neighbours, compared with the
function itself. 3. The machine code of both: vector registers, vector sine and cosine, and no bounds checks in the
loops.

    python -m benchmarks.stencil [--points N]
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

import numpy as np

from adc import jit_grad, prange
from benchmarks.machine_code import hot_loops
from benchmarks.timing import least, ratio, times


@jit_grad(threads=1)
def pointwise(a, b, c):  # type: ignore[no-untyped-def]
    out = np.empty_like(a)
    for i in prange(len(a)):
        out[i] = math.sin(2 * a[i]) * math.cos(3 * b[i]) * 4 * c[i]
    return out


@jit_grad(threads=1)
def weighted_sum(x, w):  # type: ignore[no-untyped-def]
    return np.sum(w[1:-1] * (np.sin(2 * x[:-2]) * np.cos(3 * x[1:-1]) * 4 * x[2:]))


def by_adc(a: Any, b: Any, c: Any, ones: Any) -> tuple[Any, ...]:
    values, back = pointwise.pullback(a, b, c)
    return (values, *back(ones))


def by_numpy(a: Any, b: Any, c: Any) -> tuple[Any, ...]:
    sa, ca, sb, cb = np.sin(2 * a), np.cos(2 * a), np.sin(3 * b), np.cos(3 * b)
    return sa * cb * 4 * c, 8 * ca * cb * c, -12 * sa * sb * c, 4 * sa * cb


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=10_000_000, help="of the long array")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    a, b, c = (rng.random(100_000) for _ in range(3))
    ones = np.ones_like(a)
    for got, expected in zip(by_adc(a, b, c, ones), by_numpy(a, b, c), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
    x, w = rng.random(options.points), rng.random(options.points)
    gradient = weighted_sum.grad(x, w)
    step = rng.standard_normal(options.points)
    h = 1e-6
    numeric = (weighted_sum(x + h * step, w) - weighted_sum(x - h * step, w)) / (2 * h)
    np.testing.assert_allclose(np.dot(gradient, step), numeric, rtol=1e-4, atol=1e-2)

    small = least({"NumPy": lambda: by_numpy(a, b, c), "adc": lambda: by_adc(a, b, c, ones)}, repeats=40)
    large = least(
        {"function": lambda: weighted_sum(x, w), "gradient": lambda: weighted_sum.grad(x, w)}, repeats=15
    )
    good = ratio("NumPy's time / adc's: values and three partials", small["NumPy"] / small["adc"], 2.0, at_least=True)
    good &= ratio("gradient / function: sum(w * stencil(x))", large["gradient"] / large["function"], 3.0)
    times({f"100,000 points, {name}": value for name, value in small.items()})
    times({f"{options.points:,} points, {name}": value for name, value in large.items()})
    vector_math = r"_ZGV\w+_(sin|cos)\b"
    good &= hot_loops(pointwise, "f64[::1], f64[::1], f64[::1]", "pullback", vector_math)
    good &= hot_loops(weighted_sum, "f64[::1], f64[::1]", "primal", vector_math)
    good &= hot_loops(weighted_sum, "f64[::1], f64[::1]", "gradient", vector_math)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
