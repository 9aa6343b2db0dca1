"""Second and third derivatives of programs with loops, mutation, ``while`` and calls, against mpmath.

The reference are the same functions, run by Python on numbers with 60 digits, and mpmath's differences of these.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import adc
from adc import jit_grad

Program = Callable[[float], float]
PROGRAMS: list[tuple[Program, float]] = []


def at(x: float) -> Callable[[Program], Program]:
    def add(function: Program) -> Program:
        PROGRAMS.append((function, x))
        return function

    return add


# Loops ----------------------------------------------------------------------------------------------------------------


@at(1.3)
def power(x):
    y = 1.0
    for _ in range(5):
        y *= x
    return y


@at(0.7)
def logistic_map(x):
    y = 0.3
    for _ in range(6):
        y = x * y * (1.0 - y) * 3.0
    return y


@at(0.4)
def horner(x):
    y = 0.0
    for k in range(7):
        y = y * x + 1.0 / (k + 1.0)
    return y


@at(0.9)
def nested(x):
    s = 0.0
    for i in range(4):
        for j in range(i + 1):
            s += math.sin(x * (i + 1.0)) * math.cos(x * j)
    return s


@at(1.1)
def backwards(x):
    s = x
    for k in range(5, 0, -2):
        s = math.exp(-s / k) + x * x
    return s


@at(0.6)
def fibonacci_like(x):
    a, b = 1.0, x
    for _ in range(6):
        a, b = b, a * x + b * b * 0.1
    return b


@at(0.8)
def chosen(x):
    s = 0.0
    for k in range(6):
        if k % 2 == 0:
            s += x**k
        elif k % 3 == 0:
            s *= math.sin(x)
        else:
            s -= math.log(x + k)
    return s


@at(1.7)
def chosen_by_value(x):
    s = x
    for _ in range(5):
        if s > 1.0:
            s = math.log(s) + x / 3.0
        else:
            s = s * s + math.sqrt(x)
    return s


# while ----------------------------------------------------------------------------------------------------------------


@at(2.3)
def newton_root(x):
    y = 1.0
    k = 0
    while k < 8:
        y = 0.5 * (y + x / y)
        k += 1
    return y * math.sin(y)


@at(0.9)
def until_small(x):
    s, term, k = 0.0, 1.0, 1
    while abs(term) > 1e-6:
        s += term
        term *= -x * x / (k * (k + 1.0))
        k += 2
    return s


@at(3.1)
def halved(x):
    n = 0.0
    while x > 0.5:
        x = x * 0.5 + 0.01 * math.sin(x)
        n += x * x
    return n


@at(0.37)
def broken_off(x):
    y = x
    while True:
        y = y + x * math.exp(-y)
        if y > 1.5:
            break
    return y * y


@at(0.77)
def while_in_for(x):
    s = 0.0
    for k in range(1, 4):
        y = x * k
        while y > 0.6:
            y = math.sin(y) * 0.8
        s += y * y * y
    return s


# Mutation -------------------------------------------------------------------------------------------------------------


@at(0.5)
def prefix_products(x):
    a = np.zeros(6)
    a[0] = x
    for i in range(1, 6):
        a[i] = a[i - 1] * math.sin(x + i)
    return a[5] + a[2]


@at(0.3)
def in_place(x):
    a = np.zeros(4)
    for i in range(4):
        a[i] = x * (i + 1.0)
    for _ in range(3):
        for i in range(1, 4):
            a[i] = a[i] * a[i - 1] + x
    return a[3]


@at(0.45)
def heat(x):
    u = np.zeros(6)
    u[2] = x
    for _ in range(4):
        v = np.zeros(6)
        for i in range(1, 5):
            v[i] = u[i] + x * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u = v
    return u[2] * u[3]


@at(0.25)
def swapped(x):
    a, b = np.zeros(5), np.zeros(5)
    for i in range(5):
        a[i] = math.cos(x * i)
    for _ in range(3):
        for i in range(1, 4):
            b[i] = a[i - 1] * a[i + 1] * x + a[i]
        a, b = b, a
    s = 0.0
    for i in range(5):
        s += a[i] * b[4 - i]
    return s


@at(1.2)
def accumulated(x):
    a = np.zeros(3)
    for k in range(9):
        a[k % 3] += math.exp(x / (k + 1.0))
    return a[0] * a[1] / a[2]


@at(0.65)
def matrix_power(x):
    m = np.zeros((2, 2))
    m[0, 0], m[0, 1], m[1, 0], m[1, 1] = x, 1.0, -0.5, x * x
    p = np.zeros((2, 2))
    p[0, 0], p[1, 1] = 1.0, 1.0
    for _ in range(4):
        q = np.zeros((2, 2))
        for i in range(2):
            for j in range(2):
                for k in range(2):
                    q[i, j] += p[i, k] * m[k, j]
        p = q
    return p[0, 0] + p[0, 1] * p[1, 0]


@at(1.4)
def solved(x):
    """Elimination without pivots."""
    a, b = np.zeros((3, 3)), np.zeros(3)
    for i in range(3):
        for j in range(3):
            a[i, j] = 1.0 / (i + j + x)
        a[i, i] += 2.0
        b[i] = math.sin(x * (i + 1.0))
    for k in range(3):
        for i in range(k + 1, 3):
            f = a[i, k] / a[k, k]
            for j in range(k, 3):
                a[i, j] -= f * a[k, j]
            b[i] -= f * b[k]
    for i in range(2, -1, -1):
        for j in range(i + 1, 3):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return b[0] + b[1] * b[2]


# Calls and containers -------------------------------------------------------------------------------------------------


def square_sine(y):
    return math.sin(y) ** 2


def bump(a, i, y):
    a[i] += y * a[i] + y
    return a[i]


def factorial_like(y, k):
    return y if k == 0 else math.sin(y * k) * factorial_like(y, k - 1)


def fresh(y, n):
    a = np.zeros(3)
    for i in range(3):
        a[i] = y * (i + 1.0) + (0.5 if n == 0 else 0.1 * fresh(y, n - 1)[i])
    return a


@at(0.55)
def called(x):
    s = x
    for _ in range(3):
        s = square_sine(s) + x
    return s


@at(0.35)
def mutated_by_a_call(x):
    a = np.zeros(2)
    s = 0.0
    for k in range(5):
        s += bump(a, k % 2, x) * x
    return s


@at(0.85)
def recursive(x):
    return factorial_like(x, 4)


@at(0.6)
def arrays_of_a_recursion(x):
    a = fresh(x, 2)
    b = fresh(x * x, 1)
    return math.exp(-a[0] * b[1]) + math.sin(a[2]) * b[0]


@at(0.95)
def captured(x):
    total = np.zeros(1)

    def add(y):
        total[0] += y * total[0] + math.log(1.0 + y)

    for k in range(4):
        add(x / (k + 1.0))
    return total[0]


@at(0.2)
def in_a_list(x):
    items = [x, x * x, math.sin(x)]
    for k in range(3):
        items.append(items[k] * items[k + 1] + x)
    return items[-1] + items[3] * items[4]


@at(0.75)
def tuples(x):
    state = (x, 1.0)
    for _ in range(5):
        p, q = state
        state = (p - 0.1 * math.sin(q), q + 0.1 * p)
    return state[0] * state[1]


# Functions ------------------------------------------------------------------------------------------------------------


@at(0.66)
def many_functions(x):
    y = math.tanh(x) + math.atan(x) * math.sinh(x)
    for k in range(1, 4):
        y = math.sqrt(y * y + k) + math.asin(x / (k + 1.0)) - math.log1p(x * k)
    return y * math.erf(x)


@at(1.25)
def powers(x):
    y = x
    for k in range(1, 5):
        y = y ** (0.3 * k) + x ** (-k)
    return y**2.5


@at(0.42)
def pendulum(x):
    """Runge-Kutta of fourth order."""
    p, v, h = x, 0.0, 0.1
    for _ in range(4):
        a1 = -math.sin(p)
        p2, v2 = p + 0.5 * h * v, v + 0.5 * h * a1
        a2 = -math.sin(p2)
        p3, v3 = p + 0.5 * h * v2, v + 0.5 * h * a2
        a3 = -math.sin(p3)
        p4, v4 = p + h * v3, v + h * a3
        p, v = p + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4), v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 - math.sin(p4))
    return p * p + v


# The truth ------------------------------------------------------------------------------------------------------------


def zeros(shape: Any) -> Any:
    made = np.empty(shape, object)
    made[...] = mpmath.mpf(0)
    return made


EXACT = {
    "math": types.SimpleNamespace(
        **{name: getattr(mpmath, name) for name in "sin cos exp log sqrt tanh atan sinh asin".split()},
        log1p=lambda y: mpmath.log(1 + y),
        erf=mpmath.erf,
    ),
    "np": types.SimpleNamespace(zeros=zeros),
}


def exact(function: Program) -> Program:
    """The function on mpmath's numbers, and what it calls."""
    names: dict[str, Any] = {"__builtins__": __builtins__, **EXACT}
    for helper in (square_sine, bump, factorial_like, fresh):
        names[helper.__name__] = types.FunctionType(helper.__code__, names)
    return types.FunctionType(function.__code__, names)


def truth(function: Program, x: float, order: int) -> float:
    """Steps are so short that the decisions of the program are those at the point."""
    with mpmath.workdps(80):
        return float(mpmath.diff(exact(function), mpmath.mpf(x), order, h=mpmath.mpf(10) ** -15))


@pytest.mark.parametrize(("function", "x"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_second_and_third_derivatives(function: Program, x: float) -> None:
    second, third = truth(function, x, 2), truth(function, x, 3)
    size = max(1.0, abs(second), abs(third))
    compiled = jit_grad(function)

    def first(y):
        return adc.jvp(function, (y,), (1.0,))[1]

    assert abs(adc.hvp(compiled, (x,), (1.0,)) - second) <= 1e-12 * size
    # Forward over reverse over forward mode.
    assert abs(adc.hvp(jit_grad(first), (x,), (1.0,)) - third) <= 1e-11 * size
    twice = adc.grad(adc.grad(compiled))
    assert abs(twice(x) - second) <= 1e-12 * size
    assert abs(adc.jvp(twice, (x,), (1.0,))[1] - third) <= 1e-11 * size


def test_there_are_thirty() -> None:
    assert len(PROGRAMS) >= 30
    assert math.isfinite(sum(f(x) for f, x in PROGRAMS))


THREE_TIMES = [power, until_small, in_place, pendulum, while_in_for, matrix_power, solved, recursive]


@pytest.mark.parametrize("function", THREE_TIMES)
def test_three_times_reverse(function: Program) -> None:
    (x,) = (x for f, x in PROGRAMS if f is function)
    third = truth(function, x, 3)
    found = adc.grad(adc.grad(adc.grad(jit_grad(function))))(x)
    assert abs(found - third) <= 1e-11 * max(1.0, abs(third))
