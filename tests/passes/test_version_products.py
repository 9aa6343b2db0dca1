"""VersionProducts: products that one loop reads, for sums of few terms and of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc.passes.analysis.machine import machine

pytestmark = pytest.mark.usefixtures("stages")

RNG = np.random.default_rng(8)


def nearest(x: Any, y: Any) -> Any:
    squares = np.sum(x**2, axis=1)[:, None] - 2.0 * x @ y.T + np.sum(y**2, axis=1)
    return np.sum(np.min(squares, axis=1))


def kernel(x: Any, y: Any) -> Any:
    squares = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1)[None, :] - 2.0 * (x @ y.T)
    return np.sum(np.exp(-0.1 * squares))


def largest(x: Any, y: Any) -> Any:
    return np.max(x @ y.T, axis=1) @ x[:, 0]


def in_a_function(x: Any, y: Any) -> Any:
    def squares(a: Any) -> Any:
        return np.sum((a @ y.T - 1.0) ** 2, axis=1)

    z = squares(x)
    return np.sum(z * squares(x + 1.0)) if len(x) > 1 else z.sum()


def written_between(x: Any, y: Any) -> Any:
    a = x.copy()
    products = a @ y.T
    a[:] = 0.0
    return np.sum(np.min(products, axis=1)) + a.sum()


def filled_with_another(x: Any, y: Any) -> Any:
    """One loop makes both arrays, of which one is written before the product is read."""
    a = x.copy()
    doubled = 2.0 * a
    a += 1.0
    return np.sum(np.min(doubled @ y.T, axis=1) * a.sum(axis=1))


def in_steps(x: Any, y: Any) -> Any:
    for _ in range(2):
        w = np.exp(0.1 * x @ y.T)
        x = x + (w / w.sum(axis=1)[:, None]) @ y
    return np.sum(x * x)


def of_a_copy(x: Any, y: Any) -> Any:
    x = x.copy()
    squares = 0.1 * np.sum(x**2, axis=1)[:, None] - 0.2 * x @ y.T
    return np.sum(y[0, 0] * np.exp(squares).sum(axis=1))


FUNCTIONS = nearest, kernel, largest, in_a_function, written_between, filled_with_another, in_steps, of_a_copy


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    compiled = adc.jit_grad(argnums=(0, 1), threads=1)(function)
    two = adc.jit_grad(argnums=(0, 1), threads=2)(function)
    few = machine().few_terms
    for n, k, d in ((5, 3, 2), (60, 30, few), (53, 7, few + 1), (1, 40, 3), (9, 1, 1), (0, 2, 3), (4, 2, 0)):
        x, y = RNG.normal(size=(n, d)), RNG.normal(size=(d, k)).T
        if function in (largest, of_a_copy) and d == 0:
            continue
        value, (x_bar, y_bar) = compiled.value_and_grad(x, y)
        np.testing.assert_allclose(value, function(x, y), rtol=1e-11, atol=1e-11)
        again = two.value_and_grad(x, y)
        np.testing.assert_array_equal(again[0], value)
        np.testing.assert_array_equal(np.concatenate(again[1]), np.concatenate((x_bar, y_bar)))
        u, v = RNG.normal(size=x.shape), RNG.normal(size=y.shape)
        h = 1e-5
        slope = (function(x + h * u, y + h * v) - function(x - h * u, y - h * v)) / (2 * h)
        np.testing.assert_allclose(np.sum(x_bar * u) + np.sum(y_bar * v), slope, rtol=1e-6, atol=1e-6)
        tangent = adc.jvp(compiled, (x, y), (u, v))
        np.testing.assert_allclose(tangent[1], slope, rtol=1e-6, atol=1e-6)


def test_numbers_that_are_not_finite() -> None:
    compiled = adc.jit_grad(nearest)
    for d in (3, machine().few_terms + 1):
        x, y = RNG.normal(size=(7, d)), RNG.normal(size=(4, d))
        x[2, 1], x[3, 0] = np.nan, np.inf
        np.testing.assert_array_equal(compiled(x, y), nearest(x, y))
