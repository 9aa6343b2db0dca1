"""``:=`` in conditions, loops, comprehensions, arguments and lambdas: assigned values, and where they are visible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import CompileError


def in_a_condition(x):
    if (y := x * x) > 1.0:
        return 2.0 * y
    return y


def used_in_the_same_expression(x):
    return (y := x * 2.0) * y + y


def read_before_it(x):
    y = 3.0
    return y * (y := x) + y


def in_and(x):
    y = 5.0
    if x > 1.0 and (y := math.sin(x)) > 0.2:
        return y
    return y * x


def in_or(x):
    y = 5.0
    if x > 1.0 or (y := x * x) > 0.2:
        y = y * 2.0
    return y * x


def in_a_chain(x):
    z = 0.0
    if 0.0 < (y := x * x) < (z := x + 1.0):
        return y * z
    return y - z


def in_a_conditional(x):
    y = 1.0
    r = (y := x * x) if x > 1.0 else (y := x + 5.0)
    return r * y


def in_a_while(x):
    total = 0.0
    while (y := x * 0.5) > 0.11:
        total += y
        x = y
    return total + y


def in_a_while_with_more(x):
    n, total = 0, 0.0
    while n < 20 and (y := x**n) < 50.0:
        n += 1
        if n == 3:
            continue
        total += y
        if total > 100.0:
            break
    else:
        total += 1000.0
    return total


def in_nested_loops(x):
    total = 0.0
    for k in range(3):
        j = 0
        while (j := j + 1) < 4:
            if (z := x * j) > k:
                total += z
    return total + j


def in_a_list_comprehension(x):
    values = [y * y for k in range(4) if (y := x * k) > 0.5 or k == 3]
    return sum(values) + y


def a_running_total(x):
    total = 0.0
    sums = [total := total + x * k for k in range(5)]
    return sums[2] * sums[4] + total


def over_an_array(x):
    u = x * np.array((1.0, 2.0, 3.0, 4.0))
    last = 0.0
    s = sum((last := v * v) + v for v in u)
    return s * last


def the_first_hit(x):
    u = x * np.array((1.0, 2.0, 3.0, 4.0))
    hit = 0.0
    if any((hit := v) > 2.5 for v in u):
        return hit * 10.0
    return hit


def filtered_sum(x):
    u = x * np.array((1.0, 2.0, 3.0, 4.0))
    return sum(y for v in u if (y := math.sin(v)) > 0.3)


def as_an_argument(x):
    r = math.pow(y := x + 1.0, 2.0)
    return r * y


def in_a_lambda(x):
    f = lambda t: (s := t * t) + s
    return f(x) + f(2.0 * x)


def an_array(x):
    if np.sum(v := x * np.ones(3)) > 2.0:
        v[0] = 7.0
    return np.sum(v * v)


def in_a_subscript(x):
    u = x * np.arange(5)
    k = 1
    u[k := k + 1] *= 3.0
    return u[k] + u[(k := k + 1)] * k


def in_parallel(x):
    out = np.zeros(4)
    for i in prange(4):
        if (y := x * i) > 1.0:
            out[i] = y * y
    return np.sum(out)


def perhaps_not_set(x):
    if x > 1.0 and (y := x * x) > 0.0:
        return y
    if x > 1.0:
        return y
    return x


PROGRAMS = [
    in_a_condition, used_in_the_same_expression, read_before_it, in_and, in_or, in_a_chain, in_a_conditional,
    in_a_while, in_a_while_with_more, in_nested_loops, in_a_list_comprehension, a_running_total, over_an_array,
    the_first_hit, filtered_sum, as_an_argument, in_a_lambda, an_array, in_a_subscript, in_parallel, perhaps_not_set,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn: Any) -> None:
    compiled, gradient = jit_grad(fn), adc.grad(fn)
    for x in (0.3, 0.8, 1.3, 2.6):
        assert np.isclose(compiled(x), fn(x), rtol=1e-13), x
        difference = (fn(x + 1e-6) - fn(x - 1e-6)) / 2e-6
        assert np.isclose(gradient(x), difference, rtol=1e-6, atol=1e-7), x
        assert np.isclose(gradient(x), adc.jvp(fn, (x,), (1.0,))[1], rtol=1e-12), x


def test_not_set() -> None:
    def f(x):
        if x > 1.0 and (y := x * x) > 0.0:
            x = 2.0
        return y

    assert jit_grad(f)(2.0) == 4.0
    with pytest.raises(UnboundLocalError, match="'y'"):
        f(0.5)
    with pytest.raises(UnboundLocalError, match="'y'"):
        jit_grad(f)(0.5)


def test_a_nonlocal_variable() -> None:
    def f(x):
        count = 0

        def step(v):
            nonlocal count
            if (count := count + 1) > 1:
                return v * count
            return v

        return step(x) + step(x) + count

    assert jit_grad(f)(3.0) == f(3.0)


def test_an_else_that_leaves_the_loop_around_is_refused() -> None:
    def f(x):
        for _ in range(3):
            while (y := x * 0.5) > 1.0:
                x = y
            else:
                break
        return x

    with pytest.raises(CompileError, match=":= is not supported here") as caught:
        jit_grad(f)(5.0)
    assert caught.value.help
