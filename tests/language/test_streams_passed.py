"""What ``zip``, ``map`` and similar functions give, and generator expressions over that, as arguments of functions of
the program, which go through it once."""

from __future__ import annotations

import itertools

import pytest

from adc import AdcError, jit_grad
from tests.language.as_in_python import NUMBERS, check


def mean(values):
    total, count = 0.0, 0
    for v in values:
        total += v
        count += 1
    return total / count


def pairs(values):
    for v in values:
        yield v, 2.0 * v


class Fit:
    def __init__(self, weight):
        self.weight = weight

    def error(self, residuals):
        return self.weight * sum(r * r for r in residuals)

    def whole(self, x, y):
        return self.error(a - b for a, b in zip(x, y)) + self.error(map(abs, x))


def expressions(x):
    total = mean(a * b for a, b in zip(x, x[::-1])) + mean(k * v for k, v in enumerate(x))
    total += mean(v for v in map(abs, x)) + mean(a * b for a, b in itertools.product(x, x[:2]))
    return total + mean(v * v for v in itertools.accumulate(x))


def calls(x):
    sums = 2.0 * mean(itertools.accumulate(x))
    return sums + mean(map(abs, x)) + mean(filter(lambda v: v > 0.3, x)) + mean(reversed(x))


def methods(x):
    return Fit(2.0).whole(x, x[::-1])


def generators(x):
    return sum(a * b for a, b in pairs(map(abs, x))) + sum(a - b for a, b in pairs(v * w for v, w in zip(x, x[::-1])))


def first_over(values, threshold):
    for v in values:
        if v > threshold:
            return v
    return -1.0


def siblings(x):
    """Functions of this one that its expressions call, and that call one another."""
    c = 2.0

    def scaled(v):
        return v * c

    def twice(v):
        return scaled(v) * 2.0

    return first_over((scaled(v) for v in x), 0.9) + first_over((twice(v) for v in x if scaled(v) > 0.3), 1.1)


def changed_meanwhile(x):
    """The function that goes through the items changes what they are of."""
    y = x.copy()

    def spreading(these):
        total = 0.0
        for k, v in these:
            total += k * v
            if k < 5:
                y[k + 1] += v
        return total

    return spreading(enumerate(y)) + spreading((k, 2.0 * v) for k, v in enumerate(y))


@pytest.mark.parametrize("function", [expressions, calls, methods, generators, siblings, changed_meanwhile])
def test_as_in_python(function):
    check(function)


class Spring:
    def __init__(self, stiffness, length):
        self.stiffness, self.length = stiffness, length


class Chain:
    def __init__(self, rest, springs):
        self.rest = rest
        self.springs = list(springs)

    def energy(self):
        return self.rest + sum(s.stiffness * s.length**2 for s in self.springs)


class Loose(Chain):
    def __init__(self, springs):
        super().__init__(0.5, springs)


def test_constructors():
    def energies(x):
        one = Chain(x[0], (Spring(a, b) for a, b in zip(x, x[::-1])))
        others = [Loose(Spring(k, v) for v in x if v > 0.2) for k in range(3)]
        return one.energy() + sum(c.energy() for c in others) + Loose(map(lambda v: Spring(v, 2.0), x)).energy()

    check(energies)

    class Pair:
        def __init__(self, values):
            self.first, self.second = list(values), list(values)

    with pytest.raises(AdcError, match="a generator expression cannot be kept"):
        jit_grad(lambda x: Pair(v for v in x).first[0])(NUMBERS)


def test_twice():
    def both(values):
        return sum(v for v in values) + sum(v for v in values)

    with pytest.raises(AdcError, match=r"what map\(\) gives cannot be kept"):
        jit_grad(lambda x: both(map(abs, x)))(NUMBERS)
