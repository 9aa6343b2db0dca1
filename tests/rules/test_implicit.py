"""``adc.fixed_point`` and ``adc.root``: values, and derivatives, against closed forms and differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

pytestmark = pytest.mark.usefixtures("stages")

RNG = np.random.default_rng(5)


def heron(x, a):
    return 0.5 * (x + a / x)


def slow_heron(x, a):
    return x + 0.1 * (a - x * x)


def network(x, weights, bias):
    y = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            y[i] += weights[i, j] * math.tanh(x[j])
        y[i] += bias[i]
    return y


def residual(x, weights, bias):
    return x - network(x, weights, bias)


def differences(f: Any, x: Any, step: float = 1e-6) -> Any:
    found = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found


def test_a_float() -> None:
    for step in (heron, slow_heron):
        f = jit_grad(lambda a: 2.0 * adc.fixed_point(step, 1.0, a))
        for a in (0.7, 2.0, 5.0):
            assert f(a) == pytest.approx(2 * math.sqrt(a), rel=1e-11)
            assert f.grad(a) == pytest.approx(1 / math.sqrt(a), rel=1e-10)
    assert adc.fixed_point(heron, 1.0, 2.0) == pytest.approx(math.sqrt(2.0), rel=1e-12)  # plain Python


def test_a_root_of_a_float() -> None:
    f = jit_grad(lambda a: adc.root(lambda x, a: x**3 - a, 1.0, a))
    for a in (0.7, 5.0):
        assert f(a) == pytest.approx(a ** (1 / 3), rel=1e-12)
        assert f.grad(a) == pytest.approx(a ** (-2 / 3) / 3, rel=1e-12)
        assert adc.grad(f.grad)(a) == pytest.approx(-2 / 9 * a ** (-5 / 3), rel=1e-11)


def test_second_derivatives() -> None:
    f = jit_grad(lambda a: adc.fixed_point(heron, 1.0, a))
    assert adc.grad(f.grad)(3.0) == pytest.approx(-0.25 * 3.0**-1.5, rel=1e-10)


def test_arrays() -> None:
    n = 4
    weights, bias = 0.4 * RNG.normal(size=(n, n)) / n, RNG.normal(size=n)

    def by_fixed_point(weights, bias):
        return np.sum(adc.fixed_point(network, np.zeros(len(bias)), weights, bias) ** 2)

    def by_root(weights, bias):
        return np.sum(adc.root(residual, np.zeros(len(bias)), weights, bias) ** 2)

    expected = None
    for f in (by_fixed_point, by_root):
        compiled = jit_grad(argnums=(0, 1))(f)
        found = compiled.grad(weights, bias)
        np.testing.assert_allclose(found[0], differences(lambda w, f=compiled: f(w, bias), weights), atol=1e-8)
        np.testing.assert_allclose(found[1], differences(lambda b, f=compiled: f(weights, b), bias), atol=1e-8)
        assert compiled(weights, bias) == pytest.approx(f(weights, bias), rel=1e-11)
        if expected is not None:
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
        expected = found


def test_elimination_with_pivots() -> None:
    """A Jacobian with zeros on the diagonal, and none that is symmetric."""
    matrix = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 1.0, 0.0]])

    def system(x, b):
        y = np.zeros(3)
        for i in range(3):
            for j in range(3):
                y[i] += matrix[i, j] * x[j]
        return y - b

    f = jit_grad(lambda b, w: np.sum(w * adc.root(system, np.zeros(3), b)))
    b, w = RNG.normal(size=3), RNG.normal(size=3)
    assert f(b, w) == pytest.approx(w @ np.linalg.solve(matrix, b), rel=1e-12)
    np.testing.assert_allclose(f.grad(b, w), np.linalg.solve(matrix.T, w), rtol=1e-12)


def test_no_tape_through_the_iteration() -> None:
    f = jit_grad(lambda a: adc.fixed_point(slow_heron, 1.0, a))
    gradient = f.dump_ir("adjoint", "f64").split("@f.grad" if "@f.grad" in f.dump_ir("adjoint", "f64") else ".grad")[1]
    assert "memref.alloc" not in gradient and "adc.grow" not in gradient


def test_other_arguments() -> None:
    """Integers, tuples and constants among the arguments."""

    def step(x, p, n, c):
        y = x
        for _ in range(n):
            y = 0.5 * (y + p[0] * p[1] * c / y)
        return y

    f = jit_grad(lambda p, n: adc.fixed_point(step, 1.0, p, n, 2.0))
    assert f.grad((2.0, 3.0), 2) == pytest.approx((0.5 * 6 / math.sqrt(12.0), 0.5 * 4 / math.sqrt(12.0)))


def test_what_does_not_end() -> None:
    with pytest.raises(ArithmeticError, match="the fixed point was not reached"):
        jit_grad(lambda a: adc.fixed_point(lambda x, a: 2.0 * x + a, 1.0, a, steps=50))(1.0)
    with pytest.raises(ArithmeticError, match="the fixed point was not reached"):
        jit_grad(lambda a: adc.fixed_point(lambda x, a: x * math.nan, 1.0, a))(1.0)
    with pytest.raises(ArithmeticError, match="the root was not reached"):
        jit_grad(lambda a: adc.root(lambda x, a: x * x + a, 0.7, a))(1.0)
    with pytest.raises(ArithmeticError, match="is zero"):
        jit_grad(lambda a: adc.root(lambda x, a: a, 1.0, a))(1.0)
    with pytest.raises(ArithmeticError, match="singular"):
        jit_grad(lambda a: adc.root(lambda x, a: x * 0.0 + a, np.ones(2), a)[0])(1.0)


def test_what_the_function_captures_must_not_vary() -> None:
    with pytest.raises(TypeError, match="gives no derivative by 'a', which varies here"):
        adc.grad(lambda a: adc.fixed_point(lambda x: 0.5 * (x + a / x), 1.0))(2.0)
