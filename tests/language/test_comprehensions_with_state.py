"""Comprehensions whose items change objects, in calls of NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

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
