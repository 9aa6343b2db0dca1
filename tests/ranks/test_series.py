"""Series of numbers, one per step, that happen to have about as many elements as the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, mpi
from tests.ranks.stencils import bits

N = 9


def stirred(u0: Any, data: Any, steps: Any) -> Any:
    """Steps with a source: the arrays change places."""
    u = u0.copy()
    v = u0.copy()
    for t in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = 0.5 * u[i] + 0.2 * u[i + 1] * u[i - 1]
        v[1] += data[t]
        u, v = v, u
    return np.sum(u * u)


def fed(u0: Any, data: Any, steps: Any) -> Any:
    """Steps in one array, and nothing but a source."""
    u = u0.copy()
    for t in range(steps):
        u[4] += 0.5 * data[t]
    return np.sum(u * u)


def recorded(u0: Any, data: Any, steps: Any) -> Any:
    """Steps with a receiver."""
    u = u0.copy()
    v = u0.copy()
    total = 0.0
    for t in range(steps):
        v[1:-1] = 0.5 * u[1:-1] + 0.2 * u[2:] * u[:-2]
        u, v = v, u
        total += (u[3] - data[t]) ** 2
    return total


@pytest.mark.parametrize("f", [stirred, fed, recorded])
def test_series_of_about_the_extent_of_the_grid(f: Any) -> None:
    rng = np.random.default_rng(0)
    g = jit_grad(argnums=(0, 1))(f)
    for m in (N - 2, N):
        u0, data, du, dd = rng.random(N), rng.random(m), rng.random(N), rng.random(m)

        def run(u0: Any = u0, data: Any = data) -> Any:
            grid = adc.Grid(u0.shape)
            value, bars = adc.distribute(g, grid).value_and_grad(u0, data, 3)
            return value, *map(grid.gather, bars)

        found = [each for count in (1, 2, 3, 5) for each in mpi.simulate(count, run)]
        h = 1e-6
        slope = (f(u0 + h * du, data + h * dd, 3) - f(u0 - h * du, data - h * dd, 3)) / (2 * h)
        assert found[0][0] == pytest.approx(f(u0, data, 3), rel=1e-14)
        assert found[0][1] @ du + found[0][2] @ dd == pytest.approx(slope, rel=1e-7)
        assert len({bits(each) for each in found}) == 1, m
