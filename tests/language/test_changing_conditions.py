"""Conditions of ``while`` that call functions which change objects, or variables of other functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from adc import AdcError, jit_grad
from tests.language.as_in_python import check


class Search:
    def __init__(self):
        self.calls = 0
        self.seen = []

    def more(self, x):
        self.calls += 1
        self.seen.append(x)
        return x < 3.0 and self.calls < 9


def line_search(x):
    evaluations = 0

    def f(y):
        nonlocal evaluations
        evaluations += 1
        return (y - 0.3) ** 2

    t = 1.0
    while f(x[0] + t) > f(x[0]) and t > 1e-3:
        t *= 0.5
    else:
        evaluations += 100
    return t * x[1] + evaluations


def an_object(x):
    s, y = Search(), x[0]
    while s.more(y):
        y = y * 1.3 + x[1]
        if s.calls > 6:
            break
    else:
        y = y * 2.0
    return y + sum(s.seen) + s.calls


def a_list(x):
    t = 0.0
    for k in range(3):
        left = [x[0], x[1], x[2] * k]
        while left and (left.pop() > 0.1 or t < 2.0):
            t += x[3] * (1 + len(left))
            if t > 3.0:
                return t
            if len(left) == 1:
                continue
            t += k
    return t


def nested(x):
    d = {"k": 0.0}

    def step():
        d["k"] += x[0]
        return d["k"]

    n = 0
    while step() < 6.0:
        while step() < 4.0:
            n += 1
        n += 10
    return d["k"] * n


@pytest.mark.parametrize("fn", [line_search, an_object, a_list, nested], ids=lambda f: f.__name__)
def test_as_in_python(fn: Callable[[np.ndarray], float]) -> None:
    check(fn)


def test_an_else_that_leaves_the_loop_around_is_refused() -> None:
    def f(x):
        for _ in range(3):
            s = Search()
            while s.more(x):
                x = x * 2.0
            else:
                break
        return x

    with pytest.raises(AdcError, match="the condition of this loop changes"):
        jit_grad(f)(2.0)
