"""``f(*x)`` of functions of Python and NumPy for any number of items, and what is said where there are too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc

Array = Any


def greatest(x: Array) -> Array:
    return max(*x)


def least_or_one(x: Array) -> Array:
    return min(*x, default=1.0)


def of_two_or_one(x: Array) -> Array:
    return max(x[0], x[1], key=lambda v: -v, default=1.0)


def of_nothing(x: Array) -> Array:
    return x[0] + min()


TWO = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("program", "x", "message"),
    [
        (greatest, np.ones(0), "max expected at least 1 argument, got 0"),
        (of_nothing, TWO, "min expected at least 1 argument, got 0"),
        (least_or_one, TWO, r"Cannot specify a default for min\(\) with multiple positional arguments"),
        (of_two_or_one, TWO, r"Cannot specify a default for max\(\) with multiple positional arguments"),
    ],
)
def test_wrong_calls_of_extremes(program: Any, x: Array, message: str) -> None:
    for function in (program, adc.jit_grad(program)):
        with pytest.raises(TypeError, match=message):
            function(x)


def test_the_third_row_is_the_array_for_the_results() -> None:
    def total(x: Array) -> Array:
        y = 2.0 * x
        np.add(*y)
        return np.sum(y * y)

    x = np.arange(1.0, 7.0)
    for rows in (x.reshape(3, 2), x[:4].reshape(2, 2)):
        assert adc.jit_grad(total)(rows) == pytest.approx(total(rows), rel=1e-14)
        step = [[(total(rows + d) - total(rows - d)) / 2 for d in each] for each in _units(rows.shape)]
        np.testing.assert_allclose(adc.grad(total)(rows), step, rtol=1e-12)  # of a polynomial of degree two


def _units(shape: tuple[int, int]) -> Array:
    return np.eye(shape[0] * shape[1]).reshape(*shape, *shape)


def test_bounds_of_clip() -> None:
    def function(x: Array) -> Array:
        return np.clip(*x)

    rows = np.array([[1.0, 5.0], [2.0, 2.0], [3.0, 3.0]])
    assert np.array_equal(adc.jit_grad(function)(rows), function(rows))
    with pytest.raises(TypeError, match="a_max"):
        adc.jit_grad(function)(rows[:2])

    def method(x: Array) -> Array:
        return x.clip(1.5), x.clip(0.0, max=1.5), x.clip(max=1.5), x[1].clip(3.0)

    for got, expected in zip(adc.jit_grad(method)(TWO), method(TWO), strict=True):
        assert np.array_equal(got, expected)


def _sum_of_two(a: Any, b: float = 1.0) -> Any:
    return a + b


def _first(*a: Any) -> Any:
    return a[0]


def test_the_reason_is_that_of_the_call_with_these_sizes() -> None:
    def too_many(x: Array) -> Array:
        return _sum_of_two(*x)

    def very_many(x: Array) -> Array:
        return _first(*x)

    assert adc.jit_grad(too_many)(TWO) == 3.0
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        adc.jit_grad(too_many)(np.ones(3))
    with pytest.raises(adc.errors.CompileError, match="an array of 70 items is not taken apart") as caught:
        adc.jit_grad(very_many)(np.ones(70))
    assert "loop over it" in str(caught.value)
