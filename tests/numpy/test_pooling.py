"""Maxima and minima of small windows, in many spellings: values, and derivatives at the first of equal extremes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc

Array = np.ndarray[Any, Any]
WEIGHTS = np.arange(1.0, 7.0).reshape(2, 3)


def by_reshape(x: Array, c: Array) -> Any:
    return np.sum(x.reshape(2, 2, 3, 2).max(axis=(1, 3)) * c)


def by_unknown_extents(x: Array, c: Array) -> Any:
    h, w = x.shape
    return np.sum(x.reshape(h // 2, 2, w // 2, 2).max(axis=(1, 3)) * c)


def one_axis_after_the_other(x: Array, c: Array) -> Any:
    h, w = x.shape
    return np.sum(x.reshape(h // 2, 2, w).max(axis=1).reshape(h // 2, w // 2, 2).max(axis=2) * c)


def by_loops(x: Array, c: Array) -> Any:
    total = 0.0
    for i in range(x.shape[0] // 2):
        for j in range(x.shape[1] // 2):
            total += np.max(x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]) * c[i, j]
    return total


def by_windows(x: Array, c: Array) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2))[::2, ::2]
    return np.sum(windows.max(axis=(-2, -1)) * c)


def minima(x: Array, c: Array) -> Any:
    h, w = x.shape
    return np.sum(-(-x).reshape(h // 2, 2, w // 2, 2).min(axis=(1, 3)) * c)


def with_channels(x: Array, c: Array) -> Any:
    h, w = x.shape
    return np.sum(x.reshape(h // 2, 2, w // 2, 2, 1).max(axis=(1, 3))[:, :, 0] * c)


def with_initial(x: Array, c: Array) -> Any:
    h, w = x.shape
    return np.sum(np.max(x.reshape(h // 2, 2, w // 2, 2), axis=(1, 3), initial=0.5) * c)


def of_functions(x: Array, c: Array) -> Any:
    h, w = x.shape
    return np.sum((2 * x).reshape(h // 2, 2, w // 2, 2).max(axis=(1, 3)) * c)


FORMS: list[Callable[[Array, Array], Any]] = [
    by_reshape,
    by_unknown_extents,
    by_loops,
    by_windows,
    minima,
    with_channels,
    with_initial,
    of_functions,
]


def expected(x: Array, weights: Array, initial: float = -np.inf, scale: float = 1.0) -> Array:
    """The gradient: of each window the first of the greatest elements, or the first that is NaN, counts."""
    found = np.zeros_like(x)
    for i in range(2):
        for j in range(3):
            window = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            a, b = divmod(int(np.argmax(window)), 2)
            if not scale * window[a, b] <= initial:
                found[2 * i + a, 2 * j + b] = scale * weights[i, j]
    return found


def arrays(dtype: str) -> list[Array]:
    rng = np.random.default_rng(1)
    special = rng.normal(size=(4, 6))
    special[0, 1] = special[3, 2] = special[3, 3] = np.nan
    special[:2, 2:4] = -np.inf
    special[2, 4] = np.inf
    ties = rng.integers(0, 2, (4, 6)).astype(float)
    return [a.astype(dtype) for a in (rng.normal(size=(4, 6)), ties, special)]


@pytest.mark.parametrize("form", FORMS)
def test_windows(form: Callable[[Array, Array], Any]) -> None:
    compiled = adc.jit_grad(form)
    for dtype in ("float64", "float32") if form is by_reshape else ("float64",):
        for x in arrays(dtype)[: 2 if form is with_initial else 3]:
            c = WEIGHTS.astype(dtype)
            value, gradient = compiled.value_and_grad(x, c)
            np.testing.assert_allclose(value, form(x, c), rtol=1e-6)
            initial, scale = 0.5 if form is with_initial else -np.inf, 2.0 if form is of_functions else 1.0
            np.testing.assert_array_equal(gradient, expected(x, c, initial, scale))
            assert gradient.dtype == x.dtype
            direction = np.random.default_rng(2).normal(size=x.shape).astype(dtype)
            _, tangent = adc.jvp(compiled, (x, c), (direction, np.zeros_like(c)))
            np.testing.assert_allclose(tangent, np.sum(gradient * direction), rtol=1e-5)


def test_axes_one_after_the_other() -> None:
    x = arrays("float64")[0]
    gradient = adc.jit_grad(one_axis_after_the_other).grad(x, WEIGHTS)
    np.testing.assert_array_equal(gradient, expected(x, WEIGHTS))


def test_second_order_and_empty() -> None:
    def energy(x: Array) -> Any:
        return np.sum(x.reshape(len(x) // 3, 3).max(axis=1) ** 3)

    compiled = adc.jit_grad(energy)
    x = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 5.0])
    np.testing.assert_array_equal(adc.hvp(compiled, (x,), (np.ones(6),)), [0, 18, 0, 30, 0, 0])
    np.testing.assert_array_equal(compiled.grad(np.zeros(0)), np.zeros(0))
