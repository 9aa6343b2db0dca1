"""Five programs that the tests of each framework differentiate: loops, in-place updates, containers, a product."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def waves(x: Any, k: Any) -> Any:
    return np.sum(np.sin(x) * k)


def recurrence(x: Any, y: Any) -> Any:
    z = x.copy()
    for i in range(1, len(x)):
        z[i] = z[i - 1] * 0.5 + x[i] * y[i]
    return z, np.sum(z**2)


def product(a: Any, b: Any) -> Any:
    return {"p": a @ b, "q": math.exp(a[0, 0])}


def heat(u: Any, r: Any, steps: Any) -> Any:
    v = u.copy()
    for _ in range(steps):
        v[1:-1] = v[1:-1] + r * (v[2:] - 2 * v[1:-1] + v[:-2])
    return v


def pair(p: Any) -> Any:
    return p[0] ** 3 * np.cos(p[1]), p[1]


def arguments(rng: np.random.Generator) -> dict[str, list[Any]]:
    """The floats that each program is differentiated by."""
    return {
        "waves": [rng.random(3), rng.random()],
        "recurrence": [rng.random(3), rng.random(3)],
        "product": [rng.random((2, 2)), rng.random((2, 2))],
        "heat": [rng.random(5), rng.random()],
        "pair": [rng.random(), rng.random(2)],
    }


def called(name: str, wrap: Any) -> Any:
    """The program ``name``, wrapped, as a function of its floats that returns one thing or a tuple."""
    fn = wrap(globals()[name])
    if name == "heat":
        return lambda u, r: fn(u, r, 3)
    if name == "pair":
        return lambda a, b: fn((a, b))
    return (lambda a, b: tuple(fn(a, b).values())) if name == "product" else fn
