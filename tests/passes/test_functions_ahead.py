"""Elementary functions that other steps have no part in are computed ahead; the rest of a loop stays in order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.passes.distribution.functions_ahead import ROW
from tests.programs.harness import check


def growth(z, v):
    s = 1.0
    for t in range(len(z)):
        s = s * math.exp(v * z[t])
    return s


def filtered(z, v):
    """Two functions and a tape, backwards, and steps that are stored."""
    out = np.empty(len(z))
    y = 0.2
    for t in range(len(z) - 1, -1, -1):
        a = 1.0 / (1.0 + math.exp(-v * z[t]))
        y = a * y + (1.0 - a) * math.sin(z[t] + 0.1 * t)
        out[t] = y * z[t]
    return np.sum(out * out)


def chosen(z, v):
    """A branch, an integer, and a function of what the step before has made."""
    s, count = 0.0, 0
    for t in range(1, len(z)):
        e = math.exp(-z[t] * z[t - 1])
        if e > 1.0:
            s = 0.5 * s + e * math.tanh(s)
            count += 1
        else:
            s = v * s - math.log(1.0 + e)
    return s + count


def rows(z, v):
    """Rows of a loop whose iterations are apart."""
    x = z[: len(z) // 3 * 3].reshape(3, -1)
    s = np.ones((3, x.shape[1] + 1))
    for i in range(3):
        for t in range(x.shape[1]):
            s[i, t + 1] = s[i, t] * np.exp(v * x[i, t]) + 0.1
    return np.sum(s)


def in_place(z, v):
    """The functions read what earlier steps have written."""
    x = z.copy()
    for t in range(1, len(x)):
        x[t] = 0.5 * x[t] + v * math.sin(x[t - 1]) + math.cos(x[t] - 0.3 * x[t - 1])
    return np.sum(x)


def through_a_view(z, v):
    x = z.copy()
    w = x[1:]
    s = 0.0
    for t in range(len(w)):
        s = 0.5 * s + math.exp(-x[t] * x[t])
        w[t] = s * v
    return s


DONE = growth, filtered, chosen, rows
LEFT = in_place, through_a_view


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("function", DONE + LEFT, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(3)
    check(function, *((rng.normal(size=n) * 0.3, 0.4) for n in (ROW + 3, 0, 1, 5, ROW, 2 * ROW + 7)), single=True)


@pytest.mark.parametrize("function", DONE + LEFT, ids=lambda f: f.__name__)
def test_where_it_is_done(function: Callable[..., Any]) -> None:
    f = jit_grad(function)
    f(np.ones(9), 0.1)
    assert (f"memref<{ROW}xf64>" in f.dump_ir("lowered").partition(f"@{function.__name__}.")[0]) == (function in DONE)


def test_a_check_in_the_loop_comes_before_what_it_guards() -> None:
    def picked(z, places):
        s = 1.0
        for t in range(len(places)):
            if s > 100.0:
                raise ValueError("too much")
            s = 2.0 * s * math.exp(z[places[t]])
        return s

    f = jit_grad(picked)
    assert f(np.zeros(3), np.array([0, 1, 2])) == 8.0
    with pytest.raises(ValueError, match="too much"):
        f(np.zeros(3), np.arange(40) % 3)
    with pytest.raises(IndexError):
        f(np.zeros(3), np.array([0, 7]))
