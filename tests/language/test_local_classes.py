"""Classes that a function defines, and objects with an ``__iter__``: as in Python to the bit; derivatives against
differences."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

import adc
from adc import jit_grad
from adc.errors import CompileError
from tests.language.as_in_python import NUMBERS, check

SCALE = 2.0


def plain(w):
    class Moments:
        """The running ones."""

        start = 0.0
        __slots__ = ("mean", "n", "total")

        def __init__(self):
            self.n = 0
            self.mean = self.start
            self.total = 0.0

        def push(self, x):
            self.n += 1
            d = x - self.mean
            self.mean += d / self.n
            self.total += d * (x - self.mean)

        @property
        def variance(self):
            return self.total / (self.n - 1) * SCALE

    m = Moments()
    for x in w:
        m.push(x)
    return m.variance


def weight(x):
    return x * SCALE


def several(w):
    @dataclass(frozen=True)
    class Point:
        x: float
        y: float = 2.0
        tags: list = field(default_factory=list)

        def area(self):
            return weight(self.x) * self.y

    class Far(Point):
        def area(self):
            return super().area() * 3 + math.sin(self.x)

    class Pair(NamedTuple):
        a: float
        b: float = 1.0

    class Kind(enum.Enum):
        NEAR = 1
        FAR = 2

    made = {Kind.NEAR: Point, Kind.FAR: Far}
    total = 0.0
    for kind in Kind:
        total += sum(made[kind](x).area() for x in w)
    pair = Pair(w[0])
    return total + pair.a * pair.b + len(Point(1.0).tags)


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        k = self.n
        while k > 0:
            yield k
            k -= 1


class Path:
    def __init__(self, points):
        self.points = points

    def __iter__(self):
        return iter(self.points)

    def longer(self):
        for p in self:
            yield p * 2


def iterables(w):
    total = 0.0
    for k in Countdown(4):
        if k == 2:
            continue
        total += k * w[k]
    path = Path(w)
    for i, x in enumerate(w):
        total += i * x
    for x in path:
        total = total * 1.1 + x
    for x in path.longer():
        total += x * x
    return total + sum(Countdown(3)) + max(Path([w[0], w[1]])) + len(list(Path(w)))


@pytest.mark.parametrize("function", [plain, several, iterables])
def test_as_in_python(function):
    compiled = check(function)
    w = NUMBERS
    assert compiled(w[:5]) == function(w[:5])
    assert adc.grad(function)(w) == pytest.approx(compiled.grad(w))


def test_returned():
    def function(x):
        @dataclass
        class Both:
            x: float
            y: float

        return Both(x, 2 * x)

    got = jit_grad(function)(1.5)
    assert repr(got) == repr(function(1.5))
    assert (got.x, got.y) == (1.5, 3.0)


def of_the_run(x):
    class C:
        def f(self):
            return x

    return C().f()


def changes_later(x):
    def g():
        return 1.0

    class C:
        def f(self):
            return g()

    before = C().f()

    def g():  # noqa: F811
        return 2.0

    return before + C().f() * x


def computed(x):
    class C:
        k = math.sqrt(2.0)

    return C.k * x


def decorated(x):
    @jit_grad
    class C:
        pass

    return x


@pytest.mark.parametrize(
    "function, said",
    [
        (of_the_run, "cannot read the variable 'x'"),
        (changes_later, "this part of a class"),
        (computed, "math.sqrt(2.0)"),
        (decorated, "this part of a class"),
    ],
)
def test_refused(function, said):
    with pytest.raises(CompileError) as refused:
        jit_grad(function)(2.0)
    assert said in str(refused.value)
    assert "define the class at module level" in str(refused.value)
    assert "test_local_classes.py" in str(refused.value)


def test_properties_that_are_set():
    def scaled(x):
        class Length:
            unit = 2.0

            def __init__(self, value):
                self.value = value

            @property
            def metres(self):
                return self.value * self.unit

            @metres.setter
            def metres(self, metres):
                self.value = metres / self.unit

        length = Length(x)
        length.metres = length.metres * length.value
        return length.value

    assert jit_grad(scaled)(3.0) == scaled(3.0) == 9.0
    assert jit_grad(scaled).grad(3.0) == 6.0
