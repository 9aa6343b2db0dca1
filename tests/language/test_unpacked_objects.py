"""Objects that give their items by ``__iter__``, and generators, where several variables or arguments take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from adc import errors, jit_grad
from tests.language.as_in_python import NUMBERS, check


class Vector:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __iter__(self) -> Iterator[Any]:
        yield self.x
        yield self.y

    def __add__(self, other: Any) -> Any:
        x, y = other
        return Vector(self.x + x, self.y + y)


class Path:
    def __init__(self, points: Any) -> None:
        self.points = points

    def __iter__(self) -> Iterator[Any]:
        return iter(self.points)


def halves(x: Any) -> Iterator[Any]:
    for v in x:
        if v > 0.3:
            yield 0.5 * v


def vectors(w: Any) -> Any:
    x, y = Vector(w[0], w[1] * w[2])
    u, v = Vector(x, y) + Vector(w[3], w[4]) + (w[5], 1.0)
    return x * y + u * v * v


def in_loops(w: Any) -> Any:
    path = Path([Vector(w[0], w[1]), Vector(w[2], w[3]), Vector(w[4], w[5])])
    total = 0.0
    for x, y in path:
        total = total * x + y
    first, *others = path
    return total + sum(x * y for x, y in others) * first.x


def run_time_numbers(w: Any) -> Any:
    first, *others = Path(w * w)
    count = int(4 * w[0] + 5 - 4 * w[0])
    a, b, c, d, e = (w[k] * w[k + 1] for k in range(count))
    return first * sum(others) + a * b - c * d * e


def generators(w: Any) -> Any:
    def pair() -> Iterator[Any]:
        yield w[0] * w[1]
        yield w[2]

    a, b = pair()
    (c, d), e = list(pair()), w[3]
    return a * b + c * d * d * e


def as_arguments(w: Any) -> Any:
    def area(x: Any, y: Any, scale: Any = 1.0) -> Any:
        return x * y * scale

    return area(*Vector(w[0], w[1])) + area(*Vector(w[2], w[3]), w[4]) + max(*Vector(w[4], w[5]))


def in_comprehensions(w: Any) -> Any:
    return [v * w[2] for v in Vector(w[0], w[1])][1] + sum(v * v for v in Path(w[3:]))


PROGRAMS = [vectors, in_loops, run_time_numbers, generators, as_arguments, in_comprehensions]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[[Any], Any]) -> None:
    check(function)


def test_their_number_is_checked() -> None:
    def three(w: Any) -> Any:
        a, b, c = Vector(w[0], w[1])
        return a + b + c

    def two(w: Any) -> Any:
        a, b = halves(w)
        return a + b

    with pytest.raises(errors.CompileError, match="cannot unpack 2 values into 3 variables"):
        jit_grad(three)(NUMBERS)
    with pytest.raises(ValueError, match="values cannot be unpacked into 2 variables"):
        jit_grad(two)(NUMBERS)
