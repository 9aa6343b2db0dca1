"""Jacobians and Hessians from Python: closed forms, shapes, modes, containers, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, ArgumentValueError, DifferentiationError

pytestmark = pytest.mark.usefixtures("stages")

RNG = np.random.default_rng(5)
MODES = ["auto", "forward", "reverse"]


def dense(w, x):
    return np.tanh(w @ x)


@pytest.mark.parametrize("mode", MODES)
def test_a_layer(mode: Any) -> None:
    w, x = RNG.standard_normal((3, 4)), RNG.standard_normal(4)
    by_w, by_x = adc.jacobian(dense, argnums=(0, 1), mode=mode)(w, x)
    slope = 1.0 - np.tanh(w @ x) ** 2
    np.testing.assert_allclose(by_x, slope[:, None] * w, rtol=1e-12)
    expected = np.zeros((3, 3, 4))
    for i in range(3):
        expected[i, i] = slope[i] * x
    np.testing.assert_allclose(by_w, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("outputs", "inputs"), [(2, 7), (7, 2), (1, 5), (5, 1), (3, 3)])
def test_shapes(mode: Any, outputs: int, inputs: int) -> None:
    a = RNG.standard_normal((outputs, inputs))
    np.testing.assert_allclose(adc.jacobian(lambda x: a @ x, mode=mode)(RNG.standard_normal(inputs)), a)
    table = adc.jacobian(lambda x: (x * a).T, mode=mode)(np.ones(inputs))
    np.testing.assert_array_equal(table, np.eye(inputs)[:, None, :] * a.T[:, :, None])


@pytest.mark.parametrize("mode", MODES)
def test_scalars_and_containers(mode: Any) -> None:
    u = np.array([1.0, 2.0])

    def f(x, u, n):
        return {"a": x * x, "b": (x * u, n), "c": None, "d": np.sum(u * u)}

    found = adc.jacobian(f, argnums=(0, 1), mode=mode)(3.0, u, 2)
    assert found["a"][0] == 6.0 and type(found["a"][0]) is float
    np.testing.assert_array_equal(found["a"][1], [0.0, 0.0])
    np.testing.assert_array_equal(found["b"][0][0], u)
    np.testing.assert_array_equal(found["b"][0][1], 3.0 * np.eye(2))
    assert found["b"][1] is None and found["c"] is None
    np.testing.assert_array_equal(found["d"][1], 2.0 * u)
    named = adc.jacobian(f, argnames=("u",), mode=mode)(3.0, u, 2)
    np.testing.assert_array_equal(named["d"]["u"], 2.0 * u)
    assert adc.jacobian(lambda p: p[0] * p[1][0], mode=mode)((2.0, [5.0])) == (5.0, [2.0])


@pytest.mark.parametrize("mode", MODES)
def test_float32_and_strides(mode: Any) -> None:
    u = np.arange(8, dtype=np.float32)[::2]
    found = adc.jacobian(lambda u: u * u, mode=mode)(u)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.diag(2 * u))


def test_nothing_to_differentiate_by() -> None:
    assert adc.jacobian(lambda u: (np.sum(u), 2.0 * u))(np.zeros(0))[1].shape == (0, 0)
    assert adc.jacobian(lambda x: 1.5)(2.0) is None
    np.testing.assert_array_equal(adc.jacobian(lambda u, v: v * 2.0)(np.ones(2), np.ones(3)), np.zeros((3, 2)))


def test_functions_that_change_their_arguments() -> None:
    def f(u):
        for i in range(1, len(u)):
            u[i] = u[i] * u[i - 1]
        return u

    u = np.array([2.0, 3.0, 5.0])
    found = adc.jacobian(f)(u)
    np.testing.assert_array_equal(u, [2.0, 3.0, 5.0])
    np.testing.assert_allclose(found, [[1, 0, 0], [3, 2, 0], [15, 10, 6]])
    shared = adc.jacobian(lambda x, y: x * y)(u, u)
    np.testing.assert_array_equal(shared, np.diag(u))
    captured = np.array([1.0, 2.0])
    by_name = adc.jacobian(lambda x: x * captured, argnames="captured")(3.0)
    np.testing.assert_allclose(by_name["captured"], 3.0 * np.eye(2))


def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return total


def test_the_hessian_of_rosenbrock() -> None:
    x = RNG.standard_normal(6)
    n = len(x)
    expected = np.zeros((n, n))
    for i in range(n - 1):
        expected[i, i] += 1200.0 * x[i] ** 2 - 400.0 * x[i + 1] + 2.0
        expected[i + 1, i + 1] += 200.0
        expected[i, i + 1] -= 400.0 * x[i]
        expected[i + 1, i] -= 400.0 * x[i]
    np.testing.assert_allclose(adc.hessian(rosenbrock)(x), expected, rtol=1e-12, atol=1e-12)
    v = RNG.standard_normal(n)
    np.testing.assert_allclose(adc.hvp(rosenbrock, (x,), (v,)), expected @ v, rtol=1e-12)


def logistic_loss(w, features, labels):
    margins = labels * (features @ w)
    return np.sum(np.log1p(np.exp(-margins))) + 0.5 * np.sum(w * w)


def test_the_hessian_of_logistic_regression() -> None:
    features, labels = RNG.standard_normal((30, 4)), np.sign(RNG.standard_normal(30))
    w = RNG.standard_normal(4)
    p = 1.0 / (1.0 + np.exp(-labels * (features @ w)))
    expected = features.T @ ((p * (1 - p))[:, None] * features) + np.eye(4)
    f = jit_grad(logistic_loss)
    np.testing.assert_allclose(adc.hessian(f)(w, features, labels), expected, rtol=1e-10)
    v = RNG.standard_normal(4)
    np.testing.assert_allclose(adc.hvp(f, (w, features, labels), (v, None, None)), expected @ v, rtol=1e-10)


def test_a_quadratic_form_in_several_arguments() -> None:
    a = RNG.standard_normal((3, 2))
    f = adc.hessian(lambda x, y: x @ a @ y + np.sum(x * x), argnums=(0, 1))
    (xx, xy), (yx, yy) = f(RNG.standard_normal(3), RNG.standard_normal(2))
    np.testing.assert_allclose(xx, 2.0 * np.eye(3), atol=1e-15)
    np.testing.assert_allclose(xy, a)
    np.testing.assert_allclose(yx, a.T)
    np.testing.assert_allclose(yy, np.zeros((2, 2)))


def test_a_hessian_by_a_field() -> None:
    found = adc.hessian(lambda p: p["x"] ** 3 * p["y"])({"x": 2.0, "y": 5.0})
    assert found == {"x": {"x": 60.0, "y": 12.0}, "y": {"x": 12.0, "y": 0.0}}


def test_derivatives_of_an_implicit_loop() -> None:
    def root(x):
        y = x
        while abs(y * y - x) > 1e-12:
            y = 0.5 * (y + x / y)
        return y

    assert adc.hessian(root)(2.0) == pytest.approx(-0.25 * 2.0**-1.5)
    assert adc.jacobian(adc.grad(adc.grad(root)))(2.0) == pytest.approx(0.375 * 2.0**-2.5, rel=1e-6)


def test_the_jacobian_of_a_value_with_its_gradient() -> None:
    value, gradient = adc.jacobian(adc.value_and_grad(lambda x: math.exp(2.0 * x)))(0.3)
    assert value == pytest.approx(2.0 * math.exp(0.6)) and gradient == pytest.approx(4.0 * math.exp(0.6))


def test_representations() -> None:
    assert repr(adc.jacobian(rosenbrock)) == "<Jacobian of rosenbrock>"
    assert repr(adc.hessian(rosenbrock)) == "<Jacobian of gradient of rosenbrock>"
    assert "@rosenbrock.grad.jvp" in adc.hessian(rosenbrock).dump_ir("tangent", "f64[::1]")


def test_errors() -> None:
    with pytest.raises(ArgumentValueError, match="mode must be one of 'auto', 'forward', 'reverse', not 'fwd'"):
        adc.jacobian(rosenbrock, mode="fwd")
    with pytest.raises(ArgumentValueError, match="the Jacobian of a gradient of rosenbrock is formed forward"):
        adc.jacobian(adc.grad(rosenbrock), mode="reverse")
    with pytest.raises(DifferentiationError, match="argument 'n' is an int and has no gradient"):
        adc.jacobian(lambda x, n: x, argnums=1)(1.0, 2)
    with pytest.raises(AdcError, match="returns a list that it was given"):
        adc.jacobian(lambda x: x)([1.0])
    with pytest.raises(DifferentiationError, match="second derivatives of _overwrites with overlapping arguments"):
        u = np.ones(2)
        adc.hessian(_overwrites)(u, u)
    with pytest.raises(ArgumentValueError, match="is formed forward: the function changes its arguments"):
        adc.jacobian(_changes, mode="reverse")(np.ones(2))


def _overwrites(x, y):
    x[0] = y[1]
    return np.sum(x * y * x)


def _changes(u):
    u[0] = u[1]
    return u * 2.0


def _between(x, k: int, y):
    return x[1:] * x[:-1] * y + k


@pytest.mark.parametrize("argnums", [0, -1, (0, 2), (2, 0)])
@pytest.mark.parametrize("length", [1, 4])
def test_compiled_and_python_runs_agree(argnums: Any, length: int) -> None:
    args = np.arange(float(length)), 2, 3.0
    compiled = adc.jacobian(_between, argnums, mode="forward")
    found = compiled(*args)
    assert compiled._target is not None
    by_python = adc.jacobian(_between, argnums, mode="forward")
    by_python.__dict__["_forward"] = None
    for wanted in (by_python(*args), adc.jacobian(_between, argnums, mode="reverse")(*args), compiled(*args)):
        for a, b in zip(tuple_of(found), tuple_of(wanted), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    assert [a.shape[1:] for a in tuple_of(compiled(np.zeros(0), 2, 3.0))] == [
        (0,) if n == 0 else () for n in (argnums if isinstance(argnums, tuple) else (argnums,))
    ]


def tuple_of(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def test_shapes_decide_at_each_call() -> None:
    @jit_grad
    def pairs(x, y):
        return x[:2] * y[0], np.sum(x)

    jacobian = adc.jacobian(pairs)
    for length in (2, 9, 3, 2):
        x, y = np.arange(1.0, length + 1.0), np.array([3.0])
        for _ in range(2):
            first, second = jacobian(x, y)
            np.testing.assert_array_equal(first, 3.0 * np.eye(2, length))
            np.testing.assert_array_equal(second, np.ones(length))
    assert jacobian._quick is not None  # the last one, with three results by two numbers
    with pytest.raises(AdcError):
        jacobian(x, "y")


def test_a_rule_given_later_is_taken() -> None:
    def inner(x: float) -> float:
        return x * x

    def outer(x):
        return np.array([inner(x[0]), inner(x[1])])

    jacobian = adc.jacobian(outer)
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(jacobian(x), np.diag(2.0 * x))

    @adc.frule(inner)
    def forward(tangents: Any, x: float) -> Any:
        return x * x, 7.0 * tangents[0]

    np.testing.assert_array_equal(jacobian(x), np.diag([7.0, 7.0]))
