"""Mooncake.jl, mutation and one tangent for each type: one test for each row, named after it."""

from __future__ import annotations

import inspect
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, CompileError
from adc.ir import ops
from adc.passes.differentiation.rules import RULES


def test_3_arguments_mutated() -> None:
    @jit_grad
    def f(x):
        x *= x
        return np.sum(x)

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(f.grad(x), 2 * x)

    def square(x):
        for i in range(len(x)):
            x[i] = x[i] * x[i]

    @jit_grad
    def twice(x):
        square(x)
        square(x)
        return np.sum(x)

    np.testing.assert_allclose(twice.grad(x), 4 * x**3)


def test_3_effects_of_arguments() -> None:
    """The model X -> X x A: cotangents for the return value and for the arguments' final state."""

    @jit_grad
    def f(x, y, z, s):
        z *= y * x
        s[:] = 2 * z
        return np.sum(z)

    x, y, z0 = 1.5, 2.0, np.array([1.0, -2.0, 0.5])
    z, s = z0.copy(), np.array([7.0, 8.0, 9.0])
    value, back = f.pullback(x, y, z, s)
    assert value == pytest.approx(np.sum(z0) * 3.0)
    np.testing.assert_allclose(z, 3 * z0)
    np.testing.assert_allclose(s, 6 * z0)
    w = np.array([0.1, 0.2, 0.3])
    # y z sum: d/dz (1 + 2 w) pulled back by z = z0 y x, s = 2 z.
    x_bar, y_bar, z_bar, s_bar = back(1.0, final={"s": w})
    through = 1.0 + 2.0 * w
    assert x_bar == pytest.approx(np.sum(through * z0 * y))
    assert y_bar == pytest.approx(np.sum(through * z0 * x))
    np.testing.assert_allclose(z_bar, through * 3.0)
    np.testing.assert_array_equal(s_bar, np.zeros(3))
    z_only = back(0.0, final={"z": w})
    np.testing.assert_allclose(z_only[2], 3.0 * w)


def test_3_undone() -> None:
    @jit_grad
    def f(x, y):
        x[:] = x * y
        y += 1.0
        return np.sum(x * y)

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for call in (f.grad, f.value_and_grad):
        call(x, y)
        np.testing.assert_array_equal(x, [1.0, 2.0])
        np.testing.assert_array_equal(y, [3.0, 4.0])


def test_3_tangent_types() -> None:
    """The tangent of what holds no floats is None; tuples have tuples."""

    def f(x, n, flag, nothing, mode, p):
        a, (b, k) = p
        return x * a + b[0] * n + k * x if flag and mode == "on" and nothing is None else x

    y, back = adc.pullback(f, 2.0, 3, True, None, "on", (5.0, (np.array([1.0, 4.0]), 7)))
    assert y == 2.0 * 5.0 + 3.0 + 14.0
    x_bar, n_bar, flag_bar, nothing_bar, mode_bar, (a_bar, (b_bar, k_bar)) = back(1.0)
    assert (x_bar, n_bar, flag_bar, nothing_bar, mode_bar, a_bar, k_bar) == (12.0, None, None, None, None, 2.0, None)
    np.testing.assert_array_equal(b_bar, [3.0, 0.0])
    assert adc.pullback(lambda x, p: x * p[0], 2.0, (3, 4))[1](1.0) == (3.0, None)


def test_3_split_data() -> None:
    def foo(x):
        a, b = x
        return a + b[0] + b[1]

    data = (5.0, np.array([1.0, 2.0]))
    value, (a_bar, b_bar) = adc.value_and_grad(foo)(data)
    assert value == 8.0
    assert a_bar == 1.0
    np.testing.assert_array_equal(b_bar, [1.0, 1.0])


def test_3_split_data_in_a_list() -> None:
    def foo(x):
        a, b = x
        return a + b[0] + b[1]

    assert adc.value_and_grad(foo)((5.0, [1.0, 2.0])) == (8.0, (1.0, [1.0, 1.0]))


@dataclass(frozen=True)
class Fixed:
    x: float
    inner: Any
    name: str = "fixed"


@dataclass
class Changing:
    x: float
    n: int = 2
    parts: list[Any] = field(default_factory=list)


Named = namedtuple("Named", "u v")


def test_3_tangent_types_of_containers() -> None:
    """The tangent has the fields of what it belongs to: frozen and mutable dataclasses, namedtuples, nested."""

    def f(fixed, changing, named):
        changing.x = changing.x * fixed.x
        return changing.x * named.u["k"] + fixed.inner.v[0] * changing.parts[0] + named.v * changing.n

    fixed = Fixed(2.0, Named(None, (3.0, 7)))
    changing = Changing(5.0, 4, [11.0, np.ones(2), "text"])
    named = Named({"k": 13.0, "other": 1}, 17.0)
    _, back = adc.pullback(f, fixed, changing, named)
    assert changing.x == 10.0
    a, b, c = back(1.0)
    assert a == Fixed(5.0 * 13.0, Named(None, (11.0, None)), None)
    assert type(b) is Changing and (b.x, b.n) == (2.0 * 13.0, None)
    assert b.parts[0] == 3.0 and list(b.parts[1]) == [0.0, 0.0] and b.parts[2] is None
    assert c == Named({"k": 10.0, "other": None}, 4.0)
    only = adc.pullback(lambda c, x: x * c.n, Changing(1, 3, []), 2.0)[1](1.0)
    assert only == (None, 3.0)


def test_3_uninitialised_fields() -> None:
    """A field that is not set is an error where it is read, and no guess."""

    class Lazy:
        def __init__(self, x):
            self.x = x

    def f(value, late):
        if late is not None:
            value.y = 2.0 * value.x
        return value.x * value.y

    assert adc.grad(f)(Lazy(3.0), "late").x == 12.0
    with pytest.raises(CompileError, match="Lazy has no 'y'"):
        adc.grad(f)(Lazy(3.0), None)
    value = Fixed(1.0, 2.0)
    object.__delattr__(value, "inner")
    assert adc.grad(lambda v: v.x * v.x)(value) == Gradient(2.0)
    with pytest.raises(CompileError, match="the field 'inner' of Fixed is not set"):
        adc.grad(lambda v: v.x * v.inner)(value)


class Gradient:
    """Equal to an object with this ``x`` and no ``inner``."""

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return other.x == self.x and not hasattr(other, "inner")


def test_3_abstract_fields() -> None:
    """What a field holds decides, whatever its annotation says; what adc cannot differentiate is refused by name."""
    for inner, expected in ((2.0, 2.0), (3, 3.0), (np.array(2.0), 2.0)):
        assert adc.grad(lambda v: v.x * v.inner)(Fixed(5.0, inner)).x == expected
    for unusable in ({1.0}, np.array([1.0], object)):  # refused where it is read, and nowhere else
        with pytest.raises(AdcError, match="inner"):
            adc.grad(lambda v: v.x * len(v.inner))(Fixed(5.0, unusable))
        assert adc.grad(lambda v: v.x * v.x)(Fixed(5.0, unusable)).x == 10.0


def test_3_aliasing_one_array_twice() -> None:
    @jit_grad(argnums=(0, 1))
    def f(x, y):
        return np.sum(x * y)

    x = np.array([1.0, 2.0, 3.0])
    first, second = f.grad(x, x)
    np.testing.assert_array_equal(first, x)
    np.testing.assert_array_equal(second, x)
    assert not np.shares_memory(first, second), "what is only read has a partial derivative for each argument"

    @jit_grad
    def g(x, y):
        for i in range(len(x)):
            x[i] = 2.0 * y[i]
        return np.sum(x * y)

    assert g(x.copy(), x.copy()) == 2 * np.sum(x * x)
    z = x.copy()
    assert g(z, z) == np.sum(4 * x * x)
    np.testing.assert_array_equal(g.grad(x, x), 8 * x)
    both = adc.grad(g, argnums=(0, 1))(x, x)
    assert np.shares_memory(*both), "memory that the function writes to has one shadow"
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_3_aliasing_views_of_one_array() -> None:
    @jit_grad(argnums=(0, 1))
    def f(x, y):
        for i in range(len(x)):
            x[i] = x[i] * y[i]
        return np.sum(y)

    base = np.arange(1.0, 6.0)

    def plain(b):
        x, y = b[1:], b[:-1]
        for i in range(len(x)):
            x[i] = x[i] * y[i]
        return np.sum(y)

    value, (x_bar, y_bar) = f.value_and_grad(base[1:], base[:-1])
    assert value == plain(base.copy())
    h = 1e-6
    numeric = np.array([(plain(base + h * e) - plain(base - h * e)) / (2 * h) for e in np.eye(5)])
    np.testing.assert_allclose(x_bar, numeric[1:], rtol=1e-8)
    np.testing.assert_allclose(y_bar, numeric[:-1], rtol=1e-8)
    np.testing.assert_array_equal(base, np.arange(1.0, 6.0))


def test_3_aliasing_view_and_base() -> None:
    @jit_grad(argnums=(0, 1))
    def f(whole, row):
        row *= 3.0
        return np.sum(whole * whole)

    whole = np.arange(6.0).reshape(2, 3)
    expected = np.array([[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]]) * 2 * whole
    whole_bar, row_bar = f.grad(whole, whole[1])
    np.testing.assert_allclose(whole_bar, expected)
    np.testing.assert_allclose(row_bar, expected[1])


TABLE = np.array([1.0, 10.0, 100.0])


def test_3_globals_are_read() -> None:
    @jit_grad
    def f(x):
        return np.sum(x * TABLE)

    np.testing.assert_array_equal(f.grad(np.ones(3)), TABLE)
    TABLE[1] = 20.0
    try:
        np.testing.assert_array_equal(f.grad(np.ones(3)), [1.0, 20.0, 100.0])
    finally:
        TABLE[1] = 10.0


def test_3_globals_are_not_written() -> None:
    @jit_grad
    def f(x):
        TABLE[0] = x  # refused
        return x

    with pytest.raises(CompileError) as refused:
        f.grad(1.0)
    lines, first = inspect.getsourcelines(f.__wrapped__)
    line = first + next(k for k, text in enumerate(lines) if "# refused" in text)
    assert refused.value.lineno == line and "TABLE" in str(refused.value)
    assert TABLE[0] == 1.0


def test_3_closures_that_mutate() -> None:
    @jit_grad
    def f(x):
        total = np.zeros(2)

        def add(v):
            total[0] += v
            total[1] += v * v

        add(x)
        add(3.0 * x)
        return total[0] + total[1]

    assert f(2.0) == 8.0 + 40.0
    assert f.grad(2.0) == pytest.approx(4.0 + 40.0)


def test_3_rule_tester(monkeypatch: pytest.MonkeyPatch) -> None:
    """Value, forward, reverse, their consistency, shapes, dtypes, and that inputs are restored."""

    def f(state, pair, n):
        for _ in range(n):
            state *= pair[0]
            state[0] += np.sin(pair[1])
        return np.sum(state), state[::2] * pair[0]

    state = np.linspace(0.5, 1.5, 5)
    before = state.copy()
    adc.test_rule(f, state, (0.9, 0.4), 3)
    adc.test_rule(f, state[::-1].astype(np.float32), (0.9, 0.4), 1)
    np.testing.assert_array_equal(state, before)
    monkeypatch.setitem(RULES, ops.sin, lambda g, y, x: (g * 0.5,))
    with pytest.raises(adc.errors.DifferentiationError, match="forward mode gives"):
        adc.test_rule(lambda x: np.sin(x), 0.4)
