"""Ranges as sequences, patterns of dicts, ``suppress``, and functions of Python's library: as in Python to the bit;
derivatives against differences."""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import math
import operator

import numpy as np
import pytest

from adc import jit_grad
from adc.errors import CompileError
from tests.language.as_in_python import check


def ranges(w):
    n, total = len(w), 0.0
    back = range(n)[::-1]
    for i in back:
        total = 0.9 * total + w[i]
    for i in range(n)[2:-1]:
        total += w[i]
    for i in range(1, n, 2)[::-1]:
        total = total * 0.8 + w[i]
    odd = range(n, -3, -2)
    counts = len(back) + 10 * len(odd) + 100 * len(odd[5:1]) + 1000 * odd[-1] + back[0] + sum(range(n)[1::3])
    return total + counts + sum(range(1, n + 1), 0.5) + w[odd[1]]


def shape(s):
    match s:
        case {"kind": "triangle", "b": b, "h": h}:
            return 0.5 * b * h
        case {"kind": "square", "a": a, **rest}:
            return a * a + len(rest)
        case {"kind": "circle" | "ring", "r": (low, high)} if high > 0:
            return math.pi * (high**2 - low**2)
        case [a, *_, z, 0]:
            return a - z
        case [a, *rest]:
            return a + sum(rest)
        case _:
            return -1.0


def patterns(w):
    total = shape({"kind": "triangle", "b": w[0], "h": w[1]}) + shape({"kind": "square", "a": w[2], "c": 1})
    total += shape({"kind": "ring", "r": (w[0], w[1])}) + shape([w[0], w[1], w[2], 0]) * 2
    total += shape([w[0], w[1], w[2]]) * 3
    return total + shape({"kind": "other"}) * w[0] + shape(3.0) + shape([w[3]]) + shape(())


def suppressed(w):
    total = 0.0
    for i in range(6):
        with contextlib.suppress(ValueError, IndexError):
            if w[i] < 0.3:
                raise ValueError("small")
            total += math.sqrt(w[i]) + w[i + 1]
        with contextlib.suppress(ZeroDivisionError):
            if i == 4:
                break
            total += 1 // (i - 2)
    return total


class NotRight(Exception):
    pass


def not_suppressed(w):
    with contextlib.suppress(ValueError):
        if w[0] > 0:
            raise NotRight("as it is")
    return 0.0


def of_library(w):
    total = functools.reduce(operator.iadd, [v * 2 for v in w], 0.0) + operator.getitem(w, 2) * operator.lt(w[0], 2.0)
    for a, b in list(itertools.zip_longest(w[:2], w[3:], fillvalue=1.0)):
        total = total * 1.1 + a * b
    d = dict.fromkeys(["a", "b"], 0.0)
    d["a"] += w[0]
    e = dict.fromkeys([int(v * 4) for v in w], 1.0)
    return total + d["a"] + d["b"] + sum(k * v for k, v in e.items())


def powers(w):
    k = int(w[0] * 10) + 3
    bits = [pow(k + i, 13, m) for i, m in ((0, 97), (1, -7), (2, 1), (3, 2**31))]
    return sum(bits) * w[1] + pow(3, -1, 3 * k + 1) + pow(k, 0, 5)


def not_invertible(w):
    return pow(int(w[0] * 0 + 2), -1, 4) * w[0]


def named_tuples(w):
    Point = collections.namedtuple("Point", "x y")
    Other = collections.namedtuple("Other", ["a", "b"], defaults=[2.0])
    points = [Point(x, 2 * x) for x in w]
    return sum(p.x * p.y for p in points) + Other(w[0]).b + points[0]._replace(y=1.0).y


@functools.total_ordering
class Job:
    def __init__(self, due, weight):
        self.due = due
        self.weight = weight

    def __lt__(self, other):
        return self.due < other.due

    def __eq__(self, other):
        return self.due == other.due


def jobs(w):
    many, few = [Job(a, b) for a, b in zip(w, w[::-1])], [Job(w[0], w[1]), Job(w[2], w[3]), Job(w[2], w[5])]
    time = cost = 0.0
    for job in [*sorted(many), *sorted(many, reverse=True), *sorted(few)]:
        time += job.due
        cost += time * job.weight
    cost += min(few).weight + max(few[0], few[1]).weight * 2 + max(few).weight
    return cost + min(many).weight * 3 + max(many).due


@pytest.mark.parametrize("function", [ranges, patterns, suppressed, of_library, powers, named_tuples, jobs])
def test_as_in_python(function):
    check(function)


@pytest.mark.parametrize("function", [not_suppressed, not_invertible])
def test_raises_what_python_raises(function):
    w = np.ones(6)
    with pytest.raises((NotRight, ValueError)) as expected:
        function(w)
    with pytest.raises(expected.type, match=str(expected.value)):
        jit_grad(function)(w)


def test_an_item_of_a_range_that_is_not_there():
    def item(w):
        return w[range(3)[len(w)]]

    with pytest.raises(IndexError, match="range object index out of range"):
        jit_grad(item)(np.ones(6))


def test_a_pattern_of_computed_keys_is_refused():
    def keyed(w):
        d = {int(x): x for x in w}
        match d:
            case {1: x}:
                return x
        return 0.0

    with pytest.raises(CompileError, match="pattern of a dict with keys that the run computes"):
        jit_grad(keyed)(np.ones(3))


def test_numpys_integers_take_no_modulus() -> None:
    def f(k, x):
        return pow(k[0], 2, 7) * x

    with pytest.raises(TypeError):
        f(np.array([3]), 1.0)
    with pytest.raises(TypeError, match="with a modulus takes Python's integers, not"):
        jit_grad(f)(np.array([3]), 1.0)
