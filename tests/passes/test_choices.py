"""Loops that choose a value: derivatives go to the chosen one, and the rest is neither kept nor traversed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad


def largest(a, b):
    best = a[0]
    for i in range(1, len(a)):
        best = max(best, a[i] * b[i])
    return best


def least_by_else(a, b):
    best = 3.0
    for i in range(len(a)):
        if a[i] > best:
            pass
        else:
            best = a[i]
    return best * best


def nearest(a, b):
    best, where = 1e300, -1
    for i in range(len(a) - 1, -1, -2):
        s = 0.0
        for j in range(len(b)):
            s += (a[i] - b[j]) ** 2 * math.sin(a[i] * b[j])
        if s < best:
            best, where = s, i
    return best + 0.1 * where + (a[where] if where >= 0 else 0.0)


def two_at_once(a, b):
    best, other = -10.0, 1.0
    for i in range(len(a)):
        s = a[i] * a[i]
        if s > best:
            best = s
            other = b[i] * s
    return best * other


def last_that_fits(a, b):
    """The condition has nothing to do with what is chosen."""
    found = b[0]
    for i in range(len(a)):
        if a[i] > 0.0:
            found = a[i] * b[i] + a[0]
    return found * b[0]


def none_is_chosen(a, b):
    best = a[0] * 100.0 + 1000.0
    for i in range(len(a)):
        if a[i] > best:
            best = a[i]
    return best


def depends_on_the_last(a, b):
    """Not of this kind: what is chosen is made of what was chosen before."""
    best = a[0]
    for i in range(len(a)):
        if a[i] > best * 0.5:
            best = best * 0.5 + a[i]
    return best


def different_conditions(a, b):
    low, high = 100.0, -100.0
    for i in range(len(a)):
        if a[i] < low:
            low = a[i]
        if a[i] > high:
            high = a[i]
    return high * low


def writes(a, b):
    """Not of this kind: the loop changes what candidates are made of."""
    c = a * 1.0
    best = -100.0
    for i in range(1, len(c)):
        if c[i] > best:
            best = c[i] * c[i - 1]
        c[i - 1] = 0.0
    return best


def in_a_loop(a, b):
    """Chosen again in each step, of what the steps before have made."""
    c = a * 1.0
    total = 0.0
    for t in range(3):
        best = -100.0
        for i in range(len(c)):
            if c[i] > best:
                best = c[i]
        c[t] = c[t] * 0.5 - best
        total += best * best
    return total


LINKED = [largest, least_by_else, nearest, two_at_once, last_that_fits, none_is_chosen, in_a_loop]
OTHERS = [depends_on_the_last, different_conditions, writes]


def slope(function: Callable[..., Any], a: Any, b: Any, da: Any, db: Any) -> float:
    h = 1e-6
    return float((function(a + h * da, b + h * db) - function(a - h * da, b - h * db)) / (2 * h))


@functools.cache
def by_both(function: Callable[..., Any], engine: Any) -> Any:
    """What is compiled once for all examples."""
    return jit_grad(function, argnums=(0, 1), _engine=engine)


@pytest.mark.parametrize("function", [*LINKED, *OTHERS], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
@given(data=st.data())
@settings(max_examples=10, deadline=None)
def test_gradient(function: Callable[..., Any], engine: Any, data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    n = data.draw(st.integers(3, 8))
    a, b = rng.standard_normal(n), rng.standard_normal(n)
    da, db = rng.standard_normal(n), rng.standard_normal(n)
    compiled = by_both(function, engine)
    value, (ga, gb) = compiled.value_and_grad(a, b)
    assert value == pytest.approx(function(a, b), rel=1e-12)
    assert np.sum(ga * da) + np.sum(gb * db) == pytest.approx(slope(function, a, b, da, db), rel=1e-5, abs=1e-5)
    _, back = compiled.pullback(a.copy(), b.copy())
    again = back(1.0)
    assert np.array_equal(again[0], ga) and np.array_equal(again[1], gb)


@pytest.mark.parametrize("function", LINKED[:-1], ids=lambda f: f.__name__)
def test_nothing_is_kept_of_candidates(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function, argnums=(0, 1))
    compiled.grad(np.arange(1.0, 5.0), np.arange(4.0))
    assert "tape" not in compiled.dump_ir("adjoint")


@pytest.mark.parametrize("function", OTHERS, ids=lambda f: f.__name__)
def test_other_loops_are_left_alone(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function, argnums=(0, 1))
    compiled.grad(np.arange(1.0, 5.0), np.arange(4.0))
    assert "%last" not in compiled.dump_ir("adjoint")


def test_equal_candidates_and_nan() -> None:
    """The first of equals, as the comparison says; what is not a number is never chosen."""
    a, b = np.array([1.0, 3.0, 3.0, np.nan, 2.0]), np.ones(5)
    assert np.array_equal(jit_grad(largest).grad(a, b), [0, 1, 0, 0, 0])
    assert np.array_equal(jit_grad(least_by_else).grad(np.array([1.0, 1.0]), b), [0, 2])


def test_second_derivatives() -> None:
    def f(x):
        best = -1.0
        for i in range(4):
            s = math.sin(x * i) * x
            if s > best:
                best = s
        return best

    second = adc.grad(adc.grad(f))(1.3)
    h = 1e-4
    assert second == pytest.approx((f(1.3 + h) - 2 * f(1.3) + f(1.3 - h)) / h**2, rel=1e-5)
