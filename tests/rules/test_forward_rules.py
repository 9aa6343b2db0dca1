"""Rules in forward mode: by an frule, and between numbers by any rule; forward over reverse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import DifferentiationError

RNG = np.random.default_rng(11)


def gate(x, b):
    return x / (1.0 + math.exp(-b * x))


@adc.rrule(gate)
def gate_rule(x, b):
    s = 1.0 / (1.0 + math.exp(-b * x))
    return x * s, lambda g: (g * (s + b * x * s * (1.0 - s)), g * x * x * s * (1.0 - s))


def stretch(v, t):
    return v * t, np.sum(v) * t


@adc.frule(stretch)
def stretch_rule(tangents, v, t):
    dv, dt = tangents
    return stretch(v, t), (dv * t + v * dt, np.sum(dv) * t + np.sum(v) * dt)


def along(f: Any, args: tuple[Any, ...], tangents: tuple[Any, ...], step: float = 1e-6) -> Any:
    """Central differences along tangents."""

    def moved(sign: float) -> list[Any]:
        return [a if t is None else a + sign * step * t for a, t in zip(args, tangents, strict=True)]

    return (np.asarray(f(*moved(1.0))) - np.asarray(f(*moved(-1.0)))) / (2 * step)


def check(f: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> None:
    for engine in ("native", "interpreter"):
        compiled = jit_grad(_engine=engine)(f)
        value, tangent = compiled.jvp(args, tangents)
        np.testing.assert_allclose(value, f(*args), rtol=1e-13)
        np.testing.assert_allclose(tangent, along(f, args, tangents), rtol=2e-7, atol=2e-8)


def test_an_rrule_between_numbers() -> None:
    check(lambda x, b: gate(x, b) * x + gate(b, x), (0.7, 1.2), (0.3, -0.5))
    check(lambda x, b: gate(x, b), (0.7, 1.2), (None, 1.0))

    def loop(x, b, n):
        for _ in range(n):
            if x < 0.5:
                x = gate(x, b) + 0.9 * x
            else:
                x = x * gate(x, b)
        return x

    for n in (0, 1, 6):
        check(loop, (0.7, 1.2, n), (0.3, -0.5, None))


def test_forward_agrees_with_reverse_for_a_wrong_rule() -> None:
    """Both go by the rule, not by the function."""

    def off(x, y):
        return x * y

    adc.scalar_rule(off, lambda x, y: 10.0 * y, lambda x, y, result: 20.0 * x + 0.0 * result)
    f = jit_grad(argnums=(0, 1))(lambda x, y: off(x, y) + x)
    assert f.grad(2.0, 3.0) == (31.0, 40.0)
    assert f.jvp((2.0, 3.0), (1.0, 0.0)) == (8.0, 31.0)
    assert f.jvp((2.0, 3.0), (0.5, -1.0)) == (8.0, -24.5)


def test_an_frule_with_arrays() -> None:
    v, dv = RNG.normal(size=4), RNG.normal(size=4)
    f = lambda v, t: stretch(v, t)[0] * stretch(v, t)[1]
    check(f, (v, 1.5), (dv, 0.3))
    check(f, (v, 1.5), (None, 0.3))
    check(f, (v, 1.5), (dv, None))
    check(f, (v[::2], 1.5), (dv[::2], 1.0))

    def loop(v, t, n):
        w = v.copy()
        for _ in range(n):
            a, b = stretch(w, t)
            w = 0.5 * a + 0.1 * b
            a[0] = 7.0
        return w

    for n in (0, 1, 4):
        check(loop, (v, 1.1, n), (dv, 0.3, None))


def test_an_frule_that_hands_its_tangents_on() -> None:
    def copied(v):
        return v.copy()

    @adc.frule(copied)
    def _(tangents, v):
        return v.copy(), tangents[0]

    def f(v):
        w = copied(v)
        w[0] = w[1] * 3.0
        return w * v

    v = RNG.normal(size=3)
    check(f, (v,), (RNG.normal(size=3),))


def test_which_rule_counts_in_which_mode() -> None:
    def same(x):
        return 1.0 * x

    @adc.frule(same)
    def _(tangents, x):
        return 1.0 * x, 5.0 * tangents[0]

    assert adc.grad(same)(1.0) == 5.0 and adc.jvp(same, (1.0,), (1.0,)) == (1.0, 5.0)

    @adc.rrule(same)
    def _(x):
        return 1.0 * x, lambda g: 7.0 * g

    assert adc.grad(same)(1.0) == 7.0 and adc.jvp(same, (1.0,), (1.0,)) == (1.0, 5.0)


def test_forward_over_reverse() -> None:
    def f(v):
        return gate(np.sum(v * v), 1.2) * v[0]

    v, dv = RNG.normal(size=3), RNG.normal(size=3)
    compiled = jit_grad(f)
    expected = (compiled.grad(v + 1e-6 * dv) - compiled.grad(v - 1e-6 * dv)) / 2e-6
    np.testing.assert_allclose(adc.hvp(compiled, (v,), (dv,)), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(adc.hessian(compiled)(v) @ dv, expected, rtol=1e-6, atol=1e-8)

    @jit_grad
    def loop(x, b, n):
        for _ in range(n):
            x = gate(x, b) + 0.2 * x
        return x

    _, second = loop.grad.jvp((0.7, 1.2, 5), (1.0, None, None))
    assert second == pytest.approx(adc.grad(loop.grad)(0.7, 1.2, 5), rel=1e-12)


def test_forward_over_reverse_with_arrays() -> None:
    def total(v):
        return np.sum(v * v)

    @adc.rrule(total)
    def _(v):
        return np.sum(v * v), lambda g: 2.0 * g * v

    f = jit_grad(lambda v: total(v) ** 2)
    v, dv = RNG.normal(size=3), RNG.normal(size=3)
    np.testing.assert_allclose(adc.hvp(f, (v,), (dv,)), 8 * (v @ dv) * v + 4 * (v @ v) * dv, rtol=1e-12)


def test_solutions_of_equations() -> None:
    f = jit_grad(lambda a: adc.fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, a))
    _, tangent = f.jvp((3.0,), (2.0,))
    assert tangent == pytest.approx(1 / math.sqrt(3.0), rel=1e-10)


def test_no_infinity_times_zero() -> None:
    def root(x, y):
        return math.sqrt(x) + y

    adc.scalar_rule(root, lambda x, y: 0.5 / math.sqrt(x), 1.0)
    assert adc.jvp(root, (0.0, 1.0), (0.0, 1.0)) == (1.0, 1.0)
    assert math.isinf(adc.jvp(root, (0.0, 1.0), (1.0, 1.0))[1])


def test_what_is_refused() -> None:
    def double(v):
        return v * 2.0

    @adc.rrule(double)
    def _(v):
        return v * 2.0, lambda g: g * 2.0

    with pytest.raises(DifferentiationError, match="has no forward rule, and with arrays none follows"):
        adc.jvp(double, (np.ones(2),), (np.ones(2),))

    def scaled(x, *, factor):
        return x * factor

    adc.rrule(scaled)(lambda x, *, factor: (x * factor, lambda g: g * factor))
    with pytest.raises(DifferentiationError, match="gives no derivative by 'factor'"):
        adc.jvp(lambda x: scaled(1.0, factor=x), (1.0,), (1.0,))
