"""Lists of known length with many numbers, to which run-time positions are assigned: they are arrays in memory."""

from __future__ import annotations

import copy
import math

import pytest

import adc
from tests.programs.harness import check

COUNT = 40


def fields(x, n):
    e, h = [0 for _ in range(COUNT)], [0] * COUNT
    low = [0, 0]
    for step in range(n):
        for k in range(1, COUNT):
            e[k] = e[k] + 0.5 * (h[k - 1] - h[k])
        e[COUNT // 2] = x * math.exp(-0.5 * ((4 - step) / 3.0) ** 2)
        e[0] = low.pop(0)
        low.append(e[1])
        for k in range(COUNT - 1):
            h[k] = h[k] + 0.5 * (e[k] - e[k + 1])
    return sum(v * v for v in e)


def two_names(x, n):
    u = [x] * 25
    if n > 3:
        u[n] = 2.0 * x
    v = u
    v[n + 1] = 5.0 * x
    return sum(u) + u[n] * v[-1] + len(u)


def changed_in_a_call(x, n):
    def put(items, at, value):
        items[at] = value

    u = [0.0] * 32
    for i in range(n):
        put(u, -i - 1, x * i)
    first, second, *_ = u
    return sum(u[25:]) + max(u) + first + second


class Line:
    def __init__(self):
        self.u = [0.0] * 50

    def step(self, a):
        for i in range(1, 49):
            self.u[i] = self.u[i] + a * (i - self.u[i])


def attribute(x, n):
    line = Line()
    for _ in range(n):
        line.step(x)
    return sum(line.u)


@pytest.mark.parametrize("function", [fields, two_names, changed_in_a_call, attribute])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_values_and_gradients(function, n):
    check(function, (0.7, n))


def sieve(n):
    prime = [True] * 101
    prime[0] = prime[1] = False
    for i in range(2, 101):
        if prime[i]:
            for j in range(n * i, 101, i):
                prime[j] = False
    return prime


def counted(n):
    found = [0] * 20
    for i in range(n):
        found[i * i % 20] += 1
    return found


@pytest.mark.parametrize("function", [sieve, counted])
def test_items_keep_their_type(function):
    made, expected = adc.jit_grad(function)(2), function(2)
    assert made == expected and list(map(type, made)) == list(map(type, expected))


def given(u, x, n):
    for i in range(n):
        u[i % 20] += x * i
    return sum(a * a for a in u)


def test_a_list_of_the_caller():
    u = [0.1 * i for i in range(20)]
    mine, theirs = copy.copy(u), copy.copy(u)
    made = adc.jit_grad(argnums=(0, 1))(given)
    assert made(mine, 0.5, 30) == pytest.approx(given(theirs, 0.5, 30), rel=1e-14)
    assert mine == theirs
    by_list, by_number = made.grad(u, 0.5, 30)
    assert by_list == pytest.approx([2.0 * a for a in theirs])
    step = 1e-6
    ends = [given(copy.copy(u), 0.5 + sign * step, 30) for sign in (1, -1)]
    assert by_number == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-7)


def test_outside_of_the_list():
    made = adc.jit_grad(two_names)
    with pytest.raises(IndexError):
        made(1.0, 24)
    assert made(1.0, 23) == two_names(1.0, 23)


def test_the_length_of_the_code_does_not_depend_on_that_of_the_list():
    def long(x, n):
        u = [0.0] * 400
        for i in range(n):
            u[i] = x * i
        return sum(u)

    made = adc.jit_grad(long)
    assert made(0.5, 400) == long(0.5, 400)
    assert made.dump_ir("lowered").count("memref.store") < 10


def test_equal_items_are_told_apart():
    """0.0 and -0.0 are equal numbers with different signs."""

    def signs(x, k):
        u = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -0.0, -0.0, -0.0, -0.0, -0.0, x, x, x, x, x, x, 1.0, 2.0, 2.0]
        u[k] = -0.0
        return [math.copysign(1.0, v) for v in u]

    assert adc.jit_grad(signs)(1.0, 2) == signs(1.0, 2)


def test_different_things_stay_apart():
    def several(x, k):
        u = [x, None] * 10
        u[k] = x
        return [v for v in u if v is not None]

    assert adc.jit_grad(several)(2.5, 3) == several(2.5, 3)
