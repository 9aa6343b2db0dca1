"""Assignments between slices of one array: the right side is read before anything is written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adc


@adc.jit_grad
def copied(c, lower, upper, step, start, stop, stride):
    c[lower:upper:step] = c[start:stop:stride]
    return np.sum(c * c * c)


@adc.jit_grad
def copied_twice(c, w):
    c[::2] = c[0:4]
    for _ in range(2):
        c[1:] = c[:-1]
        c[:5] = c[6:1:-1]
    return np.sum(w * c)


STEPS = st.sampled_from([-3, -2, -1, 1, 2, 3])


@given(st.integers(1, 9), STEPS, STEPS, st.integers(0, 11), st.integers(0, 11))
@settings(max_examples=60, deadline=None)
def test_values_and_gradients_between_any_two_slices(count: int, step: int, stride: int, at: int, source: int) -> None:
    size = 12

    def window(first: int, by: int, n: int) -> tuple[int, int, int]:
        """Bounds of ``n`` elements from ``first`` on that never count from the end."""
        after = first + by * n
        return (first, after if after >= 0 else -size - 1, by)

    room = [(size - 1 - first if by > 0 else first) // abs(by) + 1 for first, by in ((at, step), (source, stride))]
    n = min(count, *room)
    bounds = (*window(at, step, n), *window(source, stride, n))
    c = np.linspace(-1.0, 1.3, size)

    expected = c.copy()
    # Not NumPy's own copy, which between overlapping slices with different steps reads what it has written.
    expected[slice(*bounds[:3])] = c[slice(*bounds[3:])].copy()
    got = c.copy()
    assert copied(got, *bounds) == pytest.approx(np.sum(expected**3), rel=1e-14)
    assert np.array_equal(got, expected)

    gradient = np.zeros(size)
    origin = np.arange(size)
    origin[slice(*bounds[:3])] = np.arange(size)[slice(*bounds[3:])]
    np.add.at(gradient, origin, 3 * expected**2)
    assert copied.grad(c, *bounds) == pytest.approx(gradient, rel=1e-13)


def test_several_in_a_row_and_in_a_loop() -> None:
    rng = np.random.default_rng(0)
    c, w = rng.standard_normal(8), rng.standard_normal(8)
    origin = np.arange(8)
    origin[::2] = origin[0:4].copy()
    for _ in range(2):
        origin[1:] = origin[:-1].copy()
        origin[:5] = origin[6:1:-1].copy()
    assert copied_twice(c.copy(), w) == pytest.approx(np.sum(w * c[origin]), rel=1e-14)
    gradient = np.zeros(8)
    np.add.at(gradient, origin, w)
    assert copied_twice.grad(c, w) == pytest.approx(gradient, rel=1e-13)
