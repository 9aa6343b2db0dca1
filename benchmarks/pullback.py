"""The cost of a pullback relative to the function: the forward sweep and one reverse sweep, over the time of the value
alone.

Run ``python -m benchmarks.pullback``. Prints one row for each function and size, with separate arguments and with views
of one array (``--threads``: how many; 1 by default, which is least disturbed by other work on the machine). Exits with
1 if a pullback takes more than ``MOST`` times the value at the size where all arrays are in cache; at the larger size
it has twice as many arrays as the function, and memory bandwidth decides.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from adc import jit_grad

MOST, REPEATS = 8.0, 60
IN_CACHE, LARGE = 100_000, 1_000_000


def trigonometric(a: Any, b: Any, c: Any) -> Any:
    return np.sin(2 * a) * np.cos(3 * b) * 4 * c


def exponential(a: Any, b: Any, c: Any) -> Any:
    return np.exp(-a * b) * np.log(1.0 + c)


def two_statements(a: Any, b: Any, c: Any) -> Any:
    r = np.sin(a) * b
    return r * np.tanh(c) + r


def chosen(a: Any, b: Any, c: Any) -> Any:
    return np.where(a > 0.5, np.exp(b) * c, np.sin(c) * b)


def in_place(a: Any, b: Any, c: Any) -> Any:
    r = np.exp(a)
    r *= np.sin(b)
    r += c * c
    return r


FUNCTIONS = (trigonometric, exponential, two_statements, chosen, in_place)


def arguments(size: int, *, apart: bool) -> tuple[Any, ...]:
    whole = np.linspace(0.1, 0.9, size + 2)
    views = whole[:-2], whole[1:-1], whole[2:]
    return tuple(v.copy() for v in views) if apart else views


def measure(function: Callable[..., Any], args: tuple[Any, ...], threads: int) -> float:
    """The ratio of the lower quartiles of alternating calls: other work on the machine has little influence, but new
    pages in each call count."""
    compiled = jit_grad(argnums=(0, 1, 2), threads=threads)(function)
    cotangent = np.ones_like(compiled(*args))
    compiled.pullback(*args)[1](cotangent)
    value, both = [], []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = compiled(*args)
        middle = time.perf_counter()
        result, back = compiled.pullback(*args)
        gradients = back(cotangent)
        end = time.perf_counter()
        del result, back, gradients
        value.append(middle - start)
        both.append(end - middle)
    return statistics.quantiles(both)[0] / statistics.quantiles(value)[0]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    failed = False
    for function in FUNCTIONS:
        for size in (IN_CACHE, LARGE):
            for apart in (True, False):
                args = arguments(size, apart=apart)
                if size == LARGE and apart:  # rows and columns
                    args = tuple(a.reshape(1000, 1000) for a in args)
                ratio = measure(function, args, threads)
                shape = "x".join(map(str, args[0].shape))
                print(f"{ratio:6.1f}  {function.__name__:16} {shape:10} {'apart' if apart else 'views of one array'}")
                failed |= size == IN_CACHE and ratio > MOST
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
