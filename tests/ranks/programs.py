"""Programs for several ranks, and how they are run: in threads, by adc and by plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import adc
from adc import mpi

SIZES = (1, 2, 3, 4)


def on_ranks(f: Callable[..., Any], *per_rank: Sequence[Any], same: tuple[Any, ...] = ()) -> list[Any]:
    """``f`` as ranks, each with its own of ``per_rank``, then ``same``."""
    return mpi.simulate(len(per_rank[0]), lambda: f(*(x[mpi.rank()] for x in per_rank), *same))


def check_transposed(
    f: Any, n: int, seed: int = 0, length: int = 3, *, second: bool = True, same: bool = False
) -> None:
    """Compare a function of one array on each rank, which returns a number, with plain Python, and its derivatives with
    each other: reverse mode, forward mode and differences, along random directions and with random cotangents.
    ``same``: the value is the same on all ranks, and so is its cotangent."""
    rng = np.random.default_rng(seed)
    xs, dots = ([rng.normal(size=length) for _ in range(n)] for _ in "ab")
    ws = [0.7] * n if same else list(rng.normal(size=n))

    def total(values: Sequence[float]) -> float:
        return 0.7 * float(values[0]) if same else float(np.dot(ws, np.array(values, float)))

    def moved(h: float) -> list[Any]:
        return [x + h * dot for x, dot in zip(xs, dots, strict=True)]

    values = on_ranks(f, xs)
    np.testing.assert_allclose(values, on_ranks(f.__wrapped__, xs), rtol=1e-14)
    given, tangents = zip(*on_ranks(lambda x, dot: adc.jvp(f, (x,), (dot,)), xs, dots), strict=True)
    np.testing.assert_allclose(values, given, rtol=1e-14)

    def pulled(x: Any, w: float) -> Any:
        _, back = f.pullback(x)
        (bar,) = back(w)
        return bar

    bars = on_ranks(pulled, xs, ws)
    along = sum(float(np.dot(bar, dot)) for bar, dot in zip(bars, dots, strict=True))
    np.testing.assert_allclose(total(tangents), along, rtol=1e-12, atol=1e-12)
    h = 1e-5
    differences = (total(on_ranks(f, moved(h))) - total(on_ranks(f, moved(-h)))) / (2 * h)
    np.testing.assert_allclose(along, differences, rtol=1e-6, atol=1e-7)
    if second:

        def along_all(x: Any, w: float) -> Any:
            return pulled(x, w)

        later, before = (on_ranks(along_all, moved(s), ws) for s in (h, -h))
        # The second derivative of the weighted sum, along the direction twice, by forward mode over forward mode.
        twice = [(a - b) / (2 * h) for a, b in zip(later, before, strict=True)]
        found = sum(float(np.dot(a, dot)) for a, dot in zip(twice, dots, strict=True))
        pairs = [total([t for _, t in on_ranks(lambda x, d: adc.jvp(f, (x,), (d,)), moved(s), dots)]) for s in (h, -h)]
        np.testing.assert_allclose(found, (pairs[0] - pairs[1]) / (2 * h), rtol=1e-5, atol=1e-6)
