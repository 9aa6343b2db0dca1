"""Loops over pairs whose counter is divided: the same value, gradient and error as in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import hvp, jit_grad, prange

RNG = np.random.default_rng(7)


def stencil(u, r):
    n, m = u.shape
    v, w = u.copy(), m - 2
    for q in range((n - 2) * w):
        i = 1 + q // w
        j = 1 + q % w
        v[i, j] = u[i, j] + r * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j])
    return np.sum(v * v)


def three(u, r):
    n, m = u.shape
    a, b = np.zeros((n, m, 3)), np.zeros((n, m, 4))
    for q in range(n * m * 3):
        a[q // (m * 3), (q // 3) % m, q % 3] = u[q // (m * 3), (q // 3) % m] * r ** (q % 3)
    for q in range(n * (m * 4)):
        i, rest = divmod(q, m * 4)
        j, k = divmod(rest, 4)
        b[i, j, k] = u[i, j] * (k + r)
    return np.sum(a**2) + np.sum(b**3)


def sums(u, r):
    n, m = u.shape
    s = t = 0.0
    for q in range(u.size):
        i, j = divmod(q, m)
        s += np.sin(u[i, j] * r) * (1 + i + 2 * j)
    for q in prange(n * m):
        t += u[q // m, q % m] * u[q // m, (q + 1) % m] * r
    for q in range(n * m - 3):  # not whole rows
        s += u[q // m, q % m] ** 2 * r
    for q in range(n * m * 2):  # divisors that are not of one product, too
        s += u[q // (2 * m), q // 2 % m] * (q % 2 + r) + u[q // 7 % n, q % 5 % m]
    return s + t * t


def flat(u, r):
    n, m = u.shape
    f = u.ravel().copy()
    q = 0
    while q < n * m:
        i = q // m
        j = q - i * m
        if 0 < i < n - 1 and 0 < j < m - 1:
            f[q] = u[i, j] * r + u[i - 1, j] * u[i, j + 1]
        q += 1
    return np.sum(f * f)


def steps(u, r):
    n, m = u.shape
    x, y = u.copy(), u.copy()
    for _ in range(3):
        for q in prange(n * m):
            j, i = divmod(q, n)
            y[i, j] = x[i, j] + r * np.sin(x[(i + 1) % n, j])
        x, y = y, x
    return np.sum(x * x)


@pytest.mark.parametrize("f", [stencil, three, sums, flat, steps])
def test_values_gradients_and_second_derivatives(f: Callable[..., Any]) -> None:
    compiled = jit_grad(argnums=(0, 1))(f)
    for shape in ((5, 6), (4, 4), (3, 7)):
        u, d = RNG.random(shape), RNG.standard_normal(shape)
        assert compiled(u, 0.3) == pytest.approx(f(u, 0.3), rel=1e-13)
        by_u, by_r = compiled.grad(u, 0.3)
        assert np.sum(by_u * d) == pytest.approx((f(u + 1e-6 * d, 0.3) - f(u - 1e-6 * d, 0.3)) / 2e-6, rel=1e-6)
        assert by_r == pytest.approx((f(u, 0.3 + 1e-6) - f(u, 0.3 - 1e-6)) / 2e-6, rel=1e-6)
    for shape in ((2, 2), (1, 3), (0, 3), (3, 0), (1, 1), (3, 1), (2, 1)):
        u = RNG.random(shape)
        try:
            expected = f(u, 0.3)
        except (IndexError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                compiled(u, 0.3)
        else:
            assert compiled(u, 0.3) == pytest.approx(expected, rel=1e-13)


def test_second_derivatives() -> None:
    u, d = RNG.random((5, 6)), RNG.standard_normal((5, 6))
    gradient = jit_grad(stencil).grad
    expected = (gradient(u + 1e-5 * d, 0.3) - gradient(u - 1e-5 * d, 0.3)) / 2e-5
    np.testing.assert_allclose(hvp(stencil, (u, 0.3), (d, 0.0)), expected, rtol=1e-8, atol=1e-8)


def divided(x, n, w):
    for q in range(n * w):
        x[q // w] += q % w
    return np.sum(x)


def test_divisors_of_any_sign() -> None:
    compiled = jit_grad(divided)
    for n, w in ((3, 2), (2, 3), (-2, -3), (2, -3), (-2, 3), (0, 0), (3, 0), (3, 1), (1, 3)):
        x = np.arange(6.0)
        got = x.copy()
        assert compiled(got, n, w) == divided(x, n, w)
        assert np.array_equal(got, x)


def test_errors_come_from_the_iteration_that_makes_them() -> None:
    x = np.zeros(3)
    with pytest.raises(IndexError):
        jit_grad(divided)(x, 4, 2)
    assert x.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ZeroDivisionError):
        jit_grad(lambda x, w: sum(x[q // w] for q in range(3)))(x, 0)
    with pytest.raises(OverflowError):
        jit_grad(divided)(x, 2**40, 2**40)
