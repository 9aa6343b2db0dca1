"""``next`` of generator expressions over run-time data, ``operator.attrgetter`` and similar functions, and the
exceptions of Python's complex numbers."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np
import pytest

from adc import jit_grad
from tests.programs.harness import check

X = np.array([0.7, 1.4, -0.9, 2.1])
AT_X, FIRST = operator.attrgetter("x"), operator.itemgetter(0)


@dataclass
class Point:
    x: float
    y: float

    def far(self, k=1.0):
        return k * self.x**2 + self.y


def first_items(x):
    k = 3.0
    found = next(k * v for k, v in enumerate(x) if v < 0) + k
    found += next((a * b for a, b in zip(x, x * x) if a > b), -1.0)
    for k in range(4):
        found += next((v for v in x if v > k), x[0])
    points = [Point(v, 2.0) for v in x]
    one = next((p for p in points if p.x > 1), None)
    if one is not None:
        one.y = one.x
    try:
        found += next(v for v in x if v > 100)
    except StopIteration:
        found *= 2
    return found + sum(p.x * p.y for p in points)


def keys(x):
    points = [Point(v, float(v > 1)) for v in x]
    found = max(points, key=AT_X).x + 2 * min(points, key=operator.attrgetter("y", "x")).x
    found += 3 * sorted([(v, v * v) for v in x], key=FIRST)[1][1]
    return found + sum(map(operator.methodcaller("far", k=2.0), points))


@pytest.mark.parametrize("program", [first_items, keys])
def test_programs(program):
    check(program, (X,))


def test_no_item():
    with pytest.raises(StopIteration):
        jit_grad(lambda x: next(v for v in x if v > 100))(X)


def of_power(z):
    try:
        return z**3
    except OverflowError:
        return 7.0 + 0.0j


def modulus(z):
    try:
        return abs(z)
    except OverflowError:
        return -1.0


@pytest.mark.parametrize("z", [1e120 + 1j, 3 + 4j, complex("inf+1j"), complex("nan"), 1e308 + 1e308j, complex("inf")])
def test_complex_numbers_in_try(z):
    for function in (of_power, modulus):
        assert str(jit_grad(function)(z)) == str(function(z))
