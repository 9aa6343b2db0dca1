"""Objects with an ``__iter__``, generators, ``itertools.accumulate`` and similar functions where their items are asked
for one by one: in ``for``, ``zip``, ``enumerate``, ``next``, ``any``, and in comprehensions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from itertools import accumulate, compress, dropwhile, filterfalse, takewhile
from typing import Any

import numpy as np
import pytest

from adc import AdcError, jit_grad
from tests.language.as_in_python import NUMBERS, check


class Vector:
    def __init__(self, *parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)

    def __add__(self, other):
        return Vector(*(a + b for a, b in zip(self, other)))

    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))


@dataclass
class Point:
    x: float
    y: float

    def __iter__(self):
        yield self.x
        yield self.y


class Bag:
    def __init__(self, values):
        self.items: list[Any] = []
        for v in values:
            self.add(v)

    def add(self, v):
        if v > 0.4:
            self.items.append(v)

    def __iter__(self):
        return iter(self.items)


class Tree:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def __iter__(self):
        if self.left is not None:
            yield from self.left
        yield self.value
        if self.right is not None:
            yield from self.right


class Changing:
    def __init__(self, values):
        self.values = list(values)

    def __iter__(self):
        for v in self.values:
            yield 1.0 * v

    def bump(self, v, k):
        if k < 5:
            self.values[k + 1] += v
        return v


class Naturals:
    def __iter__(self):
        n = 0
        while True:
            yield n
            n += 1


def small(x):
    for v in x:
        if v < 0.7:
            yield v * v


def failing(x):
    for k, v in enumerate(x):
        if k > 3:
            raise ValueError("beyond the fourth")
        yield v


def both_signs(x):
    for v in x:
        yield v
        yield -3 * v


def vectors(x):
    a, b = Vector(x[0], x[1], x[2]), Vector(x[3], x[4], x[5])
    c = a + b
    return c.dot(b) + max(c) + sorted(c)[0] + sum(p * q for p, q in zip(map(lambda u: u * u, a), b))


def in_lists(x):
    points = [Point(v, 2 * v) for v in x]
    total = sum(c * c for p in points for c in p)
    total += sum(a * b for p, q in itertools.pairwise(points) for a, b in zip(p, q))
    for p in points:
        for k, c in enumerate(p):
            total += k * c
        for k, c in enumerate(p, start=5):
            total += k * c * c
    return total + len([c for p in points for c in p])


def bags(x):
    bag = Bag(x)
    total = sum(k * v for k, v in enumerate(bag)) + max(bag) + sum([v + 1 for v in bag])
    for k, v in enumerate(bag):
        total += k * v
    for v, w in zip(bag, x):
        total += v * w
    return total


def trees(x):
    tree = Tree(x[0], Tree(x[1]), Tree(x[2], Tree(x[3])))
    return sum(k * v for k, v in enumerate(tree)) + sum(a * b for a, b in zip(tree, x)) + [v for v in tree][2]


def changed_on_the_way(x):
    holder, total, running = Changing(x), 0.0, list(x)
    for k, v in enumerate(holder):
        total += k * holder.bump(v, k)
    for k, v in enumerate(accumulate(running)):
        if k < 5:
            running[k + 1] += v
        total += k * v * v
    for k, v in enumerate(filter(lambda a: a > 0.5, running)):
        if k < 5:
            running[k + 1] *= 2.0
        total += v
    return total


def kept_and_left(x):
    total = 0.0
    for v in takewhile(lambda a: a < 0.9, x):
        total += v * v
    for v in dropwhile(lambda a: a > 0.3, x):
        total += 3 * v * v
    for v in filterfalse(lambda a: a > 0.5, x):
        total += 7 * v
    for v in compress(x, [1, 0, 1, 0, 1, 0]):
        total += 11 * v * v
    for v in itertools.accumulate(x, lambda a, b: 0.5 * a + b, initial=2.0):
        total += v * v
    for v in accumulate(x, max):
        total += v * v
    return total


def left_early(x):
    for k, v in enumerate(accumulate(abs(v) for v in x)):
        if v > 1.0:
            break
    else:
        k, v = -1, x[0]
    return k * x[0] + v


def first_ones(x):
    found = next(small(x)) + next(filter(lambda v: v > 100.0, x), 7.0) + next(accumulate(x, initial=3.0))
    return found * next((v for v in small(x) if v > 0.01), 1.0) + next(Naturals().__iter__())


def decided(x):
    calls = [0]

    def low(v):
        calls[0] += 1
        return v < 0.1

    found = any(low(v) for v in both_signs(x)) + 2 * all(v < 9.0 for v in both_signs(x) if v > 0.0)
    return calls[0] * x[0] + found * x[1] + any(v > -9.0 for v in failing(x)) * x[2]


def seen(x, calls):
    for v in x:
        calls[0] += 1
        yield v > 0.3


class Above:
    def __init__(self, x, least):
        self.x, self.least = x, least

    def __iter__(self):
        for v in self.x:
            yield v > self.least

    def far(self):
        for v in self.x:
            yield v > 2.0 * self.least


def some(values):
    return any(values)


def decided_by_generators(x):
    calls, above = [0], Above(x, 0.2)
    found = any(seen(x, calls)) + 2 * all(seen(x, calls)) + 4 * all(filter(lambda v: v > 0.1, seen(x, calls)))
    found += 8 * any(above) + 16 * all(above.far()) + 32 * some(seen(x, calls)) + 64 * some(v > 9.0 for v in x)
    return calls[0] * x[0] + found * x[1]


def left_where_it_is_decided(x):
    it = iter(x)
    found = any(v > 0.3 for v in it)
    return found * next(it) + sum(it)


def turned(x):
    rows = [[v for v in x[:3]], [v for v in x[3:]]]
    rows.append([v * w for v, w in zip(*rows)])
    table = [list(row) for row in x.reshape(2, 3)]
    columns = list(map(list, zip(*table)))
    total = sum(a * b for a, b in columns) + sum(k * sum(c) for k, c in enumerate(zip(*table)))
    return total + sum(rows[2]) + [*map(abs, x), *(v * v for v in x)][7] + sum([*zip(*table)][1])


def inner_generators(x):
    rows = [x[:3], x[3:]]
    return sum(v * v for row in rows for v in both_signs(row)) + [v for row in rows for v in both_signs(row)][3]


@pytest.mark.parametrize(
    "function",
    [
        *(vectors, in_lists, bags, trees, changed_on_the_way, kept_and_left, left_early, first_ones, decided),
        *(inner_generators, left_where_it_is_decided, turned, decided_by_generators),
    ],
)
def test_as_in_python(function):
    check(function)


def test_nothing_to_go_through():
    def ends(x):
        found = [1.0]
        for v in accumulate(x):
            found.append(v)
        for v in filter(None, x):
            found.append(v)
        return found

    compiled = jit_grad(ends)
    for given in (NUMBERS, NUMBERS[:1], NUMBERS[:0]):
        assert compiled(given) == ends(given)
    with pytest.raises(StopIteration):
        jit_grad(lambda x: next(filter(lambda v: v > 9.0, x)))(NUMBERS)


@dataclass
class Step:
    size: float
    at: float = 0.0


def test_objects_of_what_is_computed_ahead():
    def ends(x):
        steps = [Step(v) for v in accumulate(x)]
        for k, step in enumerate(steps):
            step.at += k * step.size
        return sum(step.at for step in steps)

    check(ends)


def changed_by_items(x):
    holder = Changing(x)
    return [holder.bump(v, k) for k, v in enumerate(holder)][1]


def changed_by_inner_items(x):
    holder = Changing(x)
    return [holder.bump(v, k) for k in range(2) for v in holder][1]


def added_up_ahead(x):
    y = x.copy()

    def bump(v):
        y[-1] += v
        return v

    return [bump(v) for v in accumulate(y)][1]


def summed_ahead(x):
    y = list(x)

    def bump(v, k):
        y[k] += 10.0
        return v

    return sum(bump(v, k) for k, v in enumerate(filter(lambda v: v > 0.5, y)))


def called_ahead(x):
    y = x.copy()

    def bump(v):
        y[-1] += v
        return v

    return sum(list(map(bump, accumulate(y))))


def array_of_ahead(x):
    y = x.copy()

    def bump(v):
        y[-1] += v
        return v

    return np.array([bump(v) for v in accumulate(y)])[0]


@pytest.mark.parametrize(
    "function",
    [changed_by_items, changed_by_inner_items, added_up_ahead, summed_ahead, called_ahead, array_of_ahead],
)
def test_computed_ahead(function):
    with pytest.raises(AdcError, match="computed ahead of what is changed for its items"):
        jit_grad(function)(NUMBERS)


def test_without_end():
    with pytest.raises(AdcError, match=r"zip\(\) cannot go through Naturals"):
        jit_grad(lambda x: sum(a * b for a, b in zip(x, Naturals())))(NUMBERS)
