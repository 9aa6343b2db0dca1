"""Arrays whose items are taken apart where their number must be known: ``(a, *x)``, ``tuple(row)``, ``zip(*rows)``."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check_function

Array = Any


def in_a_tuple(x: Array) -> float:
    t = (2.0, *x[0], x[1, 0])
    return t[0] * t[1] * t[2] + t[3] * t[-1]


def of_a_row(x: Array) -> float:
    a, b, c = tuple(x[0])
    x[0] = 0.0
    return a * b + c * x[1, 1]


def of_rows(x: Array) -> float:
    points = [tuple(p) for p in x]
    return points[0][1] * points[1][2] * points[-1][0]


def columns(x: Array) -> float:
    return sum((k + 1) * a * b for k, (a, b, _) in enumerate(zip(*x, strict=True)))


def mapped(x: Array) -> float:
    return sum(map(lambda a, b, c: a * b - c, *x))


def chained(x: Array) -> float:
    return sum(v * v for v in chain(*x))


def distances(x: Array) -> float:
    return sum(math.hypot(*(p - q)) for p, q in pairwise(x))


def with_defaults(x: Array) -> float:
    def f(a: float, b: float, c: float = 1.0, *rest: float, scale: float = 2.0) -> float:
        return (a + b * c + sum(rest)) * scale

    return f(*x[0], scale=3.0) + f(*x[0], *x[1])


def extremes(x: Array) -> float:
    return max(*x[0]) * min(x[1]) + max(x[2], key=lambda v: -v)


def views(x: Array) -> float:
    first, _, _ = rows = (*x,)
    rows[1][0] = 5.0 * x[0, 0]
    return x[1, 0] * first[1]


PROGRAMS = [
    in_a_tuple, of_a_row, of_rows, columns, mapped, chained, distances, with_defaults, extremes, views,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_items(program: Callable[..., Any]) -> None:
    check_function(program, (np.random.default_rng(0).random((3, 3)),), by=(0,))


def test_other_lengths() -> None:
    f = adc.value_and_grad(lambda x: sum((1.0, *x)) * x[0])
    for n in (3, 1, 5):
        x = np.arange(1.0, n + 1)
        value, slope = f(x)
        assert value == 1.0 + x.sum()
        assert np.array_equal(slope, [2.0 + x.sum(), *np.ones(n - 1)])


def test_many_items() -> None:
    with pytest.raises(adc.errors.CompileError, match="an array of 65 items is not taken apart"):
        adc.jit_grad(lambda x: max(*x))(np.ones(65))


@pytest.mark.parametrize(("x", "least", "most"), [([np.nan, 1.0], np.nan, np.nan), ([1.0, np.nan], 1.0, 1.0)])
def test_extremes_of_arrays_with_nan(x: list[float], least: float, most: float) -> None:
    found = adc.jit_grad(lambda x: (min(x), max(x)))(np.array(x))
    assert np.array_equal(found, (least, most), equal_nan=True)
