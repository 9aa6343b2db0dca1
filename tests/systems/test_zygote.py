"""Zygote.jl, the transform: one test for each row, named after it."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import CompileError
from adc.ir import ops
from adc.passes.differentiation import rules
from tests.systems.sources import elsewhere


def test_2_gradient() -> None:
    assert adc.grad(lambda x: math.sin(x))(1.0) == pytest.approx(0.54030231, abs=1e-8)
    assert adc.grad(lambda a, b: a * b, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert adc.grad(lambda x: math.cos(math.sin(x)))(1.0) == pytest.approx(-0.40286244, abs=1e-8)


def test_2_loops() -> None:
    @jit_grad
    def power(x, n):
        r = 1.0
        for _ in range(n):
            r = r * x
        return r

    y, back = power.pullback(2.0, 3)
    assert y == 8.0
    assert back(1.0) == (12.0, None)
    assert [power.grad(2.0, n) for n in range(6)] == [n * 2.0 ** (n - 1) if n else 0.0 for n in range(6)]


def test_2_loops_while() -> None:
    def power(x, n):
        r = 1.0
        while n > 0:
            n -= 1
            r *= x
        return r

    assert adc.pullback(power, 2.0, 3)[1](1.0) == (12.0, None)


def test_2_closures() -> None:
    a = 3.0
    f = lambda x: x * a
    assert adc.grad(f)(2.0) == 3.0
    assert adc.grad(f, argnames="a")(2.0) == {"a": 2.0}
    assert adc.grad(f, argnums=0, argnames="a")(2.0) == (3.0, {"a": 2.0})
    a = 5.0  # read at the call, not frozen
    assert adc.grad(f)(2.0) == 5.0


def test_2_on_demand() -> None:
    helper = elsewhere("def helper(x):\n    return x * x * x\n", "helper", "<elsewhere>")

    def f(x):
        return helper(x) + helper(2.0 * x)

    assert adc.grad(f)(2.0) == pytest.approx(3 * 4 + 3 * 16 * 2)


def test_2_print_the_code() -> None:
    @jit_grad
    def f(x):
        return math.sin(x) * x

    primal, adjoint = f.dump_ir("simplified", "f64"), f.dump_ir("adjoint", "f64")
    assert "func.func @f(" in primal and "math.sin" in primal and "math.cos" not in primal
    assert "func.func @f.grad(" in adjoint and "math.cos" in adjoint
    assert "f32" in f.dump_ir("simplified", "f32")


def test_2_user_adjoint() -> None:
    def clipped(x):
        return x * 3.0

    @adc.rrule(clipped)
    def _(x):
        def pullback(g):
            return min(max(g * 3.0, -1.0), 1.0)

        return x * 3.0, pullback

    f = jit_grad(lambda x: 5.0 * clipped(x))
    assert f(2.0) == 30.0
    assert f.grad(2.0) == 1.0  # not 15: the rule overrides what tracing would give


def test_2_user_adjoint_that_raises_while_traced() -> None:
    def half(x):
        return x / 2.0

    @adc.rrule(half)
    def broken(x):
        raise ValueError("not today")

    with pytest.raises(CompileError, match="the rrule of half raises in every case") as caught:
        adc.grad(lambda x: half(x) + 1.0)(1.0)
    assert "def broken(x)" in str(caught.value)
    assert caught.value.lineno == inspect.getsourcelines(broken)[1] + 1
    assert "half(x) + 1.0" in str(caught.value)


def test_2_user_adjoint_with_the_wrong_number_of_cotangents() -> None:
    def weighted(x, w):
        return x * w

    @adc.rrule(weighted)
    def broken(x, w):
        return x * w, lambda g: (g * w, g * x, g)

    message = r"the pullback of the rrule of weighted returns 3 cotangents for 2 positional arguments \(x, w\)"
    with pytest.raises(CompileError, match=message) as caught:
        adc.grad(lambda x: 2.0 * weighted(x, 3.0))(1.0)
    assert "weighted(x, 3.0)" in str(caught.value)


def test_2_find_the_culprit(monkeypatch: pytest.MonkeyPatch) -> None:
    def wave(x):
        return math.cos(x) * x

    def f(x, v):
        y = x * x
        for i in range(len(v)):
            y += wave(v[i] * x)
            v[i] = y
        z = math.atan(y)  # the culprit
        return z * v[0]

    v = np.array([0.3, 0.5])
    assert adc.find_culprit(f, 0.7, v.copy()) is None

    def doubled(kind: Any) -> Any:
        right = rules.RULES[kind]
        return lambda g, y, *xs: tuple(2.0 * c for c in right(g, y, *xs))

    right = rules.RULES[ops.atan]
    monkeypatch.setitem(rules.RULES, ops.atan, doubled(ops.atan))
    found = adc.find_culprit(f, 0.7, v.copy())
    lines, first = inspect.getsourcelines(f)
    line = first + next(k for k, text in enumerate(lines) if "# the culprit" in text)
    assert found is not None and (found.what, found.loc.line) == ("math.atan", line)
    assert "z = math.atan(y)" in str(found) and abs(found.derivative - found.difference) > 1e-3
    monkeypatch.setitem(rules.RULES, ops.atan, right)
    monkeypatch.setitem(rules.RULES, ops.cos, doubled(ops.cos))
    found = adc.find_culprit(f, 0.7, v.copy())
    assert found is not None and found.what == "math.cos" and "return math.cos(x) * x" in str(found)
