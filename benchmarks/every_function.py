"""Seconds until the first value and the first gradient of each function of docs/numpy.md, by processor time.

Each sample call of ``tests/numpy/samples.py`` is compiled twice in this process. The first time library kernels are
compiled or found; the second time, which counts, nothing of the program is cached, so that it is traced and compiled
again. The gradient is that of a number computed from all float results, which is also traced anew. In between, the
gradient of ``np.sum(np.sin(x))`` is compiled, to distinguish a busy machine from a slow program.

    python -m benchmarks.every_function [--only PATTERN] [--every N] [--worst N]

Bars: 60 ms for each value, 150 ms for each gradient.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import adc
from tests.numpy.every import Sample, sample
from tests.numpy.functions import function_of
from tests.numpy.samples import SAMPLES

BARS = {"value": 0.060, "gradient": 0.150}
Times = dict[str, float]


def first_calls(one: Sample) -> Times:
    """Seconds of the first value, and of the first gradient where there is one."""
    found = {"value": _seconds(lambda: adc.jit_grad(threads=1)(one.values), one.inputs())}
    if one.floats:
        loss = adc.jit_grad(threads=1, argnums=one.floats)(one.loss)
        found["gradient"] = _seconds(lambda: loss.value_and_grad, one.inputs())
    return found


def _seconds(make: Callable[[], Callable[..., Any]], inputs: list[Any]) -> float:
    start = time.process_time()
    make()(*inputs)
    return time.process_time() - start


def again(call: str) -> Times:
    """As ``first_calls``, for a program of which only kernels are cached."""
    os.environ["ADC_CACHE"] = "1"
    first_calls(sample(call))
    os.environ["ADC_CACHE"] = "0"
    return first_calls(sample(call))


def unit() -> float:
    """The seconds that compiling the gradient of a sum of sines takes now."""
    f = adc.jit_grad(threads=1)(function_of("return np.sum(np.sin(x))", "x"))
    return _seconds(lambda: f.value_and_grad, [np.ones(3)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--every", type=int, default=1, help="take one of so many functions")
    parser.add_argument("--worst", type=int, default=20, help="how many of the slowest are shown")
    options = parser.parse_args()
    names = [name for name in SAMPLES if re.search(options.only, name)][:: options.every]
    found: dict[str, list[tuple[float, str]]] = {kind: [] for kind in BARS}
    units = []
    warnings.simplefilter("ignore")
    os.environ["ADC_CACHE"] = "0"
    unit()
    for name in names:
        calls = SAMPLES[name]
        call = calls if isinstance(calls, str) else calls[0]
        units.append(unit())
        for kind, seconds in again(call).items():
            found[kind].append((seconds, name))
    print(f"a sum of sines: {1e3 * statistics.median(units):.0f} ms in the median, {1e3 * min(units):.0f} at least")
    good = True
    for kind, bar in BARS.items():
        times = sorted(found[kind], reverse=True)
        if not times:
            continue
        over = sum(seconds > bar for seconds, _ in times)
        good &= over == 0
        quarters = statistics.quantiles([t for t, _ in times], n=10) if len(times) > 1 else [times[0][0]]
        print(f"{kind}: {len(times)} functions, {over} over {1e3 * bar:.0f} ms; tenths of them below")
        print("    " + " ".join(f"{1e3 * q:.0f}" for q in quarters) + " ms")
        for seconds, name in times[: options.worst]:
            print(f"    {1e3 * seconds:7.0f} ms  {name}")
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
