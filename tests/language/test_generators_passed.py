"""Generators as arguments: of other generator functions, and of functions that go through them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.language.as_in_python import check


def windows(x, k):
    for i in range(len(x) - k + 1):
        yield x[i : i + k]


def detrended(ws):
    for w in ws:
        yield w - w[0]


def positive(ws, above=0.0):
    for w in ws:
        if w[-1] > above:
            yield w


def numbered(ws):
    yield from enumerate(ws)


def first(ws, n):
    k = 0
    for w in ws:
        if k == n:
            return
        k += 1
        yield w


def scaled(ws, *, by, **more):
    for w in ws:
        yield w * by * more["and_by"]


def total(ws):
    return sum(w[0] * w[1] for w in ws)


def mean(values):
    s, n = 0.0, 0
    for v in values:
        s += v
        n += 1
    return s / n


def in_a_pipeline(x):
    return sum(w[1] * w[2] for w in first(positive(detrended(windows(x, 3)), above=-0.5), 2))


def under_names(x):
    ws = windows(x, 2)
    steps = detrended(ws)
    t = 0.0
    for w in steps:
        t += w[1] ** 2
    return t


def left_early(x):
    t = 0.0
    for n, w in numbered(detrended(windows(x, 2))):
        if n == 3:
            break
        t += (n + 1) * w[1]
    else:
        t = -1.0
    return t


def of_a_function(x):
    return total(detrended(windows(x, 3))) + total(windows(2.0 * x, 2))


def through_two_functions(x):
    def outer(ws: Iterator[Any], f: Callable[[Any], float]) -> float:
        return inner(ws, f)

    def inner(ws: Iterator[Any], f: Callable[[Any], float]) -> float:
        t = 0.0
        for n, w in enumerate(ws, 1):
            t += n * f(w)
        return t

    return outer(windows(x, 2), lambda w: w[0] * w[1]) - outer(windows(x, 3), lambda w: w[1] ** 2)


def of_local_functions(x):
    k = x[0]

    def shifted(ws):
        for w in ws:
            yield w + k

    return total(shifted(scaled(windows(x, 2), by=x[1], and_by=3.0)))


def in_loops(x):
    t = 0.0
    for k in range(3):
        t += total(windows(x * k, 2 + k)) + mean(x[i] * k for i in range(k, len(x)) if x[i] > 0.1)
    return t


def expressions(x):
    return mean(v * v for v in x) * mean(a * b for a in x[:3] for b in x[3:] if a > b)


def expressions_of_generators(x):
    return mean(first((w[0] + w[1] for w in detrended(windows(x, 2))), 3))


def of_a_lambda(x):
    k = 2.0
    return (lambda vs: mean(k * v for v in vs))(v + 1.0 for v in x)


class Data:
    def __init__(self, x):
        self.x = x

    def squares(self):
        for v in self.x:
            yield v * v

    def sum(self, values):
        return sum(v * self.x[0] for v in values)


def of_a_method(x):
    d = Data(x)
    return d.sum(d.squares()) + d.sum(v + v for v in x)


def later_stores(x):
    """The items are computed when they are asked for; what the call's arguments are, when it is made."""
    x, k = x.copy(), 2.0
    ws = scaled(windows(x, 2), by=k, and_by=1.0)
    k = 100.0
    x[0] = 7.0
    return total(ws) + k


PROGRAMS = [
    in_a_pipeline, under_names, left_early, of_a_function, through_two_functions, of_local_functions, in_loops,
    expressions, expressions_of_generators, of_a_lambda, of_a_method, later_stores,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_as_in_python(fn: Callable[[np.ndarray], float]) -> None:
    check(fn)
