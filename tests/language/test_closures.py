"""Functions that are passed to calls and stored there read the variables of the function that made them."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
import pytest

from adc import jit_grad


@dataclasses.dataclass
class Holder:
    f: Callable[[float], float]
    w: float


def same(f):
    return f


def twice(f):
    return lambda z: f(f(z))


def pair(f):
    return f, 1.0


def put(holder, f):
    holder.f = f


def back_from_a_loop(x, n):
    k, total = 1.0, 0.0
    for i in range(n):
        p = same(lambda z: z * k)
        k = k + i
        total += p(x)
    return total


def back_in_a_tuple(x, n):
    k = 1.0
    p = pair(lambda z: z * k)
    for i in range(n):
        k = k + i
        x = x + 0.1
    return p[0](x)


def back_in_a_list(x, n):
    k = 1.0
    p = same([lambda z: z * k, 2.0])
    if x > 0.1:
        k = x * n
    return p[0](x) * p[1]


def back_in_a_function(x, n):
    k = 1.0
    p = twice(lambda z: z * k)
    for _ in range(n):
        k = k + x
    return p(x)


def back_in_an_object(x, n):
    k = 1.0
    p = Holder(lambda z: z, 2.0)
    put(p, lambda z: z * k)
    for _ in range(n):
        k = k + x
    return p.f(x)


def back_with_an_array(x, n):
    a = np.zeros(3)
    p = same(lambda z: z * a[1])
    for _ in range(n):
        a = a + x
    return p(x)


def in_an_object(x, n):
    k = 1.0
    p = Holder(lambda z: z * k, 2.0)
    j = 0
    while j < n:
        j += 1
        k = k * 1.5 + x
    return p.f(x) * p.w


def appended(x, n):
    k = 1.0
    p = []
    p.append(lambda z: z * k)
    for i in range(n):
        if i > 1:
            k = k + x
    return p[0](x)


def in_tuples_in_a_loop(x, n):
    j, total = 0, 0.0
    while True:
        j += 1
        if j > n:
            break
        fs = (lambda z: math.sin(z * j * x), lambda z: z * x)
        gs = [lambda z: z + x, lambda z: fs[1](z * z)]
        for g in gs:
            total = math.atan(g(total) + 0.2 * total + fs[0](x))
    return total


def levels(n, f, x):
    k = 1.0 + n
    own = lambda z: z * k
    if n == 0:
        return f(x)
    y = levels(n - 1, own, x)
    k = k + 100.0
    return y + 0.001 * own(x)


def of_another_level(x, n):
    return levels(n, lambda z: z, x)


@pytest.mark.parametrize(
    "function",
    [
        back_from_a_loop,
        back_in_a_tuple,
        back_in_a_list,
        back_in_a_function,
        back_in_an_object,
        back_with_an_array,
        in_an_object,
        appended,
        in_tuples_in_a_loop,
        of_another_level,
    ],
    ids=lambda f: f.__name__,
)
def test_functions_read_the_variables_of_where_they_were_made(function: Callable[..., float]) -> None:
    x, h = 0.3, 1e-6
    assert jit_grad(function)(x, 3) == pytest.approx(function(x, 3), rel=1e-13)
    numeric = (function(x + h, 3) - function(x - h, 3)) / (2 * h)
    assert jit_grad(function).grad(x, 3) == pytest.approx(numeric, rel=1e-7)


def test_recursive_functions_with_a_cache():
    def taken(x):
        @functools.lru_cache(None)
        def most(i, left):
            if i == len(x) or left == 0:
                return 0.0
            return max(most(i + 1, left), most(i + 1, left - 1) + x[i] * x[i])

        return most(0, 2)

    x = np.array([1.0, -3.0, 2.0, 0.5])
    compiled = jit_grad(taken)
    assert compiled(x) == taken(x) == 13.0
    assert np.array_equal(compiled.grad(x), [0.0, -6.0, 4.0, 0.0])
