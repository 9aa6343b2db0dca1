"""While loops that count, in all directions and spellings: compiled as counted loops, with Python's results."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad

X = np.linspace(0.55, 2.0, 7)


def up(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 0.0, first
    while i < last:
        s += x[i] * x[i]
        i += 1
    return s * 10.0 + i


def up_by_two_to_the_last(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 0.0, first
    while last >= i:
        s = s * x[i] + 1.0
        i = 2 + i
    return s + i


def down(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 0.0, last
    while i > first:
        i -= 1
        s += x[i] * i
    return s + i


def down_by_three_to_the_first(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 1.0, last
    while first <= i:
        s += x[i] * s
        i = i - 3
    return s * i


def bound_that_moves(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 0.0, first
    while i < last:
        s += x[i]
        last -= 1
        i += 1
    return s * i + last


def bound_that_is_written(x, first, last):  # type: ignore[no-untyped-def]
    ends = np.array([last, 0])
    s, i = 0.0, first
    while i < ends[0]:
        s += x[i] * i
        if i == 3:
            ends[0] = 5
        i += 1
    return s + i


def steps_that_differ(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 0.0, first
    while i < last:
        s += x[i]
        i += 2 if x[i] > 1.0 else 1
    return s * i


def twice(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 0.0, first
    while i < last:
        s += x[i]
        i += 1
        s *= i
        i += 1
    return s + i


def that_ends_early(x, first, last):  # type: ignore[no-untyped-def]
    s, i = 0.0, first
    while i < last:
        s += x[i]
        if s > 2.0:
            break
        i += 1
    return s * i


def swapped(x, first, last):  # type: ignore[no-untyped-def]
    i, j, s = first, last, 0.0
    while i < last:
        i, j = j, i
        s += x[0]
        i += 4
    return s + i * 2.0 + j


def nested(x, first, last):  # type: ignore[no-untyped-def]
    """A pointer that goes on from row to row."""
    s, e, i = 0.0, first, 0
    while i < last:
        t = 0.0
        while e < 2 * i:
            t += x[e % 7] * e
            e += 1
        s += t * t * x[i]
        i += 1
    return s + e


PROGRAMS = (
    up, up_by_two_to_the_last, down, down_by_three_to_the_first, bound_that_moves, bound_that_is_written,
    steps_that_differ, twice, that_ends_early, swapped, nested,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_pythons(function: Callable[..., Any]) -> None:
    made = jit_grad(argnums=0)(function)
    for first, last in itertools.product((0, 1, 3, 6), (0, 2, 5, 6)):
        expected = function(X, first, last)
        assert made(X, first, last) == expected
        value, gradient = made.value_and_grad(X, first, last)
        assert value == expected
        direction = np.cos(np.arange(7.0))
        step = 1e-6 * direction
        difference = (function(X + step, first, last) - function(X - step, first, last)) / 2e-6
        assert np.dot(gradient, direction) == pytest.approx(difference, rel=1e-6, abs=1e-7)
        assert made.jvp((X, first, last), (direction, None, None))[1] == pytest.approx(difference, rel=1e-6, abs=1e-7)


COUNTED = up, up_by_two_to_the_last, down, down_by_three_to_the_first, twice, nested


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_which_loops_are_counted(function: Callable[..., Any]) -> None:
    made = jit_grad(function)
    made(X, 0, 3)
    assert ("scf.while" in made.dump_ir("simplified")) == (function not in COUNTED), inspect.getsource(function)


@pytest.mark.parametrize("last", [2**63 - 1, 2**63 - 2])
def test_bounds_at_the_end_of_the_integers(last: int) -> None:
    def count(x, last):  # type: ignore[no-untyped-def]
        i = last - 2
        while i <= last - 1:
            x += 1.0
            i += 1
        return x

    assert jit_grad(count)(1.0, last) == count(1.0, last)


def test_a_loop_to_the_last_integer_overflows() -> None:
    def count(x, last):  # type: ignore[no-untyped-def]
        i = last - 2
        while i <= last:
            x += 1.0
            i += 1
        return x

    assert jit_grad(count)(1.0, 5) == 4.0
    with pytest.raises(OverflowError, match="does not fit into 64 bits"):
        jit_grad(count)(1.0, 2**63 - 1)


def test_a_loop_over_all_integers_ends_by_its_error() -> None:
    def first_above(x, limit):  # type: ignore[no-untyped-def]
        i = 0
        while i <= 2**63 - 1:
            if x[i] > limit:
                raise ValueError(f"number {i} is too large")
            x[i] = 0.0
            i += 1
        return x[0]

    x = X.copy()
    with pytest.raises(ValueError, match="number 3 is too large"):
        jit_grad(first_above)(x, X[2])
    assert not x[:3].any() and (x[3:] == X[3:]).all()
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        jit_grad(first_above)(X.copy(), 3.0)


def test_subscripts_are_checked() -> None:
    made = jit_grad(up)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        made(X, 5, 9)
    with pytest.raises(IndexError):
        made(X, -9, 2)
    assert made(X, -3, 2) == up(X, -3, 2)


def test_two_counters_that_bound_each_other() -> None:
    """Whether n and k are small, which the bounds of subscripts ask, is no question without an end."""

    def rows(x, first):  # type: ignore[no-untyped-def]
        s = 0.0
        for j in range(len(x)):
            n, k = 0, j + first
            while k > n:
                n += 1
                k -= n
            s += x[j] * x[n] * (k + 1)
        return s

    value, gradient = jit_grad(rows).value_and_grad(X, 1)
    assert value == rows(X, 1)
    assert gradient @ X == pytest.approx(2.0 * value)
