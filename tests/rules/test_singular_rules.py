"""Functions with users' rules at singular points: the same as the operations that they stand for, in all modes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc

INF, NAN = math.inf, math.nan


def root(x):
    return math.sqrt(x)


@adc.rrule(root)
def root_pulled(x):
    y = math.sqrt(x)
    return y, lambda g: 0.5 * g / y


def root_pushed(x):
    return math.sqrt(x)


@adc.frule(root_pushed)
def root_tangent(t, x):
    y = math.sqrt(x)
    return y, 0.5 * t[0] / y


def root_by_partial(x):
    return math.sqrt(x)


adc.scalar_rule(root_by_partial, lambda x: 0.5 / math.sqrt(x))


def quotient(x, y):
    return x / y


@adc.rrule(quotient)
def quotient_pulled(x, y):
    return x / y, lambda g: (g / y, -g * (x / y) / y)


ROOTS = [root, root_pushed, root_by_partial]


def unchosen(r, x):
    return np.where(x > 0.0, r(x), 0.0)


def squared(r, x):
    return r(x) ** 2


def times_zero(r, x):
    return r(x) * x


def of_a_square(r, x):
    return r(x * x)


def chosen_later(r, x):
    return np.where(x > 0.0, r(x) * r(x), 1.0) * x


def in_a_branch(r, x):
    y = r(x)
    return y * x if x > 0.0 else x


def of_some(r, x):
    v = np.empty(2)
    for i in range(2):
        v[i] = r(x + i)
    return v[1]


def clamped(r, x):
    return max(r(x), 0.5) + r(abs(x))


PROGRAMS = [unchosen, squared, times_zero, of_a_square, chosen_later, in_a_branch, of_some, clamped]


def first(f: Callable[..., Any], x: float) -> list[float]:
    return [adc.grad(f)(x), adc.jvp(f, (x,), (1.0,))[1], adc.pullback(f, x)[1](1.0)[0]]


def second(f: Callable[..., Any], x: float) -> list[float]:
    return [adc.hvp(f, (x,), (1.0,)), adc.grad(adc.grad(f))(x)]


def same(found: list[float], expected: list[float]) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, equal_nan=True)
    np.testing.assert_allclose(found, [expected[0]] * len(found), rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_the_operation(program: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        for x in (0.0, 4.0):
            gradients = first(lambda x: program(math.sqrt, x), x)
            curves = second(lambda x: program(math.sqrt, x), x)
            for r in ROOTS:
                same(first(lambda x, r=r: program(r, x), x), gradients)
                same(second(lambda x, r=r: program(r, x), x), curves)


@pytest.mark.parametrize("point", [(1.0, 0.0), (0.0, 0.0), (1.0, INF), (INF, 2.0), (NAN, 1.0), (0.0, 3.0)])
def test_hessians(point: tuple[float, float]) -> None:
    """Of two arguments: the sum, a product with a weight that may be zero, and what is not chosen."""

    def summed(q, x, y):
        return q(x, y) + x * y

    def weighted(q, x, y):
        return x * q(2.0, y)

    def unchosen(q, x, y):
        return np.where(y > 1.0, q(x, y), x) * y

    for program in (summed, weighted, unchosen):

        def plain(x, y, program=program):
            return program(np.divide, x, y)

        def ruled(x, y, program=program):
            return program(quotient, x, y)

        both = (0, 1)
        expected = adc.grad(plain, argnums=both)(*point), adc.hessian(plain, argnums=both)(*point)
        forward = [adc.jvp(ruled, point, along)[1] for along in ((1.0, 0.0), (0.0, 1.0))]
        np.testing.assert_allclose(adc.grad(ruled, argnums=both)(*point), expected[0], rtol=1e-12)
        np.testing.assert_allclose(forward, expected[0], rtol=1e-12)
        hessian = np.array(adc.hessian(ruled, argnums=both)(*point))
        np.testing.assert_allclose(hessian, np.array(expected[1]), rtol=1e-12)
        np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)
        back = [adc.grad(adc.grad(ruled, argnums=k), argnums=both)(*point) for k in both]
        np.testing.assert_allclose(back, hessian, rtol=1e-12)


def test_a_pullback_that_clips_has_the_cotangent_itself() -> None:
    """Not multiples of what it gives for one."""

    def gate(x):
        return x

    @adc.rrule(gate)
    def _(x):
        return x, lambda g: max(min(g, 1.0), -1.0)

    def f(x, c):
        y = 3.0 * gate(x)
        return np.where(c, y, 0.0)

    assert adc.grad(f)(2.0, True) == 1.0 and adc.grad(f)(2.0, False) == 0.0
    assert adc.grad(lambda x: 0.25 * gate(x))(2.0) == 0.25
