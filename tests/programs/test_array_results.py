"""Pullbacks of functions that return arrays, called repeatedly: who owns the memory of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc


def fresh(x, v):
    out = np.zeros(len(v))
    for i in range(len(v)):
        out[i] = x * v[i] * v[i]
    out[0] += out[1]
    return out


def grid(x, v):
    out = np.empty((2, len(v)))
    out[0] = x * v
    out[1] = out[0] * v
    return out


def two(x, v):
    a, b = np.ones(len(v)), np.zeros(3)
    a[1:] = v[:-1] * x
    b[1] = np.sum(a * v)
    return a, b


def window(x, v):
    out = np.zeros(len(v) + 2)
    out[1:-1] = v * v * x
    return out[1:]


def twice(x, v):
    out = v * x
    out[0] *= x
    return out, out


def with_its_window(x, v):
    out = v * x
    return out, out[1:]


def either(x, v):
    if x > 0.0:
        out = v * x
    else:
        out = v * v
    out[0] = x
    return out


def from_a_call(x, v):
    out = fresh(x, v)
    out[1] = out[0] * out[2]
    return out


def from_two_calls(x, v):
    return fresh(x, fresh(x * x, v)) * grid(x, v)[1]


def zeros(n):
    return np.zeros(n)


def varies_only_after_the_call(x, v):
    u = zeros(3)
    before = u[0] * x
    u[0] = x * x
    out = zeros(len(v))
    for i in range(len(v)):
        out[i] = before + out[i - 1] * v[i] + u[0] * v[i] + u[1]
    return out


def calls_in_a_loop(x, v):
    total = np.zeros(len(v))
    for k in range(3):
        part = fresh(x + k, v)
        part[0] = part[1] * total[0]
        total += part
    return total


def filled_by_a_call(x, v):
    out = np.empty(len(v))
    fill(out, x, v)
    return out


def fill(out, x, v):
    for i in range(len(out)):
        out[i] = x * v[i] + v[0]


def recursive(x, v):
    return deeper(x, v, 3)


def deeper(x, v, n):
    out = np.zeros(len(v))
    if n > 0:
        inner = deeper(x * 0.9, v, n - 1)
        out[:] = inner * x + v
        inner[0] = 2.0
    else:
        out += v * x
    return out


PROGRAMS = [
    fresh, grid, two, window, twice, with_its_window, either, from_a_call, from_two_calls, varies_only_after_the_call,
    calls_in_a_loop, filled_by_a_call, recursive,
]  # fmt: skip


def arrays(result: Any) -> list[np.ndarray]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_each_call_of_a_pullback_gives_the_same(function: Callable[..., Any], engine: str) -> None:
    rng = np.random.default_rng(3)
    x, v = 0.8, rng.standard_normal(5)
    dx, dv = 0.3, rng.standard_normal(5)
    expected = function(x, v)
    result, back = adc.jit_grad(function, _engine=engine).pullback(x, v)
    for a, b in zip(arrays(expected), arrays(result), strict=True):
        assert a == pytest.approx(b, rel=1e-14)

    h = 1e-6
    moved = [arrays(function(x + s * dx, v + s * dv)) for s in (h, -h)]
    slopes = [(p - m) / (2 * h) for p, m in zip(*moved, strict=True)]
    for _ in range(3):
        cotangents = [rng.standard_normal(a.shape) for a in arrays(expected)]
        kept = [c.copy() for c in cotangents]
        seed = tuple(cotangents) if isinstance(expected, tuple) else cotangents[0]
        first, again = back(seed), back(seed)
        assert first[0] == again[0] and np.array_equal(first[1], again[1])
        assert all(np.array_equal(a, b) for a, b in zip(cotangents, kept, strict=True))
        along = first[0] * dx + np.sum(first[1] * dv)
        assert along == pytest.approx(sum(np.sum(c * s) for c, s in zip(cotangents, slopes, strict=True)), rel=1e-7)
