"""distribute-shifts: values passed on to the next iteration are computed first; the same bits as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad

RNG = np.random.default_rng(12)


def flux(a: Any, b: Any) -> Any:
    return a * a / (2.0 + b * b) if a > b else b / (1.0 + a * a) - a * b


def conserved(u: Any, v: Any) -> float:
    n = len(u)
    left = flux(v[0], u[0])
    for i in range(1, n):
        right = flux(u[i - 1], u[i])
        v[i] = u[i] - 0.5 * (right - left)
        left = right
    return left + v[n - 1]


def downwards(u: Any, v: Any) -> float:
    total, last, other = 0.25, 1.0, v[0]
    for i in range(len(u) - 2, 0, -2):
        total += last * other
        last = flux(u[i], u[i + 1]) * 0.5
        other = last / (2.0 + u[i] * u[i])
        v[i] = last
    return total + last * other


def in_place(u: Any, v: Any) -> float:
    """Each element is looked at before it is changed."""
    left = 1.0
    for i in range(len(u)):
        right = flux(u[i], v[i])
        u[i] = u[i] * left + v[i]
        left = right
    return np.sum(u) + left


def in_time(u: Any, v: Any) -> float:
    w = u.copy()
    for _ in range(3):
        new = w.copy()
        left = flux(w[0], v[0])
        for i in range(1, len(u)):
            right = flux(w[i], w[i - 1])
            new[i] = w[i] - 0.1 * (right - left) * v[i]
            left = right
        w = new
    return np.sum(w * w)


def changed_first(u: Any, v: Any) -> float:
    """Left as it is: the iteration changes what the value is made from."""
    left = 1.0
    for i in range(len(u)):
        u[i] = u[i] * left + v[i]
        left = flux(u[i], v[i])
    return np.sum(u) + left


def two_before(u: Any, v: Any) -> float:
    """Left as it is."""
    a, b = u[0], v[0]
    for i in range(len(u)):
        v[i] = a * u[i] + b
        a, b = b, flux(u[i], u[0])
    return a * b + v[0]


def recurrence(u: Any, v: Any) -> float:
    """Left as it is."""
    left = 1.0
    for i in range(len(u)):
        left = flux(u[i], v[i] * left)
        v[i] = left
    return left


TAKEN = [conserved, downwards, in_place, in_time]
LEFT = [changed_first, two_before, recurrence]


@pytest.mark.parametrize("function", [*TAKEN, *LEFT], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_gradients(function: Callable[..., Any], dtype: Any) -> None:
    made = jit_grad(argnums=(0, 1))(function)
    for n in (1, 2, 3, 6, 9):
        u, v, du, dv = RNG.normal(size=(4, n)).astype(dtype)
        plain, compiled = [u.copy(), v.copy()], [u.copy(), v.copy()]
        value, tight = function(*plain), dtype is np.float64
        assert made(*compiled) == pytest.approx(value, rel=1e-13 if tight else 1e-5)
        for ours, theirs in zip(compiled, plain, strict=True):
            if tight:
                np.testing.assert_array_equal(ours, theirs)
            else:
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        if tight:
            by_u, by_v = made.grad(u, v)
            ahead = function(u + 1e-6 * du, v + 1e-6 * dv)
            back = function(u - 1e-6 * du, v - 1e-6 * dv)
            assert by_u @ du + by_v @ dv == pytest.approx((ahead - back) / 2e-6, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("function", [conserved, downwards, in_place, *LEFT], ids=lambda f: f.__name__)
def test_which_are_taken(function: Callable[..., Any]) -> None:
    """They are the ones for which an array is made."""
    simplified = jit_grad(function).dump_ir("simplified", "f64[::1], f64[::1]")
    assert ("memref.alloc" in simplified) == (function in TAKEN)
