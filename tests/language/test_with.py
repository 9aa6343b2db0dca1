"""``with`` over objects and over results of ``contextlib.contextmanager``, and class patterns of ``match``."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest

from adc import jit_grad
from adc.errors import CompileError
from tests.programs.harness import check

X = np.array([0.7, 0.4, -0.9, 1.1, -0.2])


@dataclass
class Point:
    x: float
    y: float = 1.0


class Counted:
    def __init__(self):
        self.left = 0
        self.depth = 0.0

    def __enter__(self):
        self.depth += 1.0
        return self

    def __exit__(self, *exception):
        self.depth -= 1.0
        self.left += 1


class Scaled:
    def __init__(self, point, k):
        self.point = point
        self.k = k

    def __enter__(self):
        self.old = self.point.x
        self.point.x *= self.k
        return self.point

    def __exit__(self, kind, error, trace):
        self.point.x = self.old
        return False


@contextmanager
def scaled(point, k):
    old = point.x
    point.x = point.x * k
    try:
        yield point
    finally:
        point.x = old


@contextmanager
def shifted(point):
    point.x += 1.0
    yield
    point.x += 10.0


@contextmanager
def held(point):
    try:
        yield 3.0
    except KeyError:
        point.x = -1.0
        return
    except ValueError as error:  # noqa: F841
        point.x = 5.0
    point.y += 1.0


class Model:
    def __init__(self, x):
        self.x = x

    @contextmanager
    def at(self, x):
        self.x, x = x, self.x
        yield self
        self.x = x


def left_early(x):
    counted, total = Counted(), 0.0
    for a in x:
        with counted as c:
            if a > 1.0:
                continue
            total += a * c.depth
            if a < -0.5:
                break

    def first():
        with counted:
            return x[0] * counted.depth

    return total + counted.left + counted.depth + first()


def several(x):
    point = Point(x[0], x[1])
    with Scaled(point, 3.0) as p, Counted() as c, scaled(point, 2.0):
        y = p.x * p.y * c.depth
        with shifted(point):
            y += point.x
    with Model(x[2]).at(x[3] * 2) as m:
        y *= m.x
    return y + point.x + c.left


def with_exceptions(x):
    point, counted = Point(x[0], x[1]), Counted()
    for a in x:
        try:
            with scaled(point, 2.0) as p, counted:
                if a < 0:
                    raise ValueError
                point.y += p.x * a
        except ValueError:
            point.y += point.x
        with held(point) as k:
            if a < -0.5:
                raise KeyError
            if a < 0:
                raise ValueError
            point.y += k * a
    return point.y * point.x + counted.left


class Circle:
    __match_args__ = ("r",)

    def __init__(self, r):
        self.r = r


def area(shape):
    match shape:
        case Circle(r):
            return 3.0 * r * r
        case Point(x=0.5, y=b):
            return b
        case Point(a, b) if a > b:
            return a * b
        case Point(a, y=1.0):
            return a
        case Point():
            return shape.y
        case float(a):
            return a
        case (Circle(a), Point(b, c)):
            return a * b + c
        case None:
            return 7.0
        case _:
            return -1.0


def matched(x):
    found = area(Circle(x[0])) + area(Point(x[1], x[2])) + area(Point(x[2])) + area(Point(x[2], 9.0))
    found += area((Circle(x[0]), Point(x[3], 2.0))) + area(float(x[2])) + area(None) + area("a")
    found += area(Point(0.5, x[0]))
    for point in [Point(a, a * a) for a in x]:
        match point:
            case Point(x=a, y=b) if a > 0:
                found += a * b
            case Point(a):
                found += a
    return found


@pytest.mark.parametrize("program", [left_early, several, with_exceptions], ids=lambda f: f.__name__)
def test_with(program):
    check(program, (X,))


def test_match():
    check(matched, (X,))


class Suppressing(Counted):
    def __exit__(self, kind, error, trace):
        return True


class Lambda(Counted):
    __exit__ = lambda self, *args: True


class Looking(Counted):
    def __exit__(self, kind, error, trace):
        self.left += kind is None


@contextmanager
def twice(point):
    for _ in range(2):
        yield point


def enters(context):
    def program(x):
        with context(Point(x, x)):
            x = x * 2.0
        return x

    return program


def returns(x):
    with shifted(Point(x, x)):
        return x


def kept(x):
    context = shifted(Point(x, x))
    with context:
        x = x * 2.0
    return x


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (enters(lambda point: Suppressing()), "may suppress"),
        (enters(lambda point: Lambda()), "may suppress"),
        (enters(lambda point: Looking()), "looks at the exception"),
        (enters(twice), "just once"),
        (enters(lambda point: point), "with is not supported"),
        (enters(memoryview), "with is not supported"),
        (returns, "set a variable"),
        (kept, "shifted"),
    ],
)
def test_refused(program, said):
    with pytest.raises(CompileError, match=said):
        jit_grad(program)(2.0)
