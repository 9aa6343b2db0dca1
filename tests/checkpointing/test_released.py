"""What steps, calls and loops of unknown length keep for the reverse sweep is freed when they are reversed, so that the
memory of a schedule does not grow with the number of steps; and ``memory=`` knows the memory of loops of unknown
length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from tests.checkpointing.test_gradients import bits
from tests.checkpointing.test_memory import HEADERS, measured

pytestmark = pytest.mark.usefixtures("stages")


def nested(a, n):
    s = 0.0
    for t in adc.steps(n, checkpoint=adc.revolve(4)):
        y = 1.0
        u = np.zeros(12)
        for _ in adc.steps(5, checkpoint=adc.revolve(2)):
            for i in range(12):
                u[i] = u[i] + 0.5 * y * y
            y = 0.5 * (y + (a[t % 5] + s * 0.01) / y)
        s = 0.9 * s + y + u[3] * 1e-3
    return s


def with_a_while_loop(a, n):
    s = 0.0
    for t in adc.steps(n, checkpoint=adc.revolve(4)):
        y = 1.0
        u = np.zeros(12)
        while abs(y * y - a[t % 5] - s * 0.01) > 1e-12 and t % 7 != 3:
            for i in range(12):
                u[i] = np.sin(u[i]) + 0.5 * y * y
            y = 0.5 * (y + (a[t % 5] + s * 0.01) / y)
        s = 0.9 * s + y + u[3] * 1e-3
    return s


def down(a, k, s):
    if k == 0:
        return s
    u = np.zeros(12)
    for i in range(12):
        u[i] = np.sin(a[k % 5] * s + i)
    y = s
    while y > 0.3:
        y = 0.7 * y * np.cos(u[k])
    return down(a, k - 1, np.sum(u * u) * 0.01 + y)


def with_a_recursion(a, n):
    s = 0.5
    for _ in adc.steps(n, checkpoint=adc.revolve(4)):
        s = 0.9 * s + down(a, 5, s)
    return s


def made(a, k):
    """A new array, which is kept for the reverse sweep as well. Too long to be inlined."""
    u, v = np.zeros(9), np.ones(9)
    for i in range(9):
        x = a[k % 5] + i
        u[i] = np.sin(x) * np.cos(0.1 * x) + np.exp(-x * x) - np.tanh(0.2 * x) + np.sqrt(1.0 + x * x)
        u[i] += np.sin(2 * x) * np.cos(0.2 * x) + np.exp(-x) - np.tanh(0.3 * x) + np.sqrt(2.0 + x * x)
        u[i] += np.sin(3 * x) * np.cos(0.3 * x) + np.exp(-2 * x) - np.tanh(0.4 * x) + np.sqrt(3.0 + x * x)
        u[i] += np.sin(4 * x) * np.cos(0.4 * x) + np.exp(-3 * x) - np.tanh(0.5 * x) + np.sqrt(4.0 + x * x)
        u[i] += np.sin(5 * x) * np.cos(0.5 * x) + np.exp(-4 * x) - np.tanh(0.6 * x) + np.sqrt(5.0 + x * x)
        u[i] *= 0.01
    for j in range(k):
        for i in range(1, 9):
            v[i] = np.sin(v[i] * u[i - 1] + u[i])
            u[i] = 0.5 * u[i] + v[i - 1] * np.exp(-u[i] * u[i])
    return u * v


def with_arrays_that_calls_return(a, n):
    s = 0.5
    for _ in adc.steps(n, checkpoint=adc.revolve(3)):
        u = made(a, 3)
        if s > 0.7:
            w = u * made(a, 2)
            s += np.sum(w * w)
        s = 0.5 * s + np.sum(np.sin(u * s))
    return s


PROGRAMS = [nested, with_a_while_loop, with_a_recursion, with_arrays_that_calls_return]
A = np.array([1.1, 2.0, 3.0, 0.5, 1.5])


@pytest.mark.parametrize("function", PROGRAMS)
def test_memory_does_not_grow_with_steps(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function)
    module = parse_module(compiled.grad.dump_ir("lowered", "f64[::1], i64"))

    def taken(n: int) -> int:
        statistics = interpreter.Statistics()
        interpreter.run(module, f"{function.__name__}.grad", [A.copy(), n, np.zeros(5)], statistics=statistics)
        return statistics.peak_bytes

    assert taken(24) == taken(12)
    if function is with_arrays_that_calls_return:
        assert "made.aug" in module.funcs


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_gradients_are_right(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function)
    found = compiled.grad(A.copy(), 9)
    direction, h = np.array([0.3, -0.2, 0.5, 0.1, -0.4]), 1e-6
    difference = (function(A + h * direction, 9) - function(A - h * direction, 9)) / (2 * h)
    np.testing.assert_allclose(found @ direction, difference, rtol=2e-7)
    assert bits(0.0, (compiled.grad(A.copy(), 9),)) == bits(0.0, (found,))
    if function is nested:  # takes long to compile, and has what the others have
        return
    value, back = compiled.pullback(A.copy(), 9)
    for _ in range(2):  # the same forward sweep, reversed again
        np.testing.assert_allclose(back(1.0)[0], found, rtol=1e-12)
    np.testing.assert_allclose(value, function(A.copy(), 9), rtol=1e-10)
    if function is with_a_recursion:
        return
    np.testing.assert_allclose(
        adc.hvp(compiled, (A.copy(), 9), (direction, None)),
        (compiled.grad(A + h * direction, 9) - compiled.grad(A - h * direction, 9)) / (2 * h),
        rtol=2e-5,
        atol=1e-7,
    )


# Budgets --------------------------------------------------------------------------------------------------------------


def settle(x, tolerance):
    v, change = x.copy(), 1.0
    while change > tolerance:
        w = v.copy()
        for i in range(1, v.shape[0] - 1):
            w[i] = 0.5 * v[i] + 0.25 * (np.sin(v[i - 1]) + v[i + 1])
        change = np.max(np.abs(w - v))
        v[:] = w
    return np.sum(v * v)


def roots(x, tolerance):
    """A scalar iteration in each step of a time loop."""
    s = 0.0
    for t in range(40):
        y = 1.0
        while abs(y * y - x[t % 5] - s * 0.01) > tolerance:
            y = 0.5 * (y + (x[t % 5] + s * 0.01) / y)
        s = 0.9 * s + y
    return s


@pytest.mark.parametrize(("function", "x"), [(settle, np.linspace(1.0, 0.2, 40) ** 2), (roots, A)])
def test_budgets_of_loops_of_unknown_length(function: Callable[..., Any], x: Any) -> None:
    compiled = jit_grad(function, argnums=(0,))
    expected = compiled.grad(x.copy(), 1e-2)
    table = compiled.grad.forecast(x, 1e-2)
    assert table.whole is None
    assert [loop.known for loop in table.loops] == ([False] if function is settle else [False, True])
    for budget in (table.least, 2 * table.least, 9 * table.least):
        limited = jit_grad(function, argnums=(0,), memory=budget)
        predicted = limited.grad.forecast(x, 1e-2)
        assert table.least <= predicted.peak <= budget
        assert bits(0.0, limited.grad(x.copy(), 1e-2)) == bits(0.0, expected)
        taken, _ = measured(limited, function, [x, 1e-2], (0,))
        # Small blocks share slabs, and take less than the forecast allows for each.
        assert taken <= predicted.peak <= taken + 2 * HEADERS
        assert "until it ends" in str(predicted) and f"{predicted.loops[0].snapshots} snapshots" in str(predicted)
    with pytest.raises(errors.OutOfMemoryError, match=f"at least {table.least} bytes"):
        compiled.grad(x.copy(), 1e-2, memory=table.least - 1)
