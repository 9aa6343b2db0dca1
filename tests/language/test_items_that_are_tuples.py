"""Tuples and lists whose length depends on the run among what comprehensions and ``min()`` go through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from tests.language.as_in_python import NUMBERS, check


def test_variables_of_comprehensions_take_items_of_run_time_length() -> None:
    def function(x: Any) -> Any:
        first, *rest = x
        pairs = [tuple(rest[:2]), tuple(rest[2:4])]
        products = [a * b for a, b in pairs]
        return first * products[0] + sum(a - b for a, b in (rest[:2], rest[3:])) * products[1]

    check(function)


def test_the_number_of_items_is_checked_in_the_run() -> None:
    def function(x: Any) -> Any:
        return sum([a * b for a, b in [list(x)]])

    with pytest.raises(ValueError, match="unpack"):
        jit_grad(function)(NUMBERS)


def test_a_variable_takes_all_other_items() -> None:
    def function(x: Any) -> Any:
        lasts = [p * m[0] for *m, p in [list(x), list(x[1:4])]]
        return sum(a * sum(r) for a, *r in [x[:2], x[1:5]]) + lasts[0] / lasts[1]

    check(function)


def test_the_least_of_tuples() -> None:
    def function(x: Any) -> Any:
        value, at = min((v * v, k) for k, v in enumerate(x))
        difference, w = max((v - w, w) for v in x for w in x if v > 0.3)
        rounded = min((round(v, 0), -v, k) for k, v in enumerate(x))
        return value + at + w * difference + rounded[1] * rounded[2]

    check(function)


def test_the_least_of_tuples_in_lists() -> None:
    def function(x: Any) -> Any:
        rows = []
        for v in x:
            if v > 0.2:
                rows.append((v * v, v))
        a, b = min(rows)
        c, d = max(rows)
        return a + 2 * b + 3 * c * d

    check(function)


def test_equal_first_items_leave_it_to_the_second_ones() -> None:
    def function(x: Any) -> Any:
        return min((int(v > 0.5), v) for v in x)[1] + max((v < 2, -v, 3) for v in x)[1]

    check(function)


def test_texts_in_tuples() -> None:
    def function(x: Any) -> Any:
        value, name = min((v, n) for v, n in zip(x[:4], ("ab", "abc", "b", "a")))
        length, longest = max((len(n), n) for n in ("ab", "abc", "b"))
        return value * len(name) + length * len(longest)

    check(function)


def test_tuples_that_differ_along_several_calls() -> None:
    def function(x: Any) -> Any:
        best = min((np.sum(x * x) * k, x[k]) for k in range(1, 4))
        return best[0] * best[1]

    compiled = check(function)
    for seed in (1, 2):
        x = np.random.default_rng(seed).random(6)
        assert compiled(x) == pytest.approx(function(x), rel=1e-15)
    x = NUMBERS
    step = 1e-6
    gradient = adc.grad(function)
    change = (gradient(x + step * x) - gradient(x - step * x)) / (2 * step)
    assert adc.hvp(function, (x,), (x,)) == pytest.approx(change, rel=1e-5)
    assert compiled.jvp((x,), (x,))[1] == pytest.approx(gradient(x) @ x, rel=1e-12)


def test_no_tuples() -> None:
    def function(x: Any) -> Any:
        return min((v, 1.0) for v in x if v > 5)[0]

    with pytest.raises(ValueError, match="empty"):
        jit_grad(function)(NUMBERS)
