"""Sums whose terms an iteration also uses for something else are added where they are computed, not in another nest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad


def scaled(x, w, b):
    """One row for all rows, of two or three dimensions."""
    return np.sum(np.sqrt(1.0 + (x * w + b) ** 2))


def kept(x, w, b):
    """The rows of another array are made in the same nest."""
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = np.sin(x[i, j] * w[j]) / (1.5 + b[j])
    return np.sum(y * y)


def steps(x, w, b):
    """The nests are in a loop over time, in which what is added to is used."""
    y = x.copy()
    for t in range(3):
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = np.sin(y[i, j] * w[j]) + b[j] * np.exp(-y[i, j])
        w = w * (1.0 + 0.1 * t)
    return np.sum(y)


SHAPES = [(1024, 4), (3, 700), (130, 65), (0, 5)]


def check(function: Any, args: tuple[Any, ...], rtol: float = 1e-12) -> None:
    """Each partial derivative against complex steps."""
    rng = np.random.default_rng(7)
    for k, gradient in enumerate(function.grad(*args)):
        assert gradient.dtype == args[k].dtype
        direction = rng.uniform(0.5, 1.0, args[k].shape)
        moved = [np.asarray(a, np.complex128) for a in args]
        moved[k] = moved[k] + 1e-30j * direction
        slope = float(np.imag(function.__wrapped__(*moved))) / 1e-30
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=rtol, abs=rtol)


def of_all(function: Callable[..., Any], threads: int = 1) -> Any:
    return jit_grad(argnums=(0, 1, 2), threads=threads)(function)


@pytest.mark.parametrize("program", [scaled, kept, steps])
def test_gradients_for_rows_of_many_lengths(program: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    function = of_all(program)
    for shape in SHAPES:
        w, b = rng.uniform(0.2, 1.0, (2, shape[1]))
        check(function, (rng.uniform(0.2, 1.0, shape), w, b))


def test_the_same_bits_on_any_number_of_threads() -> None:
    rng = np.random.default_rng(6)
    args = rng.uniform(0.2, 1.0, (3000, 6)), rng.uniform(0.2, 1.0, 6), rng.uniform(0.2, 1.0, 6)
    value, gradients = of_all(scaled).value_and_grad(*args)
    other, found = of_all(scaled, threads=3).value_and_grad(*args)
    assert value == other
    for one, two in zip(gradients, found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("row", [(1, 1, 3), (40, 1, 3)])
def test_three_dimensions(row: tuple[int, ...]) -> None:
    """The loops that are summed over are one loop if the row is the same in both."""
    rng = np.random.default_rng(2)
    function = of_all(scaled)
    for first in (60, 2):
        shape = (first, 40, 3)
        fits = (first if row[0] == 40 else 1, *row[1:])
        check(function, (rng.uniform(0.2, 1.0, shape), rng.uniform(0.2, 1.0, fits), rng.uniform(0.2, 1.0, fits)))


def test_float32_and_arrays_with_strides() -> None:
    rng = np.random.default_rng(3)
    wide = rng.uniform(0.2, 1.0, (200, 14))
    check(of_all(scaled), (wide[::-2, ::2], rng.uniform(0.2, 1.0, 7), rng.uniform(0.2, 1.0, 14)[::-2]))
    single = wide.astype(np.float32)
    check(of_all(scaled), (single, single[0].copy(), single[1].copy()), rtol=2e-6)


def test_forward_and_reverse_mode_agree_in_second_order() -> None:
    rng = np.random.default_rng(4)
    x, w, b = rng.uniform(0.2, 1.0, (80, 5)), rng.uniform(0.2, 1.0, 5), rng.uniform(0.2, 1.0, 5)
    _, along = adc.jvp(lambda w: adc.grad(scaled, argnums=1)(x, w, b), (w,), (np.ones(5),))
    step = 1e-6
    gradient = adc.grad(scaled, argnums=1)
    np.testing.assert_allclose(along, (gradient(x, w + step, b) - gradient(x, w - step, b)) / (2 * step), rtol=1e-7)


def test_terms_are_added_where_they_are_computed() -> None:
    function = of_all(scaled)
    function.value_and_grad(*(np.ones(n) for n in ((80, 5), 5, 5)))
    text = str(function.report())
    assert "private" in text and "interchange" not in text
