"""Comprehensions whose items change objects, in calls of NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from tests.numpy.checking import check_function

Array = Any


class Leaky:
    def __init__(self, keep: float) -> None:
        self.keep = keep
        self.level = 0.0
        self.levels = np.zeros(2)

    def number(self, x: float) -> float:
        self.level = self.keep * self.level + x
        return self.level

    def array(self, x: float) -> Array:
        self.levels = self.keep * self.levels + x
        return self.levels

    def in_place(self, x: float) -> Array:
        self.levels *= self.keep
        self.levels += x
        return self.levels.copy()


def numbers(keep: float, xs: Array) -> Any:
    tank = Leaky(keep)
    return np.array([tank.number(x) for x in xs]), tank.level


def arrays(keep: float, xs: Array) -> Any:
    tank = Leaky(keep)
    return np.array([tank.array(x) for x in xs]), np.stack([tank.array(np.array([x, 1.0])) for x in xs])


def joined(keep: float, xs: Array) -> Any:
    tank = Leaky(keep)
    return np.concatenate([tank.in_place(x) for x in xs]), np.hstack([tank.in_place(x) for x in xs])


def reduced(keep: float, xs: Array) -> Any:
    tank = Leaky(keep)
    return np.sum([tank.number(x) ** 2 for x in xs]), np.mean([tank.number(x) for x in xs if x > 0.3])


def counted(keep: float, xs: Array) -> Any:
    seen = []

    def weighted(x: float) -> float:
        seen.append(x)
        return len(seen) * x * keep

    return np.array([weighted(x) for x in xs])


@pytest.mark.parametrize("program", [numbers, arrays, joined, reduced, counted], ids=lambda f: f.__name__)
def test_state(program: Callable[..., Any]) -> None:
    check_function(program, (0.5, np.random.default_rng(0).random(6)), by=(0, 1))


class Doubling:
    def __init__(self, u):
        self.state = u.copy()

    def step(self):
        self.state *= 2.0
        return self.state

    def halves(self):
        return [self.step()[:2], self.state[2:]]


def added(u, n):
    w = u.copy()
    return np.array([np.add(w, 1.0, out=w) for _ in range(n)])


def summed(u, n):
    doubling = Doubling(u)
    return sum([doubling.step() for _ in range(n)])


def averaged(u, n):
    doubling = Doubling(u)
    return np.mean([doubling.step()[1:] for _ in range(n)], axis=0)


def stacked(u, n):
    doubling = Doubling(u)
    return np.hstack([doubling.step() for _ in range(n)])


def in_parts(u, n):
    doubling = Doubling(u)
    return np.array([doubling.halves() for _ in range(n)])


@pytest.mark.parametrize("program", [added, summed, averaged, stacked, in_parts], ids=lambda f: f.__name__)
def test_items_that_later_items_change_are_refused(program):
    with pytest.raises(adc.AdcError, match="this array may be changed later, and with it the item of the list"):
        jit_grad(program)(np.linspace(0.2, 1.0, 4), 3)


def known_number(u):
    doubling = Doubling(u)
    return sum([doubling.step() for _ in range(3)])


def counted(u, n):
    w = u.copy()

    def grows(k):
        w[k] += 1.0
        return w[k] > 1.3

    return any([grows(k) for k in range(n)]), all([grows(k) for k in range(n)]), w


def sums_of_states(u, n):
    doubling = Doubling(u)
    return sum([doubling.step().sum() for _ in range(n)]), max([doubling.step()[0] for _ in range(n)])


def copies(u, n):
    doubling = Doubling(u)
    return np.array([doubling.step() + k for k in range(n)]), sum([doubling.step().copy() for _ in range(n)])


def test_lists_are_complete_before_they_are_used():
    u = np.linspace(0.2, 1.0, 4)
    np.testing.assert_array_equal(jit_grad(known_number)(u), known_number(u))
    for program in (counted, sums_of_states, copies):
        for found, wanted in zip(jit_grad(program)(u, 3), program(u, 3), strict=True):
            np.testing.assert_array_equal(found, wanted)
