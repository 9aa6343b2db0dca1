"""Gauss's quadratures of ``numpy.polynomial``, and the assertions of ``numpy.testing``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.polynomial
import numpy.testing
import pytest

import adc

Array = Any


def rules(n: int) -> Any:
    return (
        np.polynomial.legendre.leggauss(n),
        np.polynomial.hermite.hermgauss(n),
        np.polynomial.hermite_e.hermegauss(n),
        np.polynomial.chebyshev.chebgauss(n),
    )


def test_nodes_and_weights() -> None:
    compiled = adc.jit_grad(rules)
    for n in (1, 2, 3, 4, 5, 12, 33, 64):
        for (x, w), (nodes, weights) in zip(compiled(n), rules(n), strict=True):
            np.testing.assert_allclose(x, nodes, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(w, weights, rtol=1e-11)
    with pytest.raises(ValueError, match="positive integer"):
        compiled(0)


def test_the_derivative_of_an_integral() -> None:
    def integral(a: float) -> float:
        x, w = np.polynomial.legendre.leggauss(20)
        return np.sum(w * np.exp(a * x))

    expected = (np.exp(0.7) + np.exp(-0.7)) / 0.7 - (np.exp(0.7) - np.exp(-0.7)) / 0.49
    assert adc.grad(integral)(0.7) == pytest.approx(expected, rel=1e-12)


def close(x: Array, y: Array) -> Array:
    np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-6, err_msg="the balance")
    return np.sum(x * y)


def equal(x: Array, y: Array) -> Array:
    np.testing.assert_array_equal(x, y)
    np.testing.assert_equal(len(x), len(y))
    return np.sum(x * y)


def almost(x: Array, y: Array) -> Array:
    np.testing.assert_array_almost_equal(x, y, decimal=3)
    np.testing.assert_almost_equal(x[0], y[0], decimal=3)
    return np.sum(x * y)


def less(x: Array, y: Array) -> Array:
    np.testing.assert_array_less(x, y + 1e-12)
    np.testing.assert_array_less(x, 10.0)
    return np.sum(x * y)


ONES = np.ones(3)
OTHERS = [ONES, ONES + 1e-4, ONES - 1e-4, ONES * 20.0, np.array([1.0, np.nan, 1.0]), np.ones(2), np.ones((3, 1))]


@pytest.mark.parametrize("program", [close, equal, almost, less], ids=lambda f: f.__name__)
def test_assertions(program: Any) -> None:
    compiled = adc.jit_grad(program)
    nan = OTHERS[4]
    for x, y in [*((ONES, y) for y in OTHERS[:6]), (nan, nan), (OTHERS[3], OTHERS[3])]:
        try:
            expected = program(x, y)
        except AssertionError:
            with pytest.raises(AssertionError):
                compiled(x, y)
            continue
        np.testing.assert_allclose(compiled(x, y), expected, rtol=1e-14)
    assert np.array_equal(adc.grad(program)(ONES, ONES), ONES)


def test_the_message() -> None:
    with pytest.raises(AssertionError, match=r"rtol=0\.001") as caught:
        adc.jit_grad(close)(ONES, ONES + 1.0)
    assert "the balance" in str(caught.value)
    with pytest.raises(AssertionError, match="mismatch"):
        adc.jit_grad(close)(ONES, ONES[:2])


def test_covariance_of_one_row() -> None:
    x = np.arange(12.0).reshape(3, 4) ** 2
    for program in (lambda x: np.cov(x[:1]), lambda x: np.cov(x), lambda x: np.cov(x.T, rowvar=False)):
        for rows in (x, x[:1]):
            got, expected = adc.jit_grad(program)(rows), program(rows)
            assert np.shape(got) == np.shape(expected)
            np.testing.assert_allclose(got, expected, rtol=1e-13)
