"""Special methods that built-in functions, comparisons, subscripts and texts call; generated methods of dataclasses;
and enum members that are numbers."""

from __future__ import annotations

import dataclasses
import enum
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import CompileError


@dataclasses.dataclass(frozen=True)
class Window:
    values: np.ndarray
    weight: float

    def __getitem__(self, k):
        return self.values[k] * self.weight

    def __setitem__(self, k, value):
        self.values[k] = value

    def __len__(self):
        return 2


@dataclasses.dataclass(order=True)
class Point:
    x: float
    y: float

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __float__(self):
        return self.x + self.y

    def __int__(self):
        return int(self.x)

    def __bool__(self):
        return self.x > 0

    def __len__(self):
        return 3

    def __round__(self, digits=None):
        return self.x

    def __floor__(self):
        return math.floor(self.x)

    def __ceil__(self):
        return 7

    def __trunc__(self):
        return 8

    def __divmod__(self, other):
        return self.x * 2.0, other

    def __rdivmod__(self, other):
        return self.y, other


@dataclasses.dataclass(order=True, frozen=True)
class Job:
    cost: float
    number: int
    note: str = dataclasses.field(default="", compare=False, repr=False)


@dataclasses.dataclass
class Tree:
    point: Point
    names: list
    parent: Tree | None = None


class Shown:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"Shown({self.x!r})"


class Formatted(Shown):
    def __str__(self):
        return f"<{self.x}>"

    def __format__(self, spec):
        return "as " + spec + "!"


class Pair(NamedTuple):
    x: float
    y: float

    def __abs__(self):
        return self.x * self.y


class Index:
    def __index__(self):
        return 3


class Side(enum.IntEnum):
    LEFT = 1
    RIGHT = 5


def frozen_items(x):
    w = Window(np.array([x, 2.0]), x)
    w[1] = x * x
    w[0] += w[1]
    return w[0] * w[1] + len(w)


def ordered(x):
    p, q = Point(x, 2.0), Point(1.0, x)
    return x * (p < q) + 2 * x * (p <= p) + 4 * x * (p > q) + 8 * x * (p >= Point(x, x)) + (x if p < q < p else 0.0)


def ordered_by_the_second(x):
    a, b = Job(1.0, 2, "first"), Job(1.0, 3, "second")
    return x * (a < b) + 2 * x * (Job(x, 1) < Job(x, 2, "b")) + 4 * x * (Job(x, 1, "a") == Job(x, 1, "b"))


def ordered_tuples(x):
    t = x * ((x, 1) < (x, 2)) + 2 * x * ([x, 1.0] < [x, 1.0, 0.0]) + 4 * x * ((x, "b") < (1.0, "a"))
    return (
        t
        + 8 * x * ((1, x) > (1, 0.7))
        + 16 * x * (Pair(x, 1.0) < (x, 2.0))
        + 32 * x * ((x, Job(x, 1)) >= (x, Job(1.0, 0)))
    )


def numbers_of_objects(x):
    p = Point(x, 2.0)
    return abs(p) + float(p) * int(p) + len(p) + round(p) + round(p, 2) + math.floor(p) + math.ceil(p) + math.trunc(p)


def truth_of_objects(x):
    p = Point(x - 1.0, 2.0)
    return x * bool(p) + (x if p else 2.0 * x) + (x if not p else 3.0 * x)


def quotients_of_objects(x):
    p = Point(x, 3.0 * x)
    return divmod(p, 2)[0] + divmod(2, p)[0]


def functions_of_objects(x):
    return math.sin(Point(x, 1.0)) + math.atan2(Point(x, 1.0), x) + float(Index()) + int(Index()) + abs(Pair(x, 2.0))


def named_members(x):
    s = Side.LEFT
    if x > 1.0:
        s = Side.RIGHT
    return x * s.value + len(s.name) + s * x + (x if s is Side.LEFT else 0.0) + (s == 5) * x


def taken(s, x):
    return x * s.value + len(s.name) if isinstance(s, Side) else x * s


def members_passed_on(x):
    return taken(Side.RIGHT, x) + taken(Side.LEFT, x) + taken(5, x)


def members_as_numbers(x):
    a = np.arange(6.0) * x
    s = Side.LEFT
    for i in range(3):
        if x > i:
            s = Side.RIGHT
    n = Side.LEFT
    for i in range(3):
        if x > i:
            n = n + 1
    return a[s] + a[Side.LEFT] + n * x + sum([float(m) for m in Side]) + (Side.LEFT | 2) * x + max(Side.LEFT, 0.5) * x


PROGRAMS = [
    frozen_items, ordered, ordered_by_the_second, ordered_tuples, numbers_of_objects, truth_of_objects,
    quotients_of_objects, functions_of_objects, named_members, members_passed_on, members_as_numbers,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn: Any) -> None:
    compiled, h = adc.value_and_grad(fn), 1e-6
    for x in (0.3, 0.8, 1.2, 2.5):
        value, gradient = compiled(x)
        assert np.isclose(value, fn(x), rtol=1e-14), x
        assert np.isclose(gradient, (fn(x + h) - fn(x - h)) / (2 * h), rtol=1e-6, atol=1e-7), x
        assert np.isclose(gradient, adc.jvp(fn, (x,), (1.0,))[1], rtol=1e-13), x


def test_members_as_arguments() -> None:
    compiled = jit_grad(taken, argnums=1)
    for s in (Side.LEFT, 1, Side.RIGHT, 5, Side.LEFT, 2, True):
        assert compiled(s, 0.5) == taken(s, 0.5), s
        assert compiled.grad(s, 0.5) == float(s)


def printed(x):
    p, s, f = Point(x, 2.0), Shown(x), Formatted(x)
    print(p, Job(x, 2, "hidden"), s, f, [s, f, p], (Job(x, 1),), {"a": s}, Pair(x, 1.0))
    print(f"{p} {Job(x, 1)!r} {s} {s!s} {f} {f!r} {f!s} {f:>5}")
    print("%s %r" % (p, s), "{} {!r}".format(f, f), str(s), repr(f), str(p), repr([p, f]))  # noqa: UP031, UP032
    print(Side.LEFT, repr(Side.RIGHT), f"{Side.LEFT} {Side.LEFT!r}", Tree(p, ["a", x], Tree(p, [])))
    return x


def printed_in_a_circle(x):
    tree = Tree(Point(x, 1.0), [1])
    tree.parent = tree
    tree.names.append(tree.names)
    print(tree, tree.names)
    return x


@pytest.mark.parametrize("fn", [printed, printed_in_a_circle], ids=lambda f: f.__name__)
def test_texts(fn: Any, capfd: Any) -> None:
    fn(0.7)
    expected = capfd.readouterr().out
    jit_grad(fn)(0.7)
    assert capfd.readouterr().out == expected


def test_raised_with_an_object_in_its_text() -> None:
    def f(x):
        raise ValueError(f"{Point(x, 1.0)} is {Shown(x)}")

    with pytest.raises(ValueError) as caught:
        jit_grad(f)(0.5)
    assert caught.value.args == ("Point(x=0.5, y=1.0) is Shown(0.5)",)


def of_two_classes(x):
    return x if Point(x, 1.0) < Job(x, 1) else 0.0


def without_an_order(x):
    return x if Window(np.ones(2), x) < Window(np.ones(2), x) else 0.0


def not_an_int(x):
    class_ = NotAnInt()
    return int(class_) + x


class NotAnInt:
    def __int__(self):
        return 1.5


def frozen_without_items(x):
    job = Job(x, 1)
    job[0] = x
    return x


@pytest.mark.parametrize(
    "fn", [of_two_classes, without_an_order, not_an_int, frozen_without_items], ids=lambda f: f.__name__
)
def test_refused_where_python_raises(fn: Any) -> None:
    with pytest.raises(TypeError):
        fn(0.7)
    with pytest.raises(CompileError):
        jit_grad(fn)(0.7)


def nan_in_containers(x: float) -> list[bool | int]:
    """Items that are one object are equal for what holds them, though NaN is not equal to itself."""
    n, p = math.nan, Point(x, 1.0)
    items = [x, 2.0, x]
    return [
        *((x,) == (x,), [x, 1] == [x, 1], ((x,), 2) == ((x,), 2), {"a": x} == {"a": x}, (x,) != (x,)),
        *((n,) == (n,), n in [n], [n].count(n), items.count(x), [x, 2.0].index(x), p == p, p in [p]),
        *(Point(x, n) == Point(x, n), (x, 1) < (x, 2), (x,) <= (x,), x == x, n == n),
        *((x + 1.0,) == (x + 1.0,), (float("nan"),) == (float("nan"),)),
    ]


@pytest.mark.parametrize("x", [0.5, float("nan")])
def test_an_item_is_equal_to_itself(x: float) -> None:
    assert jit_grad(nan_in_containers)(x) == nan_in_containers(x)
