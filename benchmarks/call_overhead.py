"""The cost of a call: adc compared with Numba's dispatcher, in one process, on one thread, minimum of many repeats.

Run ``python -m benchmarks.call_overhead`` (needs the extra ``bench``). Prints nanoseconds and ratios for a function of
one float and a function of three small arrays, and for their gradients. Exits with 1 if a call costs more than Numba's,
or a gradient more than twice that.
"""

from __future__ import annotations

import gc
import sys
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np

from adc import hvp, jit_grad, jvp

REPEATS, CALLS = 40, 20_000


def square(x: float) -> float:
    return x * x + 1.0


def weighted(a: Any, b: Any, c: Any) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i] * c[i]
    return total


def nanoseconds(functions: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]) -> dict[str, float]:
    """The minimum time of a call of each. The calls alternate, so that a slow moment of the machine affects all
    equally."""
    timers = {}
    for name, (function, args) in functions.items():
        names = {f"a{k}": value for k, value in enumerate(args)}
        timers[name] = timeit.Timer(f"f({', '.join(names)})", globals={"f": function, **names})
    least = dict.fromkeys(timers, float("inf"))
    gc.disable()
    for _ in range(REPEATS):
        for name, timer in timers.items():
            least[name] = min(least[name], timer.timeit(CALLS) / CALLS * 1e9)
    gc.enable()
    return least


def main() -> int:
    arrays = tuple(np.linspace(0.0, 1.0, 8) + k for k in range(3))
    adc_square, adc_weighted = jit_grad(square), jit_grad(weighted)
    compile_numba: Any = numba.njit
    numba_square, numba_weighted = compile_numba(square), compile_numba(weighted)
    assert adc_square(1.5) == numba_square(1.5) and adc_weighted(*arrays) == numba_weighted(*arrays)
    assert adc_square.grad(1.5) == 3.0
    np.testing.assert_array_equal(adc_weighted.grad(*arrays), arrays[1] * arrays[2])
    worst = 0
    for title, function, reference, args in (
        ("f(x: float)", adc_square, numba_square, (1.5,)),
        ("f(three arrays of 8)", adc_weighted, numba_weighted, arrays),
    ):
        rows = {
            "Numba": (reference, args),
            "adc": (function, args),
            "adc, gradient": (function.grad, args),
            "adc, value and gradient": (function.value_and_grad, args),
            "adc, jvp": (partial(jvp, function), (args, args)),
            "adc, hvp": (partial(hvp, function), (args, args)),
            "adc, forward half of pullback": (function.pullback, args),
            "adc, reverse half": (function.pullback(*args)[1], (1.0,)),
        }
        times = nanoseconds(rows)
        print(title)
        for name, time in times.items():
            print(f"  {name:30} {time:7.1f} ns   {time / times['Numba']:5.2f} x Numba")
        failed = times["adc"] > times["Numba"] or times["adc, gradient"] > 2 * times["Numba"]
        worst |= failed
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
