"""Conditional expressions whose two values have no common type."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc.errors import CompileError

V = np.array([0.5, 1.5, -2.0])


def weights(x, n):
    w = V if n > 2 else 1.0
    return np.sum(w * x) + np.size(w)


def pair_or_one(x, n):
    items = (x, x * x) if n > 2 else (x,)
    return sum(items) + len(items)


def three(x, n):
    y = (x, x * x) if n > 2 else [x] if n > 1 else "abc"
    return len(y) * x


def in_a_loop(x, n):
    s = 0.0
    for i in range(n):
        y = np.array([x, x * i]) if i % 2 else x
        s += np.sum(y * y)
    return s


def unpacked(x, n):
    a, b = (x, V * x) if n > 2 else (x, 2.0)
    return np.sum(a * b)


def two_of_them(x, n):
    a = V * x if n > 2 else x
    b = (a, a) if n % 2 else (a, a, a)
    return sum(np.sum(one * one) for one in b)


def left_early(x, n):
    y = V if n > 2 else None
    if y is None:
        return x
    z = y if n > 3 else 2.0
    return np.sum(z * x * x)


def method_of_an_array(x, n):
    a = V * x
    f = a.sum if n > 2 else a.max
    return f()


PROGRAMS = [weights, pair_or_one, three, in_a_loop, unpacked, two_of_them, left_early, method_of_an_array]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_derivatives(program):
    made = adc.jit_grad(program)
    for n in range(5):
        assert made(1.5, n) == pytest.approx(program(1.5, n), rel=1e-15)
        wanted = (program(1.5 + 1e-6, n) - program(1.5 - 1e-6, n)) / 2e-6
        assert made.grad(1.5, n) == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        assert made.jvp((1.5, n), (1.0, None))[1] == pytest.approx(made.grad(1.5, n), rel=1e-14)


def test_results_have_one_type():
    def program(x):
        return V if x > 2.0 else x

    with pytest.raises(CompileError, match="no common type"):
        adc.jit_grad(program)(1.5)
