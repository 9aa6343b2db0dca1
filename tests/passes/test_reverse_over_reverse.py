"""Reverse over reverse: what the gradient frees after reversing it is where the reversal of the gradient starts."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc import jit_grad

pytestmark = pytest.mark.usefixtures("stages")


def read_back(x, a):
    for i in range(len(a)):
        a[i] += x * a[0]
    return a[len(a) - 1] * x


def sum_of_all(x, a):
    for i in range(len(a)):
        a[i] += x * a[i] * np.dot(a, a)
        a[i] = np.tanh(a[i])
    return x + np.sum(a)


def nested(x, a):
    for i in range(len(a)):
        s = 0.0
        for j in range(len(a)):
            s += a[j] * a[j]
        a[i] += x * s
    return np.sum(a)


def allocating(x, a):
    for _ in range(3):
        b = a * x
        for i in range(len(b)):
            b[i] = np.sin(b[i]) + b[0] * x
        a = b + a
    return np.sum(a * a)


def until_small(x, a):
    while np.dot(a, a) > 0.05:
        a *= x
        a[0] = np.sin(a[1]) * a[0]
    return np.sum(a) * x


def deepen(a, n):
    if n > 0:
        a[0] = np.sin(a[0]) * a[1]
        deepen(a, n - 1)


def leaving_records(x, a):
    s = 1.0
    for _ in range(4):
        deepen(a, 2)
        s += a[0] * a[1] * s * x
    return s


PROGRAMS = [read_back, sum_of_all, nested, allocating, until_small, leaving_records]


@pytest.mark.parametrize("engine", ["native", "interpreter"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_against_forward_over_reverse(program, engine):
    _agree(jit_grad(program, _engine=engine))


@pytest.mark.parametrize("schedule", ["store-all", adc.every(2), adc.revolve(snapshots=2)], ids=str)
@pytest.mark.parametrize("program", [nested, leaving_records])
def test_of_checkpointed_loops(program, schedule):
    _agree(jit_grad(program, checkpoint=schedule, _engine="interpreter"))


def test_a_schedule_of_steps_that_make_arrays():
    """Which take turns with those of the step before, so that the loop can be run again by the outer gradient, too."""
    f = jit_grad(allocating, checkpoint=adc.revolve(snapshots=2))
    arguments = 0.47, np.array([0.3, -0.2, 0.5])
    assert f.grad(*arguments) == pytest.approx(jit_grad(allocating).grad(*arguments), rel=1e-13)
    twice = adc.grad(adc.grad(jit_grad(allocating)))(*arguments)
    assert adc.grad(adc.grad(f))(*arguments) == pytest.approx(twice, rel=1e-12)


def test_pulled_back_as_often_as_one_likes():
    def along(x, a):
        return adc.grad(allocating)(x, a) * x

    _, back = jit_grad(along).pullback(0.47, np.array([0.3, -0.2, 0.5]))
    first, second = back(1.0), back(1.0)
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])


def _agree(f):
    rng = np.random.default_rng(3)
    a = rng.uniform(-0.6, 0.6, 5)
    found = adc.grad(adc.grad(f))(0.47, a)
    assert found == pytest.approx(adc.hvp(f, (0.47, a), (1.0, None), argnums=0), rel=1e-12)
    h = 1e-5
    assert found == pytest.approx((f.grad(0.47 + h, a) - f.grad(0.47 - h, a)) / (2 * h), rel=1e-7, abs=1e-7)
