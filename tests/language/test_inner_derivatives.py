"""``adc.jvp`` in compiled code: forward mode inside any mode."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, CompileError, DifferentiationError


def wave(x):
    return math.sin(x) * x


def slope(x):
    return adc.jvp(wave, (x,), (1.0,))[1]


def curvature(x):
    return adc.jvp(slope, (x,), (1.0,))[1]


X = 0.7
SLOPES = [
    math.sin(X) * X,
    math.cos(X) * X + math.sin(X),
    2 * math.cos(X) - X * math.sin(X),
    -3 * math.sin(X) - X * math.cos(X),
    -4 * math.cos(X) + X * math.sin(X),
]


@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_modes_in_any_order(engine: Any) -> None:
    jit = jit_grad(_engine=engine)
    assert jit(slope)(X) == pytest.approx(SLOPES[1])
    assert jit(curvature)(X) == pytest.approx(SLOPES[2])  # forward over forward
    assert adc.grad(jit(slope))(X) == pytest.approx(SLOPES[2])  # reverse over forward
    assert adc.grad(jit(curvature))(X) == pytest.approx(SLOPES[3])
    assert adc.grad(adc.grad(jit(slope)))(X) == pytest.approx(SLOPES[3])
    assert adc.jvp(adc.grad(jit(curvature)), (X,), (1.0,)) == pytest.approx((SLOPES[3], SLOPES[4]))
    assert adc.hessian(jit(curvature))(X) == pytest.approx(SLOPES[4])


def test_arrays_and_what_is_captured() -> None:
    def cubes(u, v, a):
        return adc.jvp(lambda w: a * np.sum(w * w * w), (u,), (v,))[1]

    u, v = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 2.0])
    value, (by_u, by_v, by_a) = adc.value_and_grad(cubes, argnums=(0, 1, 2))(u, v, 2.0)
    assert value == pytest.approx(np.sum(6.0 * u * u * v))
    np.testing.assert_allclose(by_u, 12.0 * u * v)
    np.testing.assert_allclose(by_v, 6.0 * u * u)
    assert by_a == pytest.approx(np.sum(3.0 * u * u * v))
    strided = np.arange(6.0)[::2]
    assert jit_grad(cubes)(strided, strided[::-1], 1.0) == pytest.approx(np.sum(3 * strided**2 * strided[::-1]))


def layer(w, x):
    return np.tanh(w @ x), x


def penalty(w, x, t):
    (y, _), (y_dot, x_dot) = adc.jvp(layer, (w, x), (None, t))
    return np.sum(y_dot * y_dot) + np.sum(x_dot * y[0])


def test_a_penalty_on_the_sensitivity_of_a_layer() -> None:
    rng = np.random.default_rng(1)
    w, x, t = rng.standard_normal((2, 3)), rng.standard_normal(3), rng.standard_normal(3)

    def plain(w: Any) -> float:
        y = np.tanh(w @ x)
        return float(np.sum(((1 - y * y) * (w @ t)) ** 2) + np.sum(t * y[0]))

    value, gradient = adc.value_and_grad(penalty)(w, x, t)
    assert value == pytest.approx(plain(w))
    d = rng.standard_normal((2, 3))
    h = 1e-5
    assert np.sum(gradient * d) == pytest.approx((plain(w + h * d) - plain(w - h * d)) / (2 * h), rel=1e-7)


def newton(x, n):
    """Newton's method for wave(x) = 1, by the slope that adc finds."""
    for _ in range(n):
        y, dy = adc.jvp(wave, (x,), (1.0,))
        x = x - (y - 1.0) / dy
    return x


def test_in_loops_and_implicitly_differentiated() -> None:
    root = jit_grad(newton)(1.0, 30)
    assert wave(root) == pytest.approx(1.0)
    assert abs(adc.grad(newton)(1.0, 8)) < 1e-9

    def chosen(x, n):
        while n > 0 and x < 5.0:
            x = x + (slope(x) if x > 0.5 else 2.0 * x)
            n -= 1
        return x

    h, compiled = 1e-6, jit_grad(chosen)
    for x in (0.3, 0.9):
        by_hand = (compiled(x + h, 3) - compiled(x - h, 3)) / (2 * h)
        assert compiled.grad(x, 3) == pytest.approx(by_hand, rel=1e-7)


def test_results_and_arguments_of_all_kinds() -> None:
    def f(p, n):
        return p[0] * n, (n, p[1][1] * p[0]), 2.5

    def g(a, b):
        value, tangent = adc.jvp(f, ((a, (1.0, b)), 3), ((1.0, (None, 10.0)), None))
        return tangent[0], tangent[1][1], tangent[2], tangent[1][0] is None

    assert jit_grad(g)(2.0, 5.0) == (3.0, 5.0 + 20.0, 0.0, True)
    assert jit_grad(lambda x: adc.jvp(lambda a, b: a * b * b, (x, x), (1.0, 10.0))[1])(3.0) == 9.0 + 180.0


def recursive(x, n):
    return x if n == 0 else x * recursive(x, n - 1)


def test_recursion() -> None:
    f = jit_grad(lambda x, n: adc.jvp(recursive, (x, n), (1.0, None))[1])
    assert f(2.0, 3) == 4 * 8.0
    assert adc.grad(f)(2.0, 3) == 12 * 4.0


def own_derivative(x, n):
    return x if n == 0 else adc.jvp(own_derivative, (x, n - 1), (1.0, None))[1]


def changes(u):
    u[0] = 2.0
    return u[1]


BASE = np.ones(3)


def weighted(a: Any, b: Any) -> Any:
    total = 0.0
    for n in range(2):
        for i in range(len(a)):
            total += (n + 1) * a[i] * a[i] * b[i]
        a, b = b, a
    return total


@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True)])
def test_one_array_twice(given: Any) -> None:
    """Each argument has a tangent of its own, as outside compiled code."""
    u, along, other = np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0]), np.array([3.0, 5.0, 7.0])
    first, second = given
    f = jit_grad(lambda u, a, b: adc.jvp(weighted, (u, u), (a if first else None, b if second else None))[1])
    expected = adc.jvp(weighted, (u, u.copy()), (along if first else None, other if second else None))[1]
    assert f(u, along, other) == expected
    if first:
        by_tangent = adc.grad(f, argnums=1)(u, along, other)
        np.testing.assert_array_equal(by_tangent, adc.grad(weighted)(u, u.copy()))


@pytest.mark.parametrize(
    ("f", "args", "message"),
    [
        (lambda x: adc.jvp(wave, (x,)), (1.0,), "takes a function, its arguments and their tangents"),
        (lambda x: adc.jvp(wave, (x,), ()), (1.0,), "a tuple of arguments and a tuple of as many tangents"),
        (lambda x: adc.jvp(math.sin, (x,), (1.0,)), (1.0,), "takes a Python function"),
        (lambda x: adc.jvp(wave, (x,), ("a",)), (1.0,), "is not a tangent of"),
        (lambda x, n: adc.jvp(recursive, (x, n), (1.0, 1.0)), (1.0, 2), "is not a tangent of"),
        (lambda u: adc.jvp(np_sum, (u,), (1.0,)), (BASE,), "is not a tangent of"),
        (lambda u: adc.jvp(changes, (u,), (u,))[1], (BASE,), "changes an array that it is given"),
        (own_derivative, (1.0, 2), "a function that takes its own derivative has none"),
        (lambda x: adc.pullback(wave, x)[0], (1.0,), "cannot be called in a compiled function"),
    ],
)
def test_refusals(f: Any, args: Any, message: str) -> None:
    with pytest.raises(AdcError, match=message) as caught:
        jit_grad(f)(*args)
    assert isinstance(caught.value, CompileError | DifferentiationError)
    assert caught.value.loc.line > 0


def np_sum(u):
    return np.sum(u)


def dot(u, v):
    return np.sum(u * v)


def test_a_tangent_of_another_length() -> None:
    f = jit_grad(lambda u, v: adc.jvp(np_sum, (u,), (v,))[1])
    assert f(np.ones(3), np.ones(3)) == 3.0
    with pytest.raises(ValueError, match="an argument has extent 3 where its tangent has 2"):
        f(np.ones(3), np.ones(2))
