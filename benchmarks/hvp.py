"""Times of Hessian-vector products relative to gradients: the plate, with respect to both arguments and to the state
alone; and logistic regression.

    python -m benchmarks.hvp [--threads N]
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import adc
from adc import plate
from benchmarks.timing import least, ratio, times
from examples.laplace import minus_log_posterior


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, help="default: as many as there are processors")
    parser.add_argument("--repeats", type=int, default=15, help="the least of so many times")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    u0, v, data = rng.random((200, 200)), rng.random((200, 200)), rng.random((20, 200, 200))
    rest: tuple[Any, ...] = (data, 10, 0.1, 0.5)
    misfit = adc.jit_grad(threads=options.threads)(plate.misfit_loops)
    both = adc.jit_grad(argnums=(0, 1), threads=options.threads)(plate.misfit_loops)
    x, w = rng.standard_normal((20_000, 20)), rng.standard_normal(20)
    labels = np.where(rng.random(20_000) < 0.5, 1.0, -1.0)
    posterior = adc.jit_grad(threads=options.threads)(inspect.unwrap(minus_log_posterior))
    runs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "the plate, by both": (
            lambda: both.grad(u0, 0.2, *rest),
            lambda: adc.hvp(both, (u0, 0.2, *rest), (v, 1.0, *[None] * 4), argnums=(0, 1)),
        ),
        "the plate, by its state": (
            lambda: misfit.grad(u0, 0.2, *rest),
            lambda: adc.hvp(misfit, (u0, 0.2, *rest), (v, *[None] * 5)),
        ),
        "logistic regression": (
            lambda: posterior.grad(w, x, labels),
            lambda: adc.hvp(posterior, (w, x, labels), (w, None, None)),
        ),
    }
    good = True
    seconds: dict[str, float] = {}
    for name, (gradient, product) in runs.items():
        found = least({f"{name}: gradient": gradient, f"{name}: product": product}, options.repeats)
        first, second = found.values()
        good &= ratio(f"{name}: Hessian-vector product / gradient", second / first, 2.5)
        seconds |= found
    times(seconds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
