"""Calls of ``np.block``, ``np.piecewise`` and ``np.meshgrid`` with nothing, and with views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc

Array = Any
X = np.array([1.0, 2.0])


def no_blocks(x: Array) -> Array:
    return np.block([x for k in range(0)])


def empty_row(x: Array) -> Array:
    return np.block([[x], [x for k in range(0)]])


def no_rows(x: Array) -> Array:
    return np.block([[x] for k in range(len(x) - 2)])


def no_conditions(x: Array) -> Array:
    return np.piecewise(x, [], [3.0])


def no_points(x: Array) -> Array:
    return np.piecewise(x[2:], x[2:] > 0.0, [3.0])


@pytest.mark.parametrize("program", [no_blocks, empty_row, no_rows, no_conditions, no_points])
def test_nothing(program: Any) -> None:
    with pytest.raises((ValueError, IndexError)) as expected:
        program(X)
    with pytest.raises(expected.type, match=str(expected.value).replace("[", "\\[")):
        adc.jit_grad(program)(X)


def test_conditions() -> None:
    def of_a_list(x: Array) -> Array:
        return np.piecewise(x, [True, False], [5.0, 6.0])

    def of_an_array(x: Array) -> Array:
        return np.piecewise(x, np.array([x < 1.5, x > 1.7]), [lambda t: -t, lambda t: t * t])

    def with_another(x: Array) -> Array:
        return np.piecewise(x, [x < 1.5, x > 2.5], [lambda t: -t, lambda t: t * t, 9.0])

    for program in (of_a_list, of_an_array, with_another):
        for x in (X, X + 0.6):
            assert np.array_equal(adc.jit_grad(program)(x), program(x))
    assert np.array_equal(adc.grad(lambda x: np.sum(of_an_array(x)))(X), [-1.0, 4.0])


def test_grids_of_views() -> None:
    def written_later(x: Array, copy: bool) -> Array:
        a, b = np.meshgrid(x, x, copy=copy, sparse=True)
        x[0] = 7.0
        return a + b

    for copy in (True, False):
        assert np.array_equal(adc.jit_grad(written_later)(X.copy(), copy), written_later(X.copy(), copy))
    with pytest.raises(adc.errors.CompileError, match="copy=False is not supported") as caught:
        adc.jit_grad(lambda x: np.meshgrid(x, x, copy=False)[0])(X)
    assert "leave copy=False out" in str(caught.value)
