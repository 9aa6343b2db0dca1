"""``test_rule`` and ``check_grads`` pass right derivatives and find wrong ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import ArgumentValueError, DifferentiationError
from adc.ir import ops
from adc.passes.differentiation import rules

RNG = np.random.default_rng(0)


@dataclass
class Model:
    weights: Any
    bias: float


def apply(model, x, names):
    model.weights[0] = model.weights[0] * x
    return {"y": np.sin(model.weights) * model.bias, "n": len(names)}


def in_place(u, out):
    for i in range(len(u)):
        out[i] = u[i] * u[i - 1]
    u *= 2.0


def overlapping(x, y):
    x[0] = y[1] * x[1]
    return np.sum(x * y)


def loop(x, n):
    while x < 10.0:
        x = x * x + n
    return x


BASE = RNG.standard_normal(5)
RIGHT: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "scalars": (lambda x, y, n: math.sin(x) * y**n, (0.7, 1.3, 3)),
    "tuple": (lambda p: (p[0] * p[1][0], 2, None), ((0.5, (2.0,)),)),
    "containers": (apply, (Model(RNG.standard_normal(3), 0.5), 1.5, ["a", "b"])),
    "effects alone": (in_place, (RNG.standard_normal(4), np.zeros(4))),
    "shared memory": (overlapping, (BASE[:3], BASE[2:])),
    "float32": (lambda u: np.sum(u * u), (RNG.standard_normal(4).astype(np.float32),)),
    "strided": (lambda u: u[::2] * 3.0, (RNG.standard_normal(10)[::-1],)),
    "while": (loop, (1.5, 2)),
    "nothing to differentiate": (lambda n: n + 1, (3,)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name: str) -> None:
    fn, args = RIGHT[name]
    before = BASE.copy()
    adc.test_rule(fn, *args)
    adc.check_grads(fn, args)
    np.testing.assert_array_equal(BASE, before)


def test_second_order() -> None:
    adc.check_grads(lambda u, a: np.sum(np.sin(u) * a * u), (RNG.standard_normal(3), 0.4), order=2)
    adc.check_grads(adc.jit_grad(loop), (1.5, 2), 2, "forward")


def wave(x):
    return math.cosh(x) * 2.0


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_wrong_rule_is_found(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rules.RULES, ops.cosh, lambda g, y, x: (g * ops.cosh(x),))
    with pytest.raises(DifferentiationError, match=f"wave: {mode} mode gives .* where it should be"):
        adc.check_grads(adc.jit_grad(wave), (0.4,), modes=mode)
    with pytest.raises(DifferentiationError, match="wave: forward mode gives"):
        adc.test_rule(adc.jit_grad(wave), 0.4)


def test_a_wrong_second_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rules.RULES, ops.sinh, lambda g, y, x: (g * y,))  # which is the derivative of cosh
    f = adc.jit_grad(wave)
    adc.check_grads(f, (0.4,))
    with pytest.raises(DifferentiationError, match="wave: second derivatives gives") as caught:
        adc.check_grads(f, (0.4,), order=2)
    assert "kink" not in str(caught.value)


def test_a_step_is_no_derivative() -> None:
    with pytest.raises(DifferentiationError, match="forward mode gives"):
        adc.test_rule(lambda x: np.floor(x) * x, 2.0)


def test_options() -> None:
    with pytest.raises(ArgumentValueError, match="modes are some of 'forward', 'reverse', not 'fwd'"):
        adc.check_grads(wave, (1.0,), modes="fwd")
    with pytest.raises(ArgumentValueError, match="order is 1 or 2, not 3"):
        adc.check_grads(wave, (1.0,), order=3)


@pytest.mark.parametrize(
    "function, point",
    [
        (lambda x: abs(x) ** 2, 0.0),
        (lambda x: np.hypot(x, 0.0) ** 2, 0.0),
        (lambda x: np.linalg.norm(x) ** 2, np.zeros(2)),
        (lambda x: abs(x), 0.0),
        (lambda x: x * max(x, 0.0), 0.0),
    ],
)
def test_second_derivatives_at_kinks_are_said_to_be(function, point):
    with pytest.raises(DifferentiationError, match="looks like a kink"):
        adc.check_grads(function, (point,), order=2)
    adc.check_grads(function, (point + 0.5,), order=2)


MIDDLES = {
    "abs": (lambda x: abs(x), 0.0),
    "abs and a slope": (lambda x: abs(x) + 3.0 * x, 0.0),
    "one of many": (lambda x: np.sum(np.abs(x) * np.exp(x)), np.array([0.5, 0.0, -2.0])),
    "single precision": (lambda x: np.sum(np.abs(x)), np.array([0.5, 0.0], np.float32)),
    "maximum": (lambda x: np.sum(np.maximum(x, 0.0)), np.zeros(2)),
    "inside": (lambda x: np.sin(abs(x) + x * x), 0.0),
}


@pytest.mark.parametrize("name", MIDDLES)
@pytest.mark.parametrize("modes", ["forward", "reverse"])
def test_kinks_are_told_where_the_derivative_is_the_middle_of_both_slopes(name, modes):
    function, point = MIDDLES[name]
    with pytest.raises(DifferentiationError, match=f"{modes} mode .* the slopes to both sides .* looks like a kink"):
        adc.check_grads(function, (point,), modes=modes)


def newton(x):
    """It ends where it is accurate to seven digits: another number of steps is a jump."""
    y = x
    for _ in range(100):
        if abs(y * y - x) < 1e-7:
            break
        y = 0.5 * (y + x / y)
    return y


SMOOTH = {
    "beside a kink": (lambda x: abs(x), 0.25),
    "no kink of the first derivative": (lambda x: x * abs(x), 0.0),
    "curved": (lambda x: np.cosh(30.0 * x), 0.0),
    "flat": (lambda x: 1e6 + 1e-3 * x, 2.0),
    "constant": (lambda x: 0.0 * x + 1.0, 2.0),
    "steep": (lambda x: 1e8 * x, 1e-3),
    "single precision": (lambda x: np.sum(np.sin(x) * x), np.linspace(0.1, 2.0, 5, dtype=np.float32)),
    "rounded": (lambda x: np.sum(np.sin(1e3 + x) + 1e5) - 1e5, np.linspace(0.0, 1.0, 50)),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_no_kink_is_told_where_there_is_none(name):
    function, point = SMOOTH[name]
    adc.check_grads(function, (point,), rtol=1e-4)


@pytest.mark.parametrize("point", [2.0, 3.0, 7.5, 1234.5])
def test_jumps_of_an_iteration_are_no_kinks(point):
    adc.check_grads(newton, (point,), rtol=1e-4)


def test_first_derivatives_at_kinks_are_said_to_be():
    with pytest.raises(DifferentiationError, match="looks like a kink"):
        adc.check_grads(lambda x: max(x, 3.0 * x), (0.0,))


def test_where_kinks_meet_the_derivative_may_be_on_any_side_of_each():
    """At a tie max has the slope of its first argument: 3 + 2, where those to both sides are 1 and 3."""

    def function(x):
        return max(3.0 * x, x) - 2.0 * max(-x, x)

    assert adc.grad(function)(0.0) == 5.0
    with pytest.raises(DifferentiationError, match=r"slopes to both sides .* looks like a kink") as caught:
        adc.check_grads(function, (0.0,))
    assert "find_culprit" not in str(caught.value)


def test_a_wrong_derivative_beside_no_kink_is_not_excused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rules.RULES, ops.sinh, lambda g, y, x: (g * y,))
    with pytest.raises(DifferentiationError, match="should be") as caught:
        adc.check_grads(lambda x: np.sinh(x), (0.4,))
    assert "kink" not in str(caught.value) and "find_culprit" in str(caught.value)
