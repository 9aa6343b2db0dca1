"""Calls with containers that are no longer those of the calls before: values and errors are those of a first call."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from adc import AdcError, jit_grad


class Spring:
    def __init__(self, k: float, ends: list[float]) -> None:
        self.k = k
        self.ends = ends


class Pair:
    def __init__(self, first: Spring, second: Spring) -> None:
        self.first = first
        self.second = second


@dataclass
class Material:
    density: float
    table: dict[str, float]
    parts: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Constants:
    g: float
    label: str


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: float, b: Any) -> None:
        self.a = a
        self.b = b


class Point(NamedTuple):
    x: float
    y: Any


def energy(s: Spring) -> float:
    total = 3.0 * s.k
    for n, end in enumerate(s.ends):
        total += s.k * end * (n + 1)
    return total


def both(p: Pair) -> float:
    p.first.k += 1.0
    return p.first.k * p.second.k


def weight(m: Material) -> float:
    total = m.density
    for n, (name, value) in enumerate(m.table.items()):
        total += value * (n + 1) * len(name)
    for part in m.parts:
        total *= part if isinstance(part, float) else 2.0
    return total


def second(m: Material) -> float:
    return m.density + sum(m.parts)


def fall(c: Constants) -> float:
    return c.g * len(c.label)


def slots(s: Slotted) -> float:
    return s.a + (s.b if isinstance(s.b, float) else s.b[0])


def point(p: Point) -> float:
    return p.x * (p.y if isinstance(p.y, float) else p.y[1])


def nested(t: list[Any]) -> float:
    return t[0]["a"] * t[1][0] + len(t)


def _with(change: Callable[[Any], object], made: Any) -> Any:
    change(made)
    return made


_spring = Spring(2.0, [1.0, 2.0])
_swapped = Spring.__new__(Spring)
_swapped.ends, _swapped.k = [1.0, 2.0], 2.0
_shared = Pair(_spring, _spring)
_loop: list[Any] = [1.0]
_loop.append(_loop)

CASES: list[tuple[Callable[[Any], float], Any, list[Any]]] = [
    (
        energy,
        Spring(2.0, [1.0, 2.0]),
        [
            Spring(3.0, [1.0, 2.0, 3.0]),
            Spring(2.0, []),
            Spring(2.0, (1.0, 2.0)),  # type: ignore[arg-type]
            Spring(2.0, [1, 2.0]),
            Spring(2, [1.0, 2.0]),
            Spring(2.0, np.array([1.0, 2.0])),  # type: ignore[arg-type]
            Spring(2.0, [1.0, Fraction(1, 2)]),  # type: ignore[list-item]
            Spring(2.0, [1.0, 2**70]),
            Spring(2.0, np.ma.masked_array([1.0, 2.0], [0, 1])),  # type: ignore[arg-type]
            Spring(2.0, _loop),
            _swapped,
            _with(lambda s: setattr(s, "colour", "red"), Spring(2.0, [1.0, 2.0])),
            _with(lambda s: delattr(s, "k"), Spring(2.0, [1.0, 2.0])),
        ],
    ),
    (both, Pair(Spring(1.0, []), Spring(2.0, [])), [_shared, Pair(Spring(3.0, []), Spring(2.0, []))]),
    (both, _shared, [Pair(Spring(3.0, []), Spring(2.0, []))]),
    (
        weight,
        Material(1.0, {}),
        [Material(1.0, {"iron": 2.0}), Material(2.0, {}, [3.0]), Material(2.0, {}, ["text"]), Material(1.0, None)],  # type: ignore[arg-type]
    ),
    (
        weight,
        Material(1.0, {"iron": 2.0, "tin": 5.0}),
        [
            Material(1.0, {"tin": 5.0, "iron": 2.0}),
            Material(1.0, {"iron": 2.0}),
            Material(1.0, {"iron": 2.0, "zinc": 5.0}),
            _with(lambda m: setattr(m, "note", 1), Material(1.0, {"iron": 2.0, "tin": 5.0})),
        ],
    ),
    (second, Material(1.0, {}, [2.0, 3.0]), [Material(1.0, {}, [2.0, Fraction(1, 2)]), Material(1.0, {}, (2.0, 3.0))]),  # type: ignore[arg-type]
    (fall, Constants(9.81, "earth"), [Constants(1.62, "moon"), Constants(9, "earth")]),
    (slots, Slotted(1.0, 2.0), [Slotted(3.0, 4.0), Slotted(3.0, [5.0, 6.0]), Slotted(3.0, np.ones(2))]),
    (point, Point(1.0, 2.0), [Point(1.0, (2.0, 3.0)), Point(1.0, [2.0, 3.0]), Point(2, 3.0)]),
    (nested, [{"a": 2.0}, (3.0, 4.0)], [[{"a": 2.0}, [3.0, 4.0]], [{"a": 2.0, "b": 1.0}, (3.0,)], [{"a": 2.0}]]),
]


def _held(value: Any) -> Any:
    """What is in a container, as text."""
    if isinstance(value, list | tuple):
        return [_held(item) for item in value if item is not value]
    names = getattr(value, "__dict__", getattr(type(value), "__slots__", ()))
    return {name: _held(getattr(value, name)) for name in names} or repr(value)


def _outcome(f: Callable[[Any], Any], given: Any) -> Any:
    try:
        return f(given), _held(given)
    except (AdcError, AttributeError, IndexError, TypeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize(("f", "usual", "others"), CASES)
def test_after_known_ones(f: Callable[[Any], float], usual: Any, others: list[Any]) -> None:
    again = jit_grad(f, argnums=())
    for other in others:
        for _ in range(3):  # from the third call on, the containers are known
            assert again(copy.deepcopy(usual)) == f(copy.deepcopy(usual))
        first = copy.deepcopy(other) if other is not _swapped else _swapped
        found = _outcome(again, first)
        fresh = jit_grad(f, argnums=())
        assert found == _outcome(fresh, copy.deepcopy(other)), other
        assert _outcome(again, copy.deepcopy(other)) == found
        if not isinstance(found[0], type):
            assert found[0] == f(copy.deepcopy(other))


def test_a_class_that_gets_its_own_access_to_attributes_is_refused_again() -> None:
    class Changing:
        def __init__(self) -> None:
            self.x = 2.0

    @jit_grad
    def f(c: Changing) -> float:
        return c.x * 3.0

    for _ in range(3):
        assert f(Changing()) == 6.0
    Changing.__getattr__ = lambda self, name: 1.0  # type: ignore[attr-defined]
    with pytest.raises(AdcError, match="__getattr__"):
        f(Changing())


def test_gradients_of_known_containers() -> None:
    f = jit_grad(weight)
    for k in range(1, 6):
        m = Material(float(k), {"iron": 2.0, "tin": float(k)}, [3.0, 0.5])
        value, bar = f.value_and_grad(m)
        assert value == weight(m)
        assert (bar.density, bar.table, bar.parts[0]) == (1.5, {"iron": 6.0, "tin": 9.0}, value / 3.0)
