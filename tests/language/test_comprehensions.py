"""Comprehensions and generator expressions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import CompileSyntaxError
from tests.programs.harness import check

V = np.array([0.3, -0.7, 1.1, 0.4])
S = 0.7


def known_items(x):
    xs = [x * k for k in range(4) if k != 2]
    ys = [a * b for a in xs for b in (1.0, x) if b is not None]
    pairs = {k: v * v for k, v in zip("abc", xs)}
    nested = [[i * j * x for j in range(3)] for i in range(3)]
    k = 10.0
    return sum(xs) + ys[1] * pairs["b"] + nested[2][2] + max(y * y for y in ys) + k + len([a for a in ys])


def of_arrays(v, w):
    return sum(a * b for a, b in zip(v, w)) + max([a * a for a in v]) - min(math.sin(a) for a in v)


def of_ranges(x, n):
    total = sum(x**k / (k + 1) for k in range(n))
    total += sum(x * i * j for i in range(n) for j in range(i) if (i + j) % 2 == 0)
    return total + sum([math.sin(x * k) for k in range(n)], 0.5)


def conditions(v, n):
    positive = sum(a * a for a in v if a > 0.0)
    some = any(a > 1.0 for a in v)
    every = all(a < 2.0 and a * n < 5.0 for a in v)
    return positive * (2.0 if some else 3.0) + (1.0 if every else 0.0) * v[0]


def arrays(x, n):
    a = np.array([math.sin(x * k) for k in range(n)])
    return np.sum([x * k * k for k in range(n)]) + np.dot(a, a)


def inside(v, n):
    total = 0.0
    for i in range(n):
        if i != 1:
            total += sum(v[i] * a for a in v) * callee(v, i)
        y = [total * k for k in (1.0, 2.0)]
        total = y[0] * 0.5 + y[1] * 0.1
    return total


def callee(v, i):
    return max(a * (i + 1) for a in v)


def of_objects(x):
    states = [{"x": x * k} for k in (1.0, 2.0)]
    for s in states:
        s["x"] *= x
    return sum(s["x"] for s in states)


def integers(v, n):
    return v[0] * sum(k for k in range(n)) + v[1] * sum(a > 0 for a in v) + max(k % 3 for k in range(n))


@pytest.mark.parametrize(
    ("fn", "cases"),
    [
        (known_items, [(S,)]),
        (of_arrays, [(V, V[::-1] * 2)]),
        (of_ranges, [(S, 5), (S, 0), (S, 1)]),
        (conditions, [(V, 3), (-V, 50)]),
        (arrays, [(S, 4), (S, 0)]),
        (inside, [(V, 3), (V, 0)]),
        (of_objects, [(S,)]),
        (integers, [(V, 5)]),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_comprehension(fn, cases):
    check(fn, *cases)


def test_number_that_becomes_known():
    """The bound of a range is a part of what the code is compiled for, where the number of items must be known."""

    def f(x, n):
        table = {k: x * k for k in range(n)}
        return sum(table.values(), 0.0) + len(tuple(x for _ in range(n)))

    for n in (0, 3, 4):
        assert adc.jit_grad(f)(1.5, n) == f(1.5, n)
        assert adc.jit_grad(f).grad(1.5, n) == n * (n - 1) / 2


def test_extremum_of_nothing():
    def f(v):
        return max(a for a in v)

    assert adc.jit_grad(f)(V) == V.max()
    with pytest.raises(ValueError, match="iterable argument is empty"):
        adc.jit_grad(f)(V[:0])


def test_run_time_number():
    def f(v):
        xs = tuple(2 * a for a in v)
        return xs[0]

    def g(v):
        xs = tuple(a for a in (v[0], v[1]) if a > 0)
        return len(xs)

    for given in (V, np.linspace(0.0, 1.0, 100)):
        assert adc.jit_grad(f)(given) == f(given)
        assert adc.jit_grad(g)(given) == g(given)


K = 100.0


def late_list(x):
    made = [lambda y: y * K for K in (1.0, 2.0)]
    return made[0](x)


def late_dict(x):
    return {K: (lambda y: y * K) for K in (1.0, 2.0)}[1.0](x)


def late_in_a_list(x):
    made = [[lambda y: y * K * j for j in (1.0, 3.0)] for K in (1.0, 2.0)]
    return made[0][0](x)


def late_beside(x):
    K = 50.0
    made = [(k, lambda y: (lambda z: z * k)(y)) for k in (1.0, 2.0)]
    return K * made[0][1](x)


@pytest.mark.parametrize("function", [late_list, late_dict, late_in_a_list, late_beside])
def test_functions_that_read_a_variable_of_the_comprehension_later_are_refused(function):
    with pytest.raises(CompileSyntaxError, match=r"reads its variable '[Kkj]' after it has changed"):
        jit_grad(function)(1.5)


def early(x):
    w = 3.0
    apply = lambda f, y: f(y)
    made = [lambda y, k=k: y * k * w for k in (1.0, 2.0)]
    return made[0](x) + sum([apply(lambda y: y * k, x) for k in (1.0, 2.0)]) + [lambda y: y * w for _ in range(2)][1](x)


def test_functions_that_have_their_values_are_taken():
    assert jit_grad(early)(1.5) == early(1.5)


def cells(n):
    for i in range(n):
        for j in range(i):
            yield i, j


def dicts_of_generators(x):
    heights = {cell: x[cell[0]] * x[cell[1]] for cell in cells(4) if cell[1] != 1}
    sums = {i + 4 * j: v for (i, j), v in heights.items()}
    return sum(heights.values()) + heights[3, 2] + sums[3] * len(sums)


def test_dicts_of_generators():
    check(dicts_of_generators, (V,))


class Node:
    """Its parents are known when the function is compiled only if the objects are."""

    def __init__(self, value, parents=()):
        self.value, self.parents, self.slope = value, parents, 0.0

    def times(self, other):
        return Node(self.value * other.value, (self, other))

    def backward(self, slope):
        self.slope += slope
        for k, parent in enumerate(self.parents):
            parent.backward(slope * self.parents[1 - k].value)


def tape(v):
    nodes = [Node(x) for x in v]
    total = nodes[0]
    for node in nodes[1:]:
        total = total.times(node)
    seen = []
    for node in nodes:
        if node not in seen and node is not total:
            seen.append(node)
    total.backward(1.0)
    return total.value, np.array([node.slope for node in nodes]), len(seen)


def known_places(v):
    state = np.zeros((2, 2, 2))
    state[0, 0, 0] = 1.0
    for axis, turn in enumerate(v[:3]):
        state = np.moveaxis(np.tensordot(np.array([[1.0, turn], [-turn, 1.0]]), state, axes=(1, axis)), 0, axis)
    return state


@pytest.mark.parametrize("function", [tape, known_places])
def test_items_of_arrays_that_must_be_known(function):
    check(function, (V,))
