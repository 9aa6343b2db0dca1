"""Minima and maxima that loops carry, with equal candidates: np.minimum shares derivatives between equal operands."""

import math

import numpy as np
import pytest

from adc import jit_grad


def least(x, start):
    best = start
    for k in range(len(x)):
        best = np.minimum(best, x[k] * x[k])
    return 3.0 * best


def greatest(x, start):
    best = start
    for k in range(1, len(x), 2):
        best = np.maximum(x[k] * x[k], best)
    return best * best


def columns(x, start):
    best = np.full(len(x), start)
    for k in range(x.shape[1]):
        s = np.zeros(len(x))
        for j in range(2):
            s += (x[:, k] - j) ** 2
        best = np.minimum(best, s)
    return np.sum(best * best)


def exponentials(x, start):
    best = start
    for k in range(len(x)):
        best = np.maximum(best, np.exp(x[k]))
    return best


def shares(terms, start, extreme):
    """The derivatives of a chain of extremes by its terms and its start value."""
    given, running = np.zeros(len(terms) + 1), start
    given[-1] = 1.0
    for k, term in enumerate(terms):
        new = extreme(running, term)
        weights = [0.0, 0.0]
        if not math.isnan(new):
            weights = [0.5 * (v == new) * (1 + (running != term)) for v in (running, term)]
        given *= weights[0]
        given[k] = weights[1]
        running = new
    return given[:-1], given[-1], running


TIES = [
    [1.0, 2.0, 3.0], [3.0, 1.0, 2.0, 1.0], [1.0, -1.0, 1.0, 1.0], [2.0, 2.0, 1.0, 5.0, -1.0], [2.0], [],
    [0.0, -0.0], [3.0, math.nan, 1.0], [1.0, 1.0, math.nan], [math.inf, math.inf], [1.5, 1.5, 1.5, 1.5, 1.5],
]  # fmt: skip


@pytest.mark.parametrize("start", [math.inf, 1.0, 2.25, 0.0])
def test_least(start):
    compiled = jit_grad(argnums=(0, 1))(least)
    for x in map(np.array, TIES):
        weights, of_start, best = shares(x * x, start, np.minimum)
        value, (by_x, by_start) = compiled.value_and_grad(x.astype(float), start)
        np.testing.assert_array_equal(value, 3.0 * best)
        with np.errstate(invalid="ignore"):
            expected = np.where(weights == 0.0, 0.0, 3.0 * weights * 2.0 * x)
        np.testing.assert_array_equal(by_x, expected)
        np.testing.assert_array_equal(by_start, 3.0 * of_start)


def test_greatest_of_every_second():
    compiled = jit_grad(argnums=(0, 1))(greatest)
    for x in (np.array([9.0, 1.0, 9.0, 2.0, 0.0, -2.0, 7.0, 2.0]), np.array([1.0, 0.5, 0.0])):
        weights, of_start, best = shares(x[1::2] ** 2, 0.25, np.maximum)
        value, (by_x, by_start) = compiled.value_and_grad(x, 0.25)
        expected = np.zeros_like(x)
        expected[1::2] = 2.0 * best * weights * 2.0 * x[1::2]
        assert value == best * best
        np.testing.assert_array_equal(by_x, expected)
        assert by_start == 2.0 * best * of_start
        tangent = compiled.jvp((x, 0.25), (np.ones_like(x), 1.0))[1]
        assert tangent == pytest.approx(expected.sum() + by_start)


@pytest.mark.parametrize("n", [1, 5, 70])
def test_columns_of_arrays(n):
    x = np.random.default_rng(n).integers(-2, 3, (n, 6)).astype(float)  # many are equal
    compiled = jit_grad(columns)
    value, by_x = compiled.value_and_grad(x, np.inf)
    expected = np.zeros_like(x)
    total = 0.0
    for i, row in enumerate(x):
        weights, _, best = shares(row**2 + (row - 1.0) ** 2, math.inf, np.minimum)
        expected[i] = 2.0 * best * weights * (2.0 * row + 2.0 * (row - 1.0))
        total += best * best
    assert value == pytest.approx(total)
    np.testing.assert_allclose(by_x, expected, rtol=1e-14)
    np.testing.assert_array_equal(compiled.value_and_grad(x, np.inf)[1], by_x)


def test_terms_that_may_have_other_bits():
    x = np.array([0.3, 1.7, 1.7, -2.0])
    np.testing.assert_allclose(jit_grad(exponentials).grad(x, 0.0), [0.0, np.exp(1.7) / 2, np.exp(1.7) / 2, 0.0])
