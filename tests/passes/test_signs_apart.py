"""signs-apart: extremes are the same to the bit, signs of zeros included, natively and in the reference interpreter."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import adc
from adc import jit_grad, prange


def extremes(a):
    return np.max(a), np.min(a), np.max(-a), np.max(np.abs(a)) - 2.0, np.min(a * a)


def with_a_start(a):
    most, least, total = -0.0, 0.0, 0.0
    for i in prange(len(a)):
        most = max(most, a[i])
        least = min(least, a[i])
        total += a[i]
    return most, least, total


def exact(values: list[float]) -> tuple[float, float]:
    """IEEE 754's maximum and minimum."""
    if any(map(math.isnan, values)):
        return math.nan, math.nan
    order = sorted(values, key=lambda x: (x, math.copysign(1, x)))
    return order[-1], order[0]


def same(found: float, expected: float) -> bool:
    if math.isnan(expected):
        return math.isnan(found)
    return found == expected and math.copysign(1, found) == math.copysign(1, expected)


@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_signs_of_zeros(engine: str) -> None:
    compiled = jit_grad(lambda a: (np.max(a), np.min(a)), _engine=engine)
    choices = [0.0, -0.0, 1.0, -1.0, math.nan, math.inf]
    for values in itertools.product(choices, repeat=2):
        assert all(map(same, compiled(np.array(values)), exact(list(values)))), values


@pytest.mark.usefixtures("optimised")
def test_any_length() -> None:
    compiled = jit_grad(lambda a: (np.max(a), np.min(a)))
    rng = np.random.default_rng(2)
    for n in (1, 3, 7, 8, 9, 31, 33, 70, 300):
        for high, low in ((0.0, -1.0), (1.0, 0.0), (0.0, 0.0)):
            for share in (0.0, 0.02, 1.0):
                a = np.where(rng.random(n) < 0.5, high, low)
                a = np.where(rng.random(n) < share, -a, a) if high == low else np.where(a == 0, -a if share else a, a)
                if share == 0.02:
                    a[rng.integers(n)] = 0.0
                assert all(map(same, compiled(a), exact(a.tolist()))), a
                a[rng.integers(n)] = math.nan
                assert all(map(math.isnan, compiled(a)))


def test_threads_and_starts() -> None:
    rng = np.random.default_rng(3)
    a = np.where(rng.random(50000) < 0.5, -0.0, -1.0)
    compiled = [jit_grad(extremes, threads=n) for n in (1, 2, 3)]
    from_a_start = jit_grad(with_a_start, threads=2)
    for values in (a, -a, np.where(a < 0, 0.0, a)):
        found = {tuple(map(float.hex, f(values))) for f in compiled}
        assert len(found) == 1
        started = from_a_start(values)
        expected = exact([*values, -0.0]), exact([*values, 0.0])
        assert started[:2] == (expected[0][0], expected[1][1])


def test_gradients() -> None:
    a = np.array([[0.0, -1.0, -0.0], [-3.0, 0.5, 2.0]])
    f = jit_grad(lambda a: np.max(a) * np.min(a) + np.sum(np.max(a, axis=1)))
    np.testing.assert_allclose(adc.grad(f)(a), [[1.0, 0.0, 0.0], [2.0, 0.0, -2.0]])


def test_the_loops_are_taken() -> None:
    compiled = jit_grad(extremes)
    compiled(np.ones(3))
    assert "adc.signs_apart" in compiled.dump_ir("lowered")
