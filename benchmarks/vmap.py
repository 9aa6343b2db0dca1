"""``adc.vmap`` over 10,000 small problems, compared with a Python loop that calls the compiled function for each.

Bar: at least 20 times as fast for values; 10 times for the gradient of the sum and for the gradient of each item; the
loop, too, makes one compiled call per item. All threads.

    python -m benchmarks.vmap [ITEMS]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import adc
from benchmarks.timing import least, ratio


def square_root(a):  # type: ignore[no-untyped-def]
    x = a
    for _ in range(6):
        x = 0.5 * (x + a / x)
    return x


def oscillation(p):  # type: ignore[no-untyped-def]
    x, v = p[0], p[1]
    for _ in range(10):
        v = v - 0.01 * p[2] * x
        x = x + 0.01 * v
    return x * x + math.sin(v)


def each(fn: Callable[..., Any], items: np.ndarray) -> Callable[[], Any]:
    """A Python loop over the items, with the results in an array."""
    first = np.asarray(fn(items[0]))

    def run() -> Any:
        found = np.empty((len(items), *first.shape))
        for k in range(len(items)):
            found[k] = fn(items[k])
        return found

    return run


def gradient_of_sum(mapped: Any) -> Callable[..., Any]:
    return adc.grad(lambda xs: np.sum(mapped(xs)))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = np.random.default_rng(3)
    good = True
    problems: Any = ((square_root, rng.uniform(0.5, 1.5, count)), (oscillation, rng.uniform(0.5, 1.5, (count, 3))))
    for fn, items in problems:
        one: Any = adc.jit_grad(fn)
        value: Any = adc.vmap(fn)
        gradients: Any = adc.vmap(adc.grad(fn))
        total = gradient_of_sum(value)
        for what, bar, loop, mapped in (
            ("values", 20.0, each(one, items), partial(value, items)),
            ("gradient of the sum", 10.0, each(one.grad, items), partial(total, items)),
            ("gradient of each", 10.0, each(one.grad, items), partial(gradients, items)),
        ):
            assert np.allclose(loop(), mapped(), rtol=1e-12)
            taken = least({"loop": loop, "vmap": mapped}, repeats=9)
            shown = f"{fn.__name__}, {what}: {1e3 * taken['loop']:.2f} and {1e3 * taken['vmap']:.3f} ms"
            good &= ratio(shown, taken["loop"] / taken["vmap"], bar, at_least=True)
    sys.exit(not good)


if __name__ == "__main__":
    main()
