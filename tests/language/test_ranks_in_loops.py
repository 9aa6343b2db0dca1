"""Arrays whose number of dimensions changes in a loop with a small, known trip count."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc.errors import CompileError
from tests.programs.harness import check

V = np.array([0.3, -0.7, 1.1, 0.4])


def stacked(v):
    y = v
    for k in range(2):
        y = np.stack([y, (k + 2) * y * y])
    return np.sum(y * y.T[0, 0, 0])


def summed(v):
    m = np.outer(v, v[:3])[:, :, None] * v
    for k in range(3):
        m = np.sin(m).sum(axis=0) * (k + 1)
    return m


def shorter(v):
    for k in range(1, 3):
        v = v[k:] * v[:-k]
    return v


@pytest.mark.parametrize("fn", [stacked, summed, shorter], ids=lambda f: f.__name__)
def test_values_and_gradients(fn):
    check(fn, (V,))


def test_trips_that_are_not_known():
    def f(v, n):
        for _ in range(n + int(0.0 * v[0])):
            v = v[None]
        return v.sum()

    with pytest.raises(CompileError, match="the numbers of dimensions differ"):
        adc.jit_grad(f)(V, 2)


def test_trips_that_an_argument_says():
    def f(v, n):
        for _ in range(n):
            v = v[None]
        return v * 2.0

    np.testing.assert_array_equal(adc.jit_grad(f)(V, 2), f(V, 2))
