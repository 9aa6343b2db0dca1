"""Schedules and growing lists: loops that append are not run again in steps, other loops are."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.backend import runtime
from adc.errors import DifferentiationError


def popped(x: float, n: int) -> float:
    items = [math.tanh(x)]
    for i in range(n):
        if x * i < 2.5:
            items.append(math.atan(x * i))
    y = 0.1 * len(items)
    while items:
        y = math.atan(0.7 * y + items.pop())
    return y


def grown(x: float, n: int) -> float:
    items = [x]
    for i in range(n):
        if i % 3 != 1:
            items.append(math.sin(items[-1] + i))
    return items[0] * items[len(items) - 1]


def halved(u: np.ndarray, n: int) -> float:
    for _ in range(n):
        u = np.sin(u[::2])
    return np.sum(u)


def test_another_loop_is_run_by_the_schedule() -> None:
    plain = jit_grad(popped).grad(0.4, 40)
    assert jit_grad(popped, checkpoint=adc.revolve(2)).grad(0.4, 40) == pytest.approx(plain, rel=1e-13)


def test_nothing_else_to_act_on() -> None:
    for function, given in ((grown, 0.4), (halved, np.linspace(0.1, 1.0, 64))):
        with pytest.raises(DifferentiationError, match="a list in it grows, or a step changes the shape of an array"):
            jit_grad(function, checkpoint=adc.revolve(2)).grad(given, 5)


def after(u: np.ndarray, n: int) -> float:
    for _ in range(n):
        rate = np.sin(u)
        u = u + 0.1 * rate
    return np.sum(u * rate)


def test_what_has_no_value_before_the_loop() -> None:
    with pytest.raises(DifferentiationError, match="makes it where there was none before"):
        jit_grad(after, checkpoint=adc.revolve(2)).grad(np.linspace(0.1, 1.0, 6), 5)


def chained(heads, following, values):
    """Walks along lists of a few elements, as neighbours of particles are found."""
    total = 0.0
    for i in range(len(heads)):
        product, j = 1.0, heads[i]
        while j >= 0:
            product *= values[j]
            j = following[j]
        total += product
    return total


def test_each_short_while_loop_keeps_a_short_tape() -> None:
    rng = np.random.default_rng(3)
    values, heads = rng.random(3000), np.arange(1000)
    following = np.concatenate([np.arange(1000, 3000), np.full(1000, -1)])
    gradient = adc.grad(chained, argnums=2)
    runtime.peak_bytes(reset=True)
    found = gradient(heads, following, values)
    assert 1000 * 3 * 8 <= runtime.peak_bytes() <= 1000 * 3 * 128
    a, b, c = values.reshape(3, 1000)
    np.testing.assert_allclose(found, np.concatenate([b * c, a * c, a * b]), rtol=1e-14)
