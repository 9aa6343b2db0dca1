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
        np.polynomial.laguerre.laggauss(n),
        np.polynomial.chebyshev.chebgauss(n),
    )


def test_nodes_and_weights() -> None:
    compiled = adc.jit_grad(rules)
    for n in (1, 2, 5, 180):
        for (x, w), (nodes, weights) in zip(compiled(n), rules(n), strict=True):
            np.testing.assert_allclose(x, nodes, rtol=1e-14, atol=1e-15)
            np.testing.assert_allclose(w, weights, rtol=1e-14)
    with pytest.raises(ValueError, match="positive integer"):
        compiled(0)


def test_the_number_of_nodes_is_that_of_the_items_of_an_argument() -> None:
    def integral(x: Array) -> Array:
        return np.sum(x * np.polynomial.hermite.hermgauss(len(x))[1])

    for n in (3, 5):
        weights = np.polynomial.hermite.hermgauss(n)[1]
        np.testing.assert_array_equal(adc.grad(integral)(np.ones(n)), weights)


def test_the_number_of_nodes_is_computed_from_arguments() -> None:
    def rule(order: int) -> Any:
        return np.polynomial.legendre.leggauss(order // 2 + 1)

    def integral(a: float, x: Array, degree: int) -> float:
        nodes, weights = rule(2 * degree - len(x))
        more, of_these = np.polynomial.laguerre.laggauss(2 * len(x) - 1)
        return np.sum(weights * np.exp(a * nodes)) + np.sum(of_these * np.cos(a * more))

    compiled = adc.value_and_grad(integral)
    for n, degree in ((3, 4), (3, 6), (4, 6)):
        value, slope = compiled(0.3, np.ones(n), degree)
        assert value == pytest.approx(integral(0.3, np.ones(n), degree), rel=1e-14)
        central = integral(0.3 + 1e-6, np.ones(n), degree) - integral(0.3 - 1e-6, np.ones(n), degree)
        assert slope == pytest.approx(central / 2e-6, rel=1e-8)


def test_axes_are_computed_from_arguments() -> None:
    def f(a: Array, k: int) -> Any:
        return np.sum(a, axis=k - 1), np.moveaxis(a, -k, k % 2), np.rot90(a, 3 * k)

    a = np.arange(6.0).reshape(2, 3)
    compiled = adc.jit_grad(f)
    for k in (1, 2):
        for got, want in zip(compiled(a, k), f(a, k), strict=True):
            np.testing.assert_array_equal(got, want)


def test_nodes_are_new_arrays() -> None:
    def integral(a: float, b: float) -> float:
        total = 0.0
        for n in (2, 3):
            x, w = np.polynomial.legendre.leggauss(n)
            x *= (b - a) / 2
            x += (a + b) / 2
            total += np.sum(w * x**3) * (b - a) / 2
        return total

    compiled = adc.jit_grad(integral)
    for _ in range(2):
        assert compiled(0.0, 2.0) == pytest.approx(8.0, rel=1e-14)
    assert adc.grad(integral, argnums=1)(0.0, 2.0) == pytest.approx(16.0, rel=1e-14)


def test_a_number_of_nodes_that_is_computed() -> None:
    def integral(x: Array) -> Array:
        return np.sum(np.polynomial.legendre.leggauss(int(x[0]))[1])

    with pytest.raises(adc.errors.CompileError, match="must be known when the function is compiled"):
        adc.jit_grad(integral)(np.ones(2))


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


def items(x: Array, y: Array) -> Array:
    np.testing.assert_equal((x[:1], [y, 3]), [x[:1], (x, len(y))])
    np.testing.assert_equal({"a": x[0], "b": y}, {"b": x, "a": y[0]})
    return np.sum(x)


def other_lengths(x: Array, y: Array) -> Array:
    np.testing.assert_equal([x, y], [x])
    return np.sum(x)


def numbers(x: Array, y: Array) -> Array:
    np.testing.assert_equal(x[0], y[0])
    return np.sum(x)


def seven_places(x: Array, y: Array) -> Array:
    np.testing.assert_almost_equal(x, y)
    return np.sum(x)


def six_places(x: Array, y: Array) -> Array:
    np.testing.assert_array_almost_equal(x, y)
    return np.sum(x)


def close_by(x: Array, y: Array) -> Array:
    np.testing.assert_allclose(x, y)
    return np.sum(x)


def less_than(x: Array, y: Array) -> Array:
    np.testing.assert_array_less(x, y)
    return np.sum(x)


def of_one_kind(x: Array, y: Array) -> Array:
    np.testing.assert_array_equal(x, y, strict=True)
    np.testing.assert_allclose(x, y, strict=True)
    np.testing.assert_equal(x, y, strict=True)
    return np.sum(x)


ZEROS, BOOLS, NANS = np.zeros(2), np.array([True, False]), np.array([np.nan, 1.0])
COMPLEX = np.array([1.0 + 2.0j, 2.0])


@pytest.mark.parametrize(
    ("program", "pairs"),
    [
        (items, [(ONES, ONES), (ONES, ONES * 2.0), (ONES, np.ones(4))]),
        (other_lengths, [(ONES, ONES)]),
        (numbers, [(ZEROS, ZEROS), (ZEROS, -ZEROS), (NANS, NANS), (COMPLEX, COMPLEX), (COMPLEX, COMPLEX + 1e-12j)]),
        (numbers, [(BOOLS, BOOLS), (np.arange(2), -ZEROS), (np.arange(2), ZEROS)]),
        (
            seven_places,
            [(ONES, ONES + 1e-6), (ONES, ONES + 1e-7), (BOOLS, BOOLS), (COMPLEX, COMPLEX + 1.2e-7 + 1.2e-7j)],
        ),
        (six_places, [(ONES, ONES + 1e-6), (ONES, ONES + 1e-5), (BOOLS, BOOLS), (BOOLS, ~BOOLS)]),
        (close_by, [(BOOLS, BOOLS), (BOOLS, ~BOOLS), (np.arange(2), np.arange(2))]),
        (less_than, [(NANS, NANS + 1.0), (NANS, NANS[::-1] + 1.0), (ZEROS == 1.0, ZEROS == 0.0)]),
        (of_one_kind, [(ONES, ONES), (ONES, ONES.astype(int)), (np.ones(1), ONES)]),
    ],
)
def test_assertions_are_those_of_numpy(program: Any, pairs: Any) -> None:
    compiled = adc.jit_grad(program)
    for x, y in pairs:
        try:
            program(x, y)
        except AssertionError:
            with pytest.raises(AssertionError):
                compiled(x, y)
        else:
            compiled(x, y)


def test_the_message() -> None:
    with pytest.raises(AssertionError, match=r"rtol=0\.001") as caught:
        adc.jit_grad(close)(ONES, ONES + 1.0)
    assert "the balance" in str(caught.value)
    with pytest.raises(AssertionError, match="mismatch"):
        adc.jit_grad(close)(ONES, ONES[:2])


def test_covariance_of_one_row() -> None:
    x = np.arange(12.0).reshape(3, 4) ** 2
    for program in (lambda x: np.cov(x), lambda x: np.cov(x.T, rowvar=False)):
        for rows in (x, x[:1]):
            got, expected = adc.jit_grad(program)(rows), program(rows)
            assert np.shape(got) == np.shape(expected)
            np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_covariance_of_as_many_rows_as_an_argument_says() -> None:
    x = np.arange(12.0).reshape(3, 4) ** 2

    def program(x: Any, k: int) -> Any:
        return np.cov(x[:k]).sum()

    np.testing.assert_allclose(adc.jit_grad(program)(x, 2), program(x, 2), rtol=1e-13)
