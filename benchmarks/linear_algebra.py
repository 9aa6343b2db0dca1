"""Functions of matrices compared with NumPy, one thread: times of calls, of gradients and of compilation.

For each function and size: NumPy's time over adc's, the gradient's over the value's, and CPU seconds until the first
value and the first gradient, both with an empty cache and with cached kernels, as for all programs on a machine after
the first one. ``ADC_LAPACK=0`` measures adc's own code.

    python -m benchmarks.linear_algebra [--only NAME ...] [--sizes 8 200]
"""

# ruff: noqa: E402 (how many threads libraries use is read when they are imported)
from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADC_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["ADC_CACHE"] = "0"

import numpy as np

import adc
from benchmarks.timing import least


def solve(a: Any) -> Any:
    return np.linalg.solve(a, a[0])


def inv(a: Any) -> Any:
    return np.linalg.inv(a)


def slogdet(a: Any) -> Any:
    return np.linalg.slogdet(a)[1]


def cholesky(a: Any) -> Any:
    return np.linalg.cholesky(a)


def qr(a: Any) -> Any:
    return np.linalg.qr(a)[1]


def eigh(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return v * w


def eigvalsh(a: Any) -> Any:
    return np.linalg.eigvalsh(a)


def svd(a: Any) -> Any:
    u, s, vt = np.linalg.svd(a)
    return (u * np.sqrt(s)) @ vt


def lstsq(a: Any) -> Any:
    return np.linalg.lstsq(a, a[:, 0] + 1.0)[0]


def pinv(a: Any) -> Any:
    return np.linalg.pinv(a)


FUNCTIONS = {f.__name__: f for f in (solve, inv, slogdet, cholesky, qr, eigh, eigvalsh, svd, lstsq, pinv)}


def first(run: Callable[..., Any], a: Any) -> float:
    """CPU seconds until the first result."""
    start = time.process_time()
    run(a)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(FUNCTIONS))
    parser.add_argument("--sizes", nargs="*", type=int, default=[8, 200])
    options = parser.parse_args()
    adc.jit_grad(lambda x: x.sum())(np.ones(3))  # the run-time support
    times = f"{'first value':>13}{'gradient':>10}{'again':>10}{'gradient':>10}"
    columns = f"{'adc':>13}{'NumPy/adc':>11}{'grad/value':>12}{times}"
    print(f"{'function':12}{'rows':>6}{columns}")
    for name in options.only:
        f = FUNCTIONS[name]

        def scalar(a: Any, f: Any = f) -> Any:
            return np.sum(f(a))

        for size in options.sizes:
            a = np.random.default_rng(0).normal(size=(size, size))
            a = a @ a.T + size * np.eye(size)
            compiling = []
            for _ in range(2):
                value, gradient = adc.jit_grad(threads=1)(f), adc.grad(adc.jit_grad(threads=1)(scalar))
                compiling += [first(value, a), first(gradient, a)]
            count = max(1, 20_000 // size**2)
            calls = {"numpy": partial(f, a), "adc": partial(value, a), "gradient": partial(gradient, a)}
            runs = {n: partial(repeated, call, count) for n, call in calls.items()}
            s = least(runs, repeats=7)
            shown = f"{s['numpy'] / s['adc']:>11.2f}{s['gradient'] / s['adc']:>12.2f}"
            seconds = f"{compiling[0]:>11.2f} s" + "".join(f"{c:>8.2f} s" for c in compiling[1:])
            print(f"{name:12}{size:>6}{1e6 * s['adc'] / count:>10.1f} us{shown}{seconds}", flush=True)


def repeated(call: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        call()


if __name__ == "__main__":
    main()
