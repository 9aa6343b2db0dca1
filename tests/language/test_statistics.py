"""Functions of Python's ``statistics``."""

from __future__ import annotations

import math
import statistics as st
from statistics import mean

import numpy as np
import pytest

from adc import jit_grad
from tests.language.as_in_python import NUMBERS, check


def moments(x):
    return (st.mean(x), st.fmean(x), st.stdev(x), st.pstdev(x), st.variance(x), st.pvariance(x, st.mean(x)))


def orders(x):
    fifths = st.quantiles(x, n=5, method="inclusive")
    return [st.median(x), st.median_low(x), st.median_high(x), *st.quantiles(x), *fifths]


def others(x):
    xs = [v for v in x if v > 0.1]
    weighted = st.fmean(x, weights=[1, 2, 3, 4, 5, 6][: len(x)])
    return st.geometric_mean(xs), st.harmonic_mean(xs), weighted, mean(v * v for v in x), st.median([3, 1, 2])


def pairs(x):
    y = x[::-1] ** 2 + np.arange(len(x))
    line = st.linear_regression(x, y)
    slope, _ = st.linear_regression(x, y, proportional=True)
    return st.covariance(x, y), st.correlation(x, y), line.slope, line.intercept, slope


@pytest.mark.parametrize("function", [moments, orders, others, pairs])
def test_values(function):
    compiled = jit_grad(function)
    for x in (NUMBERS, NUMBERS[:5], NUMBERS[::-2], NUMBERS + 1e7):
        assert compiled(x) == pytest.approx(function(x), rel=1e-14)


def test_derivatives():
    def spread(x):
        return st.stdev(x) + st.median(x) * st.mean(x) + st.correlation(x, x * x) + st.quantiles(x)[2]

    def summed(x):
        return sum(others(x)) * st.pvariance(x)

    compiled = jit_grad(spread)
    assert compiled(NUMBERS) == pytest.approx(spread(NUMBERS), rel=1e-14)
    for function in (spread, summed):
        steps = [(function(NUMBERS + 1e-6 * e) - function(NUMBERS - 1e-6 * e)) / 2e-6 for e in np.eye(6)]
        assert jit_grad(function).grad(NUMBERS) == pytest.approx(np.array(steps), rel=1e-6, abs=1e-8)


def test_exact_means():
    """Sums are rounded once, as Python's are."""
    x = np.array([1e16, 1.0, -1e16, 3.0])
    assert jit_grad(lambda v: st.fmean(v))(x) == st.fmean(x) == 1.0


def test_too_few():
    compiled = jit_grad(lambda x: st.mean(x))
    with pytest.raises(st.StatisticsError, match="mean requires at least one data point"):
        compiled(NUMBERS[:0])

    def guarded(x, least):
        try:
            return st.stdev([v for v in x if v > least])
        except st.StatisticsError:
            return -1.0

    compiled = jit_grad(guarded)
    for least in (0.0, 2.0):
        assert compiled(NUMBERS, least) == pytest.approx(guarded(NUMBERS, least), rel=1e-14)


SINGLE = [
    lambda x, y: (x[0] + st.fmean(y), x[0] + st.mean(y), x[0] + st.harmonic_mean(y), x[0] + math.fsum(y)),
    lambda x, y: (x[0] + st.variance(y), x[0] + st.pvariance(y, 0.5), x[0] + st.stdev(y), x[0] + st.fmean(y, y)),
    lambda x, y: (x[0] + st.covariance(y, y[::-1]), x[0] + st.linear_regression(y, y[::-1]).slope, x[0] + st.median(y)),
    lambda x, y: (x[0] + st.correlation(y, y[::-1]), x[0] + math.dist(y, y[::-1]), x[0] + st.mean([1, 2, 4])),
]


@pytest.mark.parametrize("function", SINGLE)
def test_types(function):
    """A Python float in single precision is single; a mean of NumPy's numbers is NumPy's."""
    compiled, x = jit_grad(function), np.arange(3, dtype=np.float32) + np.float32(0.1)
    for y in (x, np.array([0.1, 0.5, 0.7, 0.9])):
        found, expected = compiled(x, y), function(x, y)
        assert list(map(type, found)) == list(map(type, expected))
        assert found == pytest.approx(expected, rel=1e-7)


def test_integers():
    def function(x):
        whole = [int(9.0 * v) for v in x]
        return st.mean(whole), st.variance(whole), st.pvariance(whole, 2), st.harmonic_mean([v + 1 for v in whole])

    assert jit_grad(function)(NUMBERS) == pytest.approx(function(NUMBERS), rel=1e-14)
    assert jit_grad(lambda: st.mean([1, 2, 4]))() == pytest.approx(7 / 3)


def test_derivatives_in_single_precision():
    x = np.array([0.5, 2.0, 3.5], dtype=np.float32)
    found = jit_grad(lambda x: st.variance(x) + st.mean(x) * math.dist(x, x[::-1])).grad(x)
    assert found.dtype == np.float32
    slopes = (x - 2.0) + math.sqrt(18) / 3 + 2.0 * np.array([-1, 0, 1]) * math.sqrt(2)
    assert found == pytest.approx(slopes, rel=1e-6)


def test_in_a_program():
    check(lambda x: st.fmean(x) + 2.0 * x[0])
