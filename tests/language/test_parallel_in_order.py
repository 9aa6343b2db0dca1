"""What iterations of ``prange`` combine by other operations than sums: numbers as reductions, arrays in order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import CompileError


def product_in_place(x, n):
    r = np.ones(3)
    for i in prange(n):
        r *= x * (i + 1.0)
    return np.sum(r)


def product_made_anew(x, n):
    r = np.array([1.0, x, 2.0])
    first = r
    for i in prange(n):
        r = r * (x * (i + 1.0))
    return np.sum(r) + np.sum(first)


def minimum_of_arrays(x, n):
    r = np.full(3, 9.0)
    for i in prange(n):
        r = np.minimum(r, np.array([x, 2.0, 0.5 * x]) * i - 0.3 * i * i)
    return np.sum(r)


def maximum_under_a_condition(x, n):
    r = np.full(3, -9.0)
    for i in prange(n):
        if i % 2:
            r = np.maximum(x * i * np.ones(3), r)
    return np.sum(r)


def maximum_of_a_matrix(x, n):
    r = np.zeros((2, 3))
    for i in prange(n):
        t = np.sin(x * (i + np.arange(3.0)))
        r = np.maximum(r, t)
    return np.sum(r * r)


def numbers_by_numpy(x, n):
    m, k = np.float64(9.0), -9.0
    for i in prange(n):
        m = np.minimum(m, x - i)
        k = np.maximum(x * i, k)
    return m * k


def of_several_arguments(x, n):
    m, k = -9.0, 9.0
    for i in prange(n):
        m = max(x * i, m, x)
        k = min(x, 2.0 - i * x, k)
    return m * k


PROGRAMS = [
    product_in_place, product_made_anew, minimum_of_arrays, maximum_under_a_condition, maximum_of_a_matrix,
    numbers_by_numpy, of_several_arguments,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn: Any) -> None:
    compiled, h = adc.value_and_grad(fn), 1e-6
    for x, n in ((0.7, 0), (0.7, 1), (0.7, 4), (-1.3, 5)):
        value, gradient = compiled(x, n)
        assert np.isclose(value, fn(x, n), rtol=1e-14), (x, n)
        assert np.isclose(gradient, (fn(x + h, n) - fn(x - h, n)) / (2 * h), rtol=1e-6, atol=1e-7), (x, n)
        assert np.isclose(gradient, adc.jvp(fn, (x, n), (1.0, None))[1], rtol=1e-13), (x, n)


def test_nan_as_numpy() -> None:
    def smallest(a):
        m = 9.0
        for i in prange(len(a)):
            m = np.minimum(m, a[i])
        return m

    a = np.array([1.0, math.nan, 0.5])
    assert math.isnan(jit_grad(smallest)(a)) and math.isnan(smallest(a))


def combined_in_two_ways(x, n):
    r = np.ones(3)
    for i in prange(n):
        r = r * x
        r = np.maximum(r, i)
    return np.sum(r)


def read_in_the_loop(x, n):
    r, s = np.ones(3), 0.0
    for i in prange(n):
        r = np.maximum(r, x * i)
        s += r[0]
    return s


def own_function(x, n):
    r = 1.0
    for i in prange(n):
        r = larger(r, x * i)
    return r


def larger(a, b):
    return a if a > b else b


@pytest.mark.parametrize("fn", [combined_in_two_ways, read_in_the_loop, own_function], ids=lambda f: f.__name__)
def test_what_stays_refused(fn: Any) -> None:
    with pytest.raises(CompileError) as caught:
        jit_grad(fn)(0.7, 4)
    assert caught.value.kind == "carried-variable" and caught.value.help
