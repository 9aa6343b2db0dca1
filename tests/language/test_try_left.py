"""What an ``else`` and a ``finally`` read, however the body of their ``try`` is left: as in Python, with derivatives
against differences."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc import jit_grad


def read_in_the_else_only(a, x):
    try:
        y = x * x + 10 % int(x)
        z = x if x < 2.0 else 3 * x
    except ZeroDivisionError:
        return x
    else:
        return y * z
    finally:
        a[1] += x


def after_a_return(a, x):
    try:
        if x > 1.0:
            return x
        x = 5.0
    finally:
        a[0] += x
    return x * x


def after_a_return_in_loops(a, x):
    for k in range(5):
        try:
            y = x * k
            if y > 4.0:
                return y
            x = x * 1.5
        finally:
            a[k % 3] += y * x
    return x


def after_a_return_in_the_else_of_a_loop(a, x):
    try:
        while x < 2.0:
            x *= 1.7
            if x > 1.9:
                break
        else:
            if x > 2.5:
                return x
            x -= 1.0
    finally:
        a[2] *= x
    return -x


def another_type_before_a_return(a, x):
    try:
        if x > 1.0:
            y = a * 2
            return x + np.sum(y)
        y = 2.0 * x
    finally:
        a[0] += x
    return y * y


@pytest.mark.parametrize(
    "function",
    [
        another_type_before_a_return,
        read_in_the_else_only,
        after_a_return,
        after_a_return_in_loops,
        after_a_return_in_the_else_of_a_loop,
    ],
)
def test_as_in_python(function):
    def total(a, x):
        return function(a, x) + np.sum(a * np.arange(1.0, 4.0))

    for x in (0.25, 1.25, 3.5):
        plain, compiled = np.arange(1.0, 4.0), np.arange(1.0, 4.0)
        assert jit_grad(function)(compiled, x) == function(plain, x)
        assert np.array_equal(compiled, plain)
        h = 1e-6
        slope = (total(np.arange(1.0, 4.0), x + h) - total(np.arange(1.0, 4.0), x - h)) / (2 * h)
        assert adc.grad(total, argnums=1)(np.arange(1.0, 4.0), x) == pytest.approx(slope, rel=1e-6, abs=1e-6)
