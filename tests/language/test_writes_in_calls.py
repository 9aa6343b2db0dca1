"""Writes of a function through a name chosen by a loop or branch are visible to its callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.programs.harness import check


def chosen(a, b, n):
    t = a if n % 2 else b
    t[0] = t[0] * a[1] * b[1]


def chosen_in_a_loop(a, b, n):
    for k in range(n + 1):
        t = b if k % 2 else a
        t[k % 2] = t[0] * a[1] + b[1]


def swapped(a, b, n):
    for _ in range(n):
        a, b = b, a
    a[0] *= a[1] * b[1]


def swapped_until(a, b, n):
    while n > 0:
        a, b = b, a
        n -= 1
    a[1:] *= b[:-1]


def windows(a, b, n):
    t = a[1:] if n % 2 else b[::-1]
    t[0] *= a[0] * t[1]


def two_deep(a, b, n):
    if n % 2:
        a, b = b, a
    chosen(a, b, n)
    swapped(b, a, n)


def calls_itself(a, b, n):
    t = a if n % 2 else b
    t[0] *= a[1] + b[1]
    if n > 0:
        calls_itself(b, a, n - 1)


def captured(a, b, n):
    def inner() -> None:
        t = a if n % 2 else b
        t[0] *= a[1] * b[1]

    inner()


WRITERS = [chosen, chosen_in_a_loop, swapped, swapped_until, windows, two_deep, calls_itself, captured]


def misfit(writer: Callable[..., None]) -> Callable[..., Any]:
    def f(a, b, n):
        writer(a, b, n)
        return np.sum(a * b * b)

    return f


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.array([0.7, 1.2, -0.4]), np.array([1.1, 0.8, 0.5])


def apart() -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    memory = np.concatenate(arrays())
    return memory, (memory[:3], memory[3:])


def overlapping() -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    memory = np.array([0.7, 1.2, -0.4, 1.1])
    return memory, (memory[:3], memory[1:])


def twice() -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    memory = arrays()[0]
    return memory, (memory, memory)


def slopes(f: Callable[..., Any], made: Callable[[], Any], n: int) -> np.ndarray:
    """By each element of the memory, from plain Python."""

    def at(k: int, h: float) -> float:
        memory, (a, b) = made()
        memory[k] += h
        return float(f(a, b, n))

    return np.array([(at(k, 1e-6) - at(k, -1e-6)) / 2e-6 for k in range(len(made()[0]))])


@pytest.mark.parametrize(("made", "n"), [(apart, 1), (overlapping, 0), (twice, 1)])
@pytest.mark.parametrize("writer", WRITERS)
def test_gradients_and_tangents_leave_arguments_alone(writer: Any, made: Any, n: int) -> None:
    f = misfit(writer)
    expected = slopes(f, made, n)
    memory, (a, b) = made()
    before = memory.copy()
    if made is not apart:
        value, (ga, gb) = adc.value_and_grad(f, argnums=(0, 1))(a, b, n)
        assert np.allclose(ga, expected[: len(a)], rtol=1e-7, atol=1e-8)
        assert np.allclose(gb, expected[-len(b) :], rtol=1e-7, atol=1e-8)
    else:
        value, ga, gb = f(a.copy(), b.copy(), n), *adc.grad(f, argnums=(0, 1))(a.copy(), b.copy(), n)
        assert np.allclose(np.concatenate([ga, gb]), expected, rtol=1e-7, atol=1e-8)
    assert np.array_equal(memory, before)

    dots, (da, db) = made()
    assert np.array_equal(dots, before)
    y, y_dot = adc.jvp(f, (a, b, n), (da, db, None))
    assert np.array_equal(memory, before) and np.array_equal(dots, before)
    assert y == value and y_dot == pytest.approx(expected @ dots, rel=1e-7, abs=1e-8)

    assert adc.jit_grad(f)(a, b, n) == f(*(there := made())[1], n)
    assert np.array_equal(memory, there[0])


@pytest.mark.parametrize("writer", WRITERS)
def test_arrays_that_must_not_be_written(writer: Any) -> None:
    f = misfit(writer)
    a, b = arrays()
    gradient = adc.grad(f, argnums=(0, 1))
    expected = gradient(a, b, 1)
    for array in (a, b):
        array.flags.writeable = False
    assert all(map(np.array_equal, gradient(a, b, 1), expected))
    with pytest.raises(ValueError, match="read-only"):
        adc.jit_grad(f)(a, b, 1)
    with pytest.raises(adc.errors.AdcError, match="the same for all items"):
        adc.vmap(f, in_axes=(0, None, None))(np.ones((2, 3)), arrays()[0], 1)


def test_a_pullback_knows_what_was_written() -> None:
    f = adc.jit_grad(misfit(swapped))
    a, b = arrays()
    expected = f.grad(a, b, 1)
    _, back = f.pullback(a, b, 1)
    assert np.array_equal(b, [1.1 * 0.8 * 1.2, 0.8, 0.5])
    assert np.allclose(back(1.0)[0], expected, rtol=1e-15)


class Counted:
    def __init__(self, array):
        self.array = array
        self.asked = 0

    @property
    def shown(self):
        self.asked += 1
        return self.array


def what_is_stored_into_is_evaluated_once(x):
    lists, asked, a = [np.zeros(2), np.ones(2), x * 1.0], [0], x * 1.0

    def get():
        asked[0] += 1
        return a

    lists.pop()[0] = x[0]
    lists.pop()[0] += x[0]
    get()[0] = 5.0 * x[1]
    get()[1] *= x[0]
    counted = Counted(x * 1.0)
    counted.shown[0] = 3.0 * x[1]
    counted.shown[1] += 3.0 * x[1]
    return len(lists) + lists[-1].sum() + asked[0] * a.sum() + counted.asked * counted.array.sum()


def test_what_is_stored_into_is_evaluated_once():
    check(what_is_stored_into_is_evaluated_once, (np.array([1.5, -0.7]),))


def added_to_pending(u):
    w = u.copy()
    return (w * 2.0) + np.add(w, 1.0, out=w), w[0] * 2.0 - np.multiply(w, 3.0, w)[0], w


def compared_to_pending(u):
    w = u.copy()

    def grown():
        w[:] += 5.0
        return w

    return (w * 2.0) < np.add(w, 5.0, out=w), (w * 9.0) < grown(), w


def methods_of_pending(u):
    w = u.copy()
    return (w * 2.0).dot(np.add(w, 1.0, out=w)), (w * 2.0).clip(0.0, np.add(w, 1.0, out=w)), w


def passed_beside_pending(u):
    w = u.copy()

    def less(x, y):
        return x - y

    return less(w * 2.0, np.multiply(w, 3.0, out=w)), w[::2] * 1.0 + np.add(w, 1.0, out=w)[::2], w


PENDING = added_to_pending, compared_to_pending, methods_of_pending, passed_beside_pending


@pytest.mark.parametrize("program", PENDING, ids=lambda f: f.__name__)
def test_pending_expressions_are_computed_before_what_they_read_is_written(program):
    u = np.arange(4.0) + 1.0
    for found, wanted in zip(adc.jit_grad(program)(u), program(u), strict=True):
        np.testing.assert_array_equal(found, wanted)
