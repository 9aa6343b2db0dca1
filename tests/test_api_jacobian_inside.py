"""Jacobians in compiled code: under ``vmap``, called by other functions, and with derivatives of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

pytestmark = pytest.mark.usefixtures("stages")

RNG = np.random.default_rng(7)
X, A = RNG.random((4, 3)), RNG.random(4)


def to_array(x):
    return np.array((x[0] * x[1], np.sin(x[0]), x[2] ** 2, x[1] / x[2]))


def to_matrix(x):
    return x[:, None] * np.sin(x[None, :])


def to_float(x):
    return np.sum(x * x * x)


def to_tuple(x):
    return x[0] * x[1], (np.cos(x), 2.0 * x[2])


@pytest.mark.parametrize("fn", [to_array, to_matrix, to_float, to_tuple], ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["auto", "reverse"])
def test_of_many(fn: Any, mode: Any) -> None:
    jacobian = adc.jacobian(fn, mode=mode)
    found, each = adc.vmap(jacobian)(X), [jacobian(x) for x in X]
    same(found, stacked(each))


def stacked(items: list[Any]) -> Any:
    if isinstance(items[0], tuple):
        return tuple(stacked([item[k] for item in items]) for k in range(len(items[0])))
    return np.array(items)


def same(a: Any, b: Any) -> None:
    if isinstance(b, tuple):
        assert isinstance(a, tuple) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a.shape == b.shape and np.allclose(a, b, rtol=1e-12)


def test_by_a_matrix() -> None:
    def f(m):
        return m @ np.array((1.0, 2.0, 3.0)) * m[0, 0]

    m = RNG.random((5, 2, 3))
    jacobian = adc.jacobian(f)
    found = adc.vmap(jacobian)(m)
    assert found.shape == (5, 2, 2, 3)
    assert np.allclose(found, [jacobian(one) for one in m], rtol=1e-12)


def test_by_several_arguments() -> None:
    def f(x, n, a):
        return x * a * n, np.sin(a)

    jacobian = adc.jacobian(f, (0, 2))
    found = adc.vmap(jacobian, (0, None, 0))(X, 3, A)
    same(found, stacked([jacobian(x, 3, a) for x, a in zip(X, A, strict=True)]))
    one = adc.vmap(adc.jacobian(f, 2), (0, None, 0))(X, 3, A)
    assert np.allclose(one[0], X * 3) and np.allclose(one[1], np.cos(A))


def test_hessians() -> None:
    def f(x):
        return x[0] ** 3 * x[1] + np.sin(x[2] * x[0])

    found = adc.vmap(adc.hessian(f))(X)
    assert np.allclose(found, [adc.hessian(f)(x) for x in X], rtol=1e-12)
    assert np.allclose(found, found.transpose(0, 2, 1), rtol=1e-12)


def test_of_numbers() -> None:
    found = adc.vmap(adc.jacobian(lambda x: (x**3, np.array((x, x * x)))))(A)
    assert np.allclose(found[0], 3 * A**2) and np.allclose(found[1], np.stack([np.ones(4), 2 * A], 1))


jacobian_of_array = adc.jacobian(to_array)


def test_called_in_compiled_code_and_differentiated() -> None:
    def norm(x):
        j = jacobian_of_array(x)
        return np.sum(j * j)

    x, h = X[0], 1e-6
    assert np.isclose(jit_grad(norm)(x), np.sum(jacobian_of_array(x) ** 2), rtol=1e-13)
    difference = [
        (np.sum(jacobian_of_array(x + h * e) ** 2) - np.sum(jacobian_of_array(x - h * e) ** 2)) / (2 * h)
        for e in np.eye(3)
    ]
    assert np.allclose(adc.grad(norm)(x), difference, rtol=1e-7)
    assert np.allclose(adc.grad(norm)(x), [adc.jvp(norm, (x,), (e,))[1] for e in np.eye(3)], rtol=1e-12)


def test_the_same_bits_on_threads() -> None:
    x = RNG.random((2000, 3))
    one, two = (jit_grad(adc.vmap(adc.jacobian(to_array)), threads=n)(x) for n in (1, 2))
    assert np.array_equal(one, two)


# Made where they are called -------------------------------------------------------------------------------------------


def made_inside(x):
    return np.sum(adc.jacobian(to_array)(x) ** 2)


def made_inside_by_reverse_mode(x):
    return np.sum(adc.jacobian(to_array, argnums=0, mode="reverse")(x) ** 2)


def hessian_made_inside(x):
    return np.sum(adc.hessian(to_float)(x) * to_matrix(x))


def kept_in_a_loop(x):
    total = 0.0
    for _ in range(3):
        jacobian = adc.jacobian(to_array)
        total += np.sum(jacobian(x + total))
    return total


@pytest.mark.parametrize(
    "fn", [made_inside, made_inside_by_reverse_mode, hessian_made_inside, kept_in_a_loop], ids=lambda f: f.__name__
)
def test_made_where_they_are_called(fn: Any) -> None:
    x, h = RNG.random(3) + 0.5, 1e-6
    assert np.isclose(jit_grad(fn)(x), fn(x), rtol=1e-12)
    difference = [(fn(x + h * e) - fn(x - h * e)) / (2 * h) for e in np.eye(3)]
    assert np.allclose(adc.grad(fn)(x), difference, rtol=1e-5, atol=1e-7)


def test_what_cannot_be_made_there() -> None:
    def of_a_nested_function(x):
        return np.sum(adc.jacobian(lambda y: y * x[0])(x))

    def of_no_mode(x):
        return np.sum(adc.jacobian(to_array, mode="sideways")(x))

    with pytest.raises(adc.errors.CompileError, match=r"adc.jacobian\(\) cannot be called") as caught:
        jit_grad(of_a_nested_function)(np.ones(3))
    assert "defined outside" in caught.value.help
    with pytest.raises(adc.errors.AdcError, match="mode must be one of") as wrong:
        jit_grad(of_no_mode)(np.ones(3))
    assert wrong.value.loc.line == of_no_mode.__code__.co_firstlineno + 1


# Reports --------------------------------------------------------------------------------------------------------------


def many_steps(u, c, n):
    u = u.copy()
    for _ in range(n):
        for i in range(1, len(u) - 1):
            u[i] = u[i] + c * np.sin(u[i])
    return u


def test_report_of_a_function_that_returns_an_array() -> None:
    f = jit_grad(many_steps)
    text = str(f.report("f64[::1], f64, i64"))
    assert "pullback with respect to u, c" in text and "u: array of float64 with 1 axis: active" in text
    assert "threads" in text
    pair = jit_grad(lambda x: (x * x, np.sin(x)))
    assert "pullback with respect to x" in str(pair.report("f64[::1]"))
    assert "gradient with respect to x" in str(jit_grad(to_float).report("f64[::1]"))
    for stage in ("simplified", "plan", "adjoint", "tangent", "lowered"):
        assert "many_steps" in f.dump_ir(stage, "f64[::1], f64, i64")
