"""Calls of looping functions of one number: gradients without a tape, compared with differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import hessian, jit_grad


def path(speed, steps):
    """Where a ball is that slows down, or when it is below the ground."""
    x, y, v = 0.0, 1.0, 0.5
    k = 0
    while y + 0.1 * v > 0.0 and k < steps:
        x += 0.1 * speed
        y += 0.1 * v
        v -= 0.1 * (1.0 + 0.1 * speed * v)
        k += 1
    return x - y / v * speed if k < steps else x * y


def root(a):
    x = a
    for _ in range(20):
        x = 0.5 * (x + a / x)
    return x


def polynomial(x, c):
    total = 0.0
    for i in range(len(c)):
        total = total * x + c[i]
    return total


def one(x):
    return path(x[0], 100)


def one_root(x):
    return root(x[0] + x[1])


def both(x, c):
    total = 0.0
    for i in range(len(x)):
        total += root(x[i]) * polynomial(x[i], c) + path(root(x[i]), 5)
    return total


def inner(x):
    """The derivative of what takes one number is such a function, too."""
    slope = adc.grad(path)(x[0], 50)
    return slope * slope * x[1]


def by_two(x):
    """Of two numbers."""

    def f(a, b):
        s = 0.0
        for k in range(5):
            s += math.sin(a * k) * b
        return s

    return f(x[0], x[1])


def chosen(x):
    """What is not chosen does not matter, though its derivative is infinite."""
    bad = roots(x[1])
    return x[0] * x[0] + (bad if x[0] > 5.0 else 0.0)


def roots(a):
    s = 0.0
    for k in range(3):
        s += math.sqrt(a * k)
    return s


C = np.array([0.5, -1.0, 0.25])
X = np.array([0.7, 1.3, 0.4])
CASES: list[tuple[Callable[..., Any], tuple[Any, ...], bool]] = [
    (one, (X,), True),
    (both, (X, C), False),  # part of its caller
    (inner, (X,), True),
    (by_two, (X,), False),
    (one_root, (X.astype(np.float32),), True),
]


@pytest.mark.parametrize(("f", "args", "forward"), CASES)
def test_gradients(f: Callable[..., Any], args: tuple[Any, ...], forward: bool) -> None:
    compiled = jit_grad(f)
    value, gradient = compiled.value_and_grad(*args)
    x, *rest = args
    single = x.dtype == np.float32
    wide = jit_grad(f)(x.astype(float), *rest)  # `inner` has a gradient in it, which plain Python has not
    assert value == pytest.approx(wide, rel=1e-5 if single else 1e-13)
    h = 1e-6
    differences = [
        (compiled(x.astype(float) + e, *rest) - compiled(x.astype(float) - e, *rest)) / (2 * h) for e in h * np.eye(3)
    ]
    np.testing.assert_allclose(gradient, differences, rtol=2e-3 if single else 1e-6, atol=1e-4 if single else 1e-7)
    _, along = compiled.jvp(args, (np.ones_like(x), *[None] * len(rest)))
    assert np.sum(gradient) == pytest.approx(along, rel=1e-4 if single else 1e-12)
    assert ("in forward mode, beside the value" in compiled.grad.dump_ir("plan")) == forward


def test_values_are_those_of_python() -> None:
    assert jit_grad(one)(X) == one(X)
    assert jit_grad(both)(X, C) == pytest.approx(both(X, C), rel=1e-15)


def test_what_is_not_read_is_nothing() -> None:
    found = jit_grad(chosen).grad(np.array([1.0, 0.0]))
    np.testing.assert_array_equal(found, [2.0, 0.0])


def test_second_derivatives_and_pullbacks() -> None:
    found, compiled, h = hessian(both)(X, C), jit_grad(both), 1e-5
    differences = [(compiled.grad(X + e, C) - compiled.grad(X - e, C)) / (2 * h) for e in h * np.eye(3)]
    np.testing.assert_allclose(found, differences, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(adc.jvp(adc.grad(both), (X, C), (X, None))[1], found @ X, rtol=1e-10)
    _, back = compiled.pullback(X, C)
    for weight in (2.0, -0.5):
        np.testing.assert_allclose(back(weight)[0], weight * compiled.grad(X, C), rtol=1e-13)
