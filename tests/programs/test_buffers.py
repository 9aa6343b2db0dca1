"""Pullbacks through loops with few swaps of buffers, where the tape records which buffer was which."""

from __future__ import annotations

import numpy as np
import pytest

import adc


def swapped(x, a, n):
    u = np.zeros(4)
    v = u[::-1]
    for _ in range(n, 5):
        v, u = u, v
    for _ in range(1, 5, 2):
        for k in range(4):
            u[k] = 0.5 * u[k] + x * a[k]
        v, u = u, v
    return u[0] + 2.0 * v[1]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_two_swaps_after_some(n: int) -> None:
    a = np.arange(1.0, 5.0)
    value, back = adc.jit_grad(swapped).pullback(0.7, a.copy(), n)
    x_bar, a_bar, n_bar = back(1.0)
    assert value == pytest.approx(swapped(0.7, a, n), rel=1e-15) and n_bar is None
    # The function is linear in x and in a.
    assert x_bar == pytest.approx(swapped(1.0, a, n), rel=1e-14)
    for k in range(4):
        assert a_bar[k] == pytest.approx(swapped(0.7, np.eye(4)[k], n), rel=1e-14, abs=1e-15)
