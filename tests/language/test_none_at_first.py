"""Variables that are None before a loop, and used under conditions that hold later."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.programs.harness import check

X = np.array([0.9, 0.4, -0.3, 1.7, 0.8])


class Point:
    def __init__(self, v):
        self.v = v


def differences(x):
    last = None
    s = 0.0
    for i in range(len(x)):
        if i > 0:
            s += (x[i] - last) ** 3
        last = x[i]
    return s


def in_conditions(x):
    last = None
    n = 0
    for v in x:
        if n > 0 and v < last:
            n += 2
        n += 1
        last = v
    return n * x[0] ** 2


def in_expressions(x):
    last = None
    s = 0.0
    for i, v in enumerate(x):
        s += 0.0 if i == 0 else v * last
        d = -last if i > 0 else v
        s += d * d
        last = v
    return s


def in_or(x):
    fresh, last = True, None
    steps, a, c = 0, x[0], 2 * x[0]
    while a > 0.05 and steps < 20:
        if (fresh and abs(a - c) >= 1) or (not fresh and abs(a - c) >= abs(c - last) / 2):
            b, fresh = a / 2, True
        else:
            b, fresh = a * 0.9, False
        last, c, a = c, a, b
        steps += 1
    return a * x[1]


def subscripts_and_attributes(x):
    window = point = pair = None
    s = 0.0
    for i in range(len(x)):
        if i > 0:
            s += window[0] * x[i] + window.sum() + point.v**2 + pair[1] * x[0]
        window = x[i : i + 2].copy()
        point = Point(x[i] * 2)
        pair = (i, x[i] ** 3)
    return s


def predecessors(x):
    before = [None] * len(x)
    for k in range(1, len(x)):
        if x[k] > 0:
            before[k] = k - 1
    at, s = len(x) - 1, 0.0
    while before[at] is not None:
        s += (at * x[0]) ** 2
        at = before[at]
    path = []
    while at is not None:
        path.insert(0, at)
        at = before[at]
    return s * len(path)


class Line:
    def __init__(self, slope):
        self.slope = slope

    def __call__(self, t):
        return self.slope * t

    at = __call__


def best_line(x):
    best, least = None, np.inf
    for slope in np.linspace(-1.0, 1.0, 5):
        line = Line(slope * x[0])
        error = np.sum((line(x) - x[::-1]) ** 2)
        if error < least:
            best, least = line, error
    return best(2.0) * best.at(x[1]), least


def best_function(x):
    best = None
    for k in range(len(x)):
        if x[k] > 1.0:
            best = lambda v, k=k: v * x[k]
    return best(3.0) * x[0]


@pytest.mark.parametrize(
    "function",
    [
        best_line,
        best_function,
        differences,
        in_conditions,
        in_expressions,
        in_or,
        subscripts_and_attributes,
        predecessors,
    ],
)
def test_as_in_python(function):
    check(function, (X,))


def test_what_is_still_none_raises_at_run_time():
    def f(x):
        v = None
        if x > 0:
            return v + 1.0
        return x

    def g(x):
        v = None
        return x > 0 and v > 3

    for function in (f, g):
        compiled = adc.jit_grad(function)
        assert compiled(-1.0) == function(-1.0)
        with pytest.raises(TypeError, match="is not defined for None and"):
            compiled(1.0)


def test_none_that_is_called_raises_at_run_time():
    with pytest.raises(TypeError, match="None cannot be called"):
        adc.jit_grad(best_function)(X * 0.5)


def test_errors_are_handled():
    def f(x):
        v = None
        for _ in range(3):
            try:
                x[0] += v * 2
            except TypeError:
                x[1] += 1
            v = x[0] * 0.5
        return x

    np.testing.assert_array_equal(adc.jit_grad(f)(X.copy()), f(X.copy()))
