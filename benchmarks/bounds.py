"""The cost of checking subscripts: the same kernels with and without checks, alternating in one process.

Bar: at most 3 % on stencils and triangular loops, 10 % on indirect gathers, for values and gradients. The ratio is that
of the minima; that of the medians is also shown. One thread.

    python -m benchmarks.bounds [REPEATS]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from adc import jit_grad
from benchmarks.timing import ratio


def stencil_1d(u, v, steps):  # type: ignore[no-untyped-def]
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, u.shape[0] - 1):
            u[i] = v[i] + 0.1 * (v[i - 1] - 2.0 * v[i] + v[i + 1])
    return u[u.shape[0] // 2]


def stencil_2d(u, v, steps):  # type: ignore[no-untyped-def]
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] + 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u, v = v, u
    return u[3, 3]


def nonlinear_2d(u, v, steps):  # type: ignore[no-untyped-def]
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = u[i, j] - 0.1 * u[i, j] * (u[i, j] - u[i - 1, j]) - 0.1 * u[i, j] * (u[i, j] - u[i, j - 1])
        u, v = v, u
    return u[3, 3]


def csr_product(values, x, columns, first, repeats):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(repeats):
        for i in range(first.shape[0] - 1):
            s = 0.0
            for k in range(first[i], first[i + 1]):
                s += values[k] * x[columns[k]]
            total += s * s
    return total


def triangular_solve(a, x, repeats):  # type: ignore[no-untyped-def]
    for _ in range(repeats):
        for i in range(x.shape[0]):
            s = x[i]
            for j in range(i):
                s -= a[i, j] * x[j]
            x[i] = s / a[i, i]
    return x[x.shape[0] - 1]


def pairs(x, repeats):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(repeats):
        for i in range(x.shape[0]):
            for j in range(i):
                d = x[i] - x[j]
                total += 1.0 / (d * d + 0.01)
    return total


def kernels(rng: np.random.Generator) -> list[tuple[Callable[..., Any], tuple[Any, ...], float]]:
    rows, per_row = 20_000, 12
    first = np.arange(0, rows * per_row + 1, per_row)
    columns = rng.integers(0, rows, rows * per_row)
    lower = np.tril(rng.uniform(0.0, 0.01, (600, 600))) + np.eye(600)
    return [
        (stencil_1d, (rng.random(20_000), rng.random(20_000), 20), 1.03),
        (stencil_2d, (rng.random((300, 300)), rng.random((300, 300)), 10), 1.03),
        (nonlinear_2d, (rng.random((300, 300)), rng.random((300, 300)), 6), 1.03),
        (csr_product, (rng.random(rows * per_row), rng.random(rows), columns, first, 3), 1.10),
        (triangular_solve, (lower, rng.random(600), 4), 1.03),
        (pairs, (rng.random(700), 2), 1.03),
    ]


def compare(checked: Callable[[], Any], free: Callable[[], Any], repeats: int) -> tuple[float, float, float, float]:
    """Minimum and median seconds of both, which alternate."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        checked(), free()
    for _ in range(repeats):
        for run, seconds in zip((checked, free), taken, strict=True):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    return min(taken[0]), min(taken[1]), statistics.median(taken[0]), statistics.median(taken[1])


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    good = True
    for fn, args, bound in kernels(np.random.default_rng(5)):
        make: Any = jit_grad
        checked, free = make(threads=1)(fn), make(threads=1, _bounds=False)(fn)
        for what, f, g in (("value", checked, free), ("gradient", checked.grad, free.grad)):
            first, second, middle, centre = compare(partial(f, *args), partial(g, *args), repeats)
            text = f"{fn.__name__}, {what}: {1e3 * first:.3f} and {1e3 * second:.3f} ms, medians {middle / centre:.2f}"
            good &= ratio(text, first / second, bound)
    sys.exit(not good)


if __name__ == "__main__":
    main()
