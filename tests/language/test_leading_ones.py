"""Stores that drop leading dimensions of length one, as NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import CompileError

X = np.arange(1.0, 6.0)


def row(x):
    d = np.zeros(5)
    d[:] = x[None, :]
    return d


def several(x):
    d = np.zeros(5)
    d[:] = x[None, None, :] * 2.0
    return d


def of_a_made_array(x):
    y = np.ones((1, 1, 5)) * x
    d = np.zeros(5)
    d[...] = y
    return d


def into_a_row(x):
    d = np.zeros((2, 5))
    d[1] = x[None, None, :]
    d[:, 2] = np.full((1, 2), x[0])
    return d


def stretched_too(x):
    d = np.zeros((3, 5))
    d[:] = x[None, None, :]
    d[1:] = (x[:1] * 3.0)[None, None, None, :]
    return d


def part(x):
    d = np.zeros(5)
    d[::2] = x[None, 1:4]
    return d


def backwards(x):
    d = np.zeros(5)
    d[::-1] = (x * x)[None, :]
    return d


def of_itself(x):
    d = x.copy()
    d[1:] = d[None, :-1]
    return d


def run_time_extents(x):
    y = np.zeros((len(x) - 4, len(x)))
    y[:] = x
    d = np.zeros(len(x))
    d[:] = y
    d[:] = y + d[None, :]
    return d


def of_length_one(x):
    d = np.zeros(1)
    d[:] = x[None, None, :1]
    return d


def method_fill(x):
    d = np.zeros((2, 2))
    d[:, :] = x[:2][None, None, :]
    return d


PROGRAMS = [
    row, several, of_a_made_array, into_a_row, stretched_too, part, backwards, of_itself, run_time_extents,
    of_length_one, method_fill,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_gradients(fn: Any, dtype: Any) -> None:
    def squared(x):
        return np.sum(fn(x) * fn(x))

    x, h = X.astype(dtype), 1e-5
    assert np.array_equal(jit_grad(fn)(x), fn(x))
    if dtype is np.float64:
        difference = [(squared(x + h * e) - squared(x - h * e)) / (2 * h) for e in np.eye(5)]
        assert np.allclose(adc.grad(squared)(x), difference, rtol=1e-6)


def test_other_shapes_raise_what_numpy_raises() -> None:
    def f(d, y):
        d[:] = y
        return d[0]

    compiled = jit_grad(f)
    assert compiled(np.zeros(3), np.array([[1.0, 2.0, 3.0]])) == 1.0
    for d, y in ((np.zeros(3), np.zeros((2, 3))), (np.zeros(3), np.zeros((0, 3))), (np.zeros(3), np.zeros((1, 2)))):
        with pytest.raises(ValueError) as expected:
            f(d, y)
        with pytest.raises(ValueError) as found:
            compiled(d, y)
        assert str(expected.value) in str(found.value)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_lengths(n: int) -> None:
    def f(d, y):
        d[:] = y[None, :] + y

    d, expected, y = np.zeros(n), np.zeros(n), np.arange(1.0, n + 1)
    jit_grad(f)(d, y)
    f(expected, y)
    assert np.array_equal(d, expected)


def by_name(d, y):
    d += y[None, :]


def by_slice(d, y):
    d[:] += y[None, :]


def many_rows(d, y):
    d[:] = np.ones((2, 3)) * y


@pytest.mark.parametrize("fn", [by_name, by_slice, many_rows], ids=lambda f: f.__name__)
def test_what_numpy_does_not_take_is_refused(fn: Any) -> None:
    with pytest.raises(ValueError):
        fn(np.zeros(3), np.ones(3))
    with pytest.raises(CompileError, match=r"1-D float64 array") as caught:
        jit_grad(fn)(np.zeros(3), np.ones(3))
    assert isinstance(caught.value, ValueError) and caught.value.help
