"""Subscripts that wrap around or are clamped at borders, on several ranks: plain Python's values, one rank's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, mpi
from tests.ranks.stencils import bits


def wraps(u: Any) -> Any:
    n = len(u)
    v = np.zeros(n)
    for i in range(n):
        v[i] = u[i] * u[(i + 1) % n] - 2.0 * u[(i - 2) % n]
    return np.sum(v * v)


def clamped(u: Any) -> Any:
    n = len(u)
    v = np.zeros(n)
    for i in range(n):
        v[i] = u[i] * u[min(i + 1, n - 1)] - 2.0 * u[max(i - 1, 0)] * u[max(0, i - 2)]
    return np.sum(v * v)


def from_the_end(u: Any) -> Any:
    v = np.zeros_like(u)
    for i in range(len(u)):
        v[i] = u[i] * u[i - 1]
    return np.sum(v * v)


def rolled(u: Any) -> Any:
    v = np.roll(u, 1) * np.roll(u, -2)
    return np.sum(v * v)


def ring(u: Any) -> Any:
    """Steps in time: cells of a ring."""
    n = len(u)
    v = u.copy()
    for _ in range(3):
        w = np.empty_like(v)
        for i in range(n):
            w[i] = v[i] + 0.1 * v[i] * (v[(i + 1) % n] - v[i - 1])
        v = w
    return np.sum(v * v)


def on_ranks(count: int, f: Any, x: Any) -> list[Any]:
    def run() -> Any:
        grid = adc.Grid(x.shape)
        value, gradient = adc.distribute(f, grid).value_and_grad(x)
        return value, grid.gather(gradient)

    return mpi.simulate(count, run)


@pytest.mark.parametrize("f", [wraps, clamped, from_the_end, rolled, ring])
def test_values_and_gradients_are_those_of_python_on_any_number_of_ranks(f: Callable[..., Any]) -> None:
    g = jit_grad(f)
    rng = np.random.default_rng(0)
    x, direction = rng.random(13), rng.random(13)
    (one,) = on_ranks(1, g, x)
    slope = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    assert one[0] == pytest.approx(f(x), rel=1e-14)
    assert one[1] @ direction == pytest.approx(slope, rel=1e-7)
    for count in (2, 3, 4, 6):
        assert {bits(found) for found in on_ranks(count, g, x)} == {bits(one)}, count


def test_short_arrays() -> None:
    """Blocks of one element, and ranks that have none; or a refusal, when it is found that there is too little."""
    for f in (wraps, clamped, from_the_end):
        g = jit_grad(f)
        for n in range(1, 8):
            x = np.linspace(0.3, 1.7, n)
            value = f(x)
            for count in (2, 5):
                try:
                    found = on_ranks(count, g, x)
                except ValueError as error:
                    assert n < 7, error
                    continue
                assert all(each[0] == pytest.approx(value, rel=1e-13) for each in found), (f, n, count)
                np.testing.assert_allclose(found[0][1], g.grad(x), rtol=1e-12)
