"""Loops with sums in Python's order, of numbers from outside: their reverse sweeps are sums whose order adc chooses,
the same on any number of threads."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.backend.runtime import on_threads

RNG = np.random.default_rng(7)


def exponentials(x, c, d):
    total = 0.0
    for i in range(len(x)):
        total += math.exp(d * (x[i] - c))
    return total


def sides(x, c, d):
    total = 0.0
    for i in range(len(x)):
        if x[i] > c:
            total += math.log(x[i] - c) * d
        else:
            total -= c * x[i]
    return total * c


def triangle(x, c, d):
    total = 0.0
    for i in range(len(x)):
        row = c
        for j in range(i):
            row += math.sin(c * x[i] * x[j])
        total -= d * row * row
    return total


def steps(x, c, d):
    state, total = d, 0.0
    for i in range(len(x)):
        state = math.cos(state * c) + x[i] * d
        total += state * state * c
    return total


@pytest.mark.parametrize("function", [exponentials, sides, triangle, steps], ids=lambda f: f.__name__)
def test_gradients(function) -> None:
    compiled = jit_grad(argnums=(0, 1, 2))(function)
    for x in (RNG.random(67), RNG.random(40)[::3], RNG.random(1), np.zeros(0)):
        found = []
        for threads in (1, 2, 3):
            with on_threads(threads):
                value, gradient = compiled.value_and_grad(x, 0.4, 1.3)
                found.append((value, *map(np.asarray, gradient)))
        for other in found[1:]:
            assert all(a.tobytes() == b.tobytes() for a, b in zip(map(np.asarray, found[0]), map(np.asarray, other)))
        assert found[0][0] == function(x, 0.4, 1.3)
        t = RNG.standard_normal(x.shape), 0.7, -0.3
        along = compiled.jvp((x, 0.4, 1.3), t)[1]
        dot = np.sum(found[0][1] * t[0]) + found[0][2] * t[1] + found[0][3] * t[2]
        np.testing.assert_allclose(dot, along, rtol=1e-11, atol=1e-12)


def test_what_is_not_chosen_adds_nothing() -> None:
    x = np.array([1.0, math.inf, -math.inf, 2.0, 0.1])
    gradient = jit_grad(argnums=1)(lambda x, c: sum(x[i] * c for i in range(5) if abs(x[i]) < 5.0)).grad(x, 3.0)
    assert gradient == pytest.approx(3.1)


def test_second_derivatives() -> None:
    x = RNG.random(23)
    found = adc.hessian(exponentials, argnums=(1, 2))(x, 0.4, 1.3)
    e = np.exp(1.3 * (x - 0.4))
    mixed = np.sum(-e - 1.3 * (x - 0.4) * e)
    np.testing.assert_allclose(found[0][0], np.sum(1.69 * e), rtol=1e-12)
    np.testing.assert_allclose([found[0][1], found[1][0]], mixed, rtol=1e-12)
    np.testing.assert_allclose(found[1][1], np.sum((x - 0.4) ** 2 * e), rtol=1e-12)
    twice = adc.grad(adc.grad(exponentials, argnums=1), argnums=1)(x, 0.4, 1.3)
    np.testing.assert_allclose(twice, np.sum(1.69 * e), rtol=1e-12)
