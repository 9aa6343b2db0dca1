"""Frozen dataclasses with an ``__iter__`` are unpacked and looped over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adc import jit_grad


@dataclass(frozen=True)
class Vector:
    x: float
    y: float

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor: float) -> Vector:
        return Vector(self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def __iter__(self) -> Iterator[float]:
        return iter((self.x, self.y))


def test_unpacking() -> None:
    def product(x):
        a, b = Vector(x[0], x[1]) + 2.0 * Vector(x[2], x[3])
        return a * b

    x = np.arange(1.0, 5.0)
    compiled = jit_grad(product)
    assert compiled(x) == product(x) == 70.0
    assert np.array_equal(compiled.grad(x), [10.0, 7.0, 20.0, 14.0])


def test_loops() -> None:
    def squares(x):
        total = 0.0
        for v in [Vector(x[k], x[k + 1]) for k in range(len(x) - 1)]:
            for p in v:
                total += p * p
        return total

    x = np.arange(1.0, 5.0)
    compiled = jit_grad(squares)
    for given in (x, x[:2], x[:1], x[::-1]):
        assert compiled(given) == squares(given)
    assert np.array_equal(compiled.grad(x), [2.0, 8.0, 12.0, 8.0])
