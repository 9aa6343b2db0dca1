"""Products of many terms, which gradients take as several products side by side: gradients against the products of all
other terms, where terms are zero too, and second derivatives."""

# mypy: ignore-errors
import numpy as np
import pytest

import adc
from adc import jit_grad


def product(x):
    return np.prod(x)


def of_terms(x):
    return 3.0 * np.prod(1.0 + 0.5 * x[1:])


def chosen(x, start):
    return np.prod(x, initial=2.0) if start > 0 else np.sum(x)


def others(x):
    """For each element, the product of all others."""
    x = np.asarray(x, np.longdouble)
    ahead, behind = np.ones(len(x), x.dtype), np.ones(len(x), x.dtype)
    ahead[1:], behind[:-1] = np.cumprod(x[:-1]), np.cumprod(x[:0:-1])[::-1]
    return ahead * behind


def terms(n, zeros=(), dtype=np.float64):
    x = np.random.default_rng(n).uniform(0.98, 1.02, n).astype(dtype)
    x[list(zeros)] = 0
    return x


SIZES = [0, 1, 31, 255, 256, 257, 288, 300, 1000]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products(dtype) -> None:
    gradient = adc.value_and_grad(jit_grad(product))
    for n in SIZES:
        for zeros in ((), (0,), (n - 1,), (n // 2, n // 2 + 1), (3, n - 2)):
            if n < 31 and zeros:
                continue
            x = terms(n, zeros, dtype)
            value, by = gradient(x)
            rtol = 1e-13 if dtype is np.float64 else 3e-5
            assert value == pytest.approx(float(np.prod(x.astype(np.longdouble))), rel=rtol)
            np.testing.assert_allclose(by, others(x).astype(float), rtol=rtol)


def test_terms_that_are_computed() -> None:
    for n in SIZES[1:]:
        x = terms(n) - 1.0
        expected = np.concatenate([[0.0], 1.5 * others(1.0 + 0.5 * x[1:])]).astype(float)
        np.testing.assert_allclose(adc.grad(jit_grad(of_terms))(x), expected, rtol=1e-13)


def test_products_in_branches() -> None:
    x = terms(700)
    gradient = adc.grad(jit_grad(chosen))
    np.testing.assert_allclose(gradient(x, 1), 2.0 * others(x).astype(float), rtol=1e-13)
    np.testing.assert_array_equal(gradient(x, 0), np.ones(700))


def test_second_derivatives() -> None:
    x, v = terms(300), np.cos(np.arange(300.0))
    p = np.prod(x)
    expected = p * (np.sum(v / x) / x - v / x**2)
    np.testing.assert_allclose(adc.hvp(jit_grad(product), (x,), (v,)), expected, rtol=1e-9, atol=1e-12)
    twice = adc.grad(jit_grad(lambda x, v: np.sum(adc.grad(product)(x) * v)))
    np.testing.assert_allclose(twice(x, v), expected, rtol=1e-9, atol=1e-12)


def test_directions() -> None:
    x, v = terms(500, (17,)), np.sin(np.arange(500.0))
    _, tangent = jit_grad(product).jvp((x,), (v,))
    assert tangent == pytest.approx(float(np.sum(others(x) * v)), rel=1e-12)
