"""How calls of compiled functions bind: ``*args``, ``**kwargs``, keyword-only parameters, defaults, wrappers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad


def plain(x: float, *args: Any, s: float = 2.0, **named: Any) -> float:
    t = x * s
    for a in args:
        t += np.sum(a * a) if isinstance(a, np.ndarray) else a * x
    for name in named:
        t = t * named[name]
    return t


compiled = jit_grad(plain)


def test_values() -> None:
    a = np.array([1.0, 2.0])
    for args, named in (
        ((1.5,), {}),
        ((1.5, 2.0), {}),
        ((1.5, a), {"s": 3.0}),
        ((1.5, 2.0, a), {"u": 2.0}),
        ((1.5,), {"u": 2.0, "v": 3.0}),
        ((1.5, 2.0), {}),
    ):
        assert np.isclose(compiled(*args, **named), plain(*args, **named))


def test_gradients() -> None:
    a = np.array([1.0, 2.0])
    by_x, by_first, by_array = adc.grad(compiled, argnums=(0, 1, 2))(1.5, 3.0, a)
    assert (by_x, by_first, by_array.tolist()) == (5.0, 1.5, [2.0, 4.0])
    assert adc.grad(compiled, argnums=-1)(1.5, 3.0, a).tolist() == [2.0, 4.0]
    found = adc.grad(compiled, argnames=("s", "u", "args"))(1.5, 3.0, a, s=4.0, u=0.5)
    assert found["s"] == 0.75 and found["u"] == 1.5 * 4.0 + 4.5 + 5.0
    assert found["args"][0] == 0.75 and found["args"][1].tolist() == [1.0, 2.0]
    with pytest.raises(adc.errors.ArgumentError, match="no argument number 2"):
        adc.grad(compiled, argnums=2)(1.5, 3.0)
    with pytest.raises(adc.errors.DifferentiationError, match=r"args\[0\]"):
        adc.grad(compiled, argnums=1)(1.5, 3)


def test_pullbacks_give_the_containers() -> None:
    a = np.array([1.0, 2.0])
    value, back = compiled.pullback(1.5, 3.0, a, u=0.5)
    assert np.isclose(value, plain(1.5, 3.0, a, u=0.5))
    by_x, (by_first, by_array), by_s, by_named = back(2.0)
    assert (by_x, by_first, by_s) == (5.0, 1.5, 1.5)
    assert by_array.tolist() == [2.0, 4.0] and by_named == {"u": 2 * (3.0 + 4.5 + 5.0)}


def test_only_starred() -> None:
    f = jit_grad(lambda *args: args[0] * 2.0)
    assert f(1.0) == 2.0 and f(3.0) == 6.0 and f(1.0, 3) == 2.0 and f(1.0) == 2.0
    assert adc.grad(f)(3.0) == 2.0


def test_keyword_only() -> None:
    @jit_grad(argnames=("b",))
    def f(x: float, *, b: float = 2.0) -> float:
        return x * b * b

    assert f(1.5) == 6.0 and f(1.5, b=3.0) == 13.5 and f(1.5) == 6.0
    assert f.grad(1.5) == {"b": 6.0} and f.grad(1.5, b=1.0) == {"b": 3.0}
    with pytest.raises(TypeError):
        f(1.5, 2.0)


def test_wrappers_are_compiled_as_they_are() -> None:
    def doubled(g: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(g)
        def wrapper(*args: Any, **named: Any) -> Any:
            return g(*args, **named) * 2.0

        return wrapper

    @jit_grad
    @doubled
    def f(x: float, y: float = 3.0) -> float:
        return x * y * y

    assert f(1.0) == 18.0 and f(1.0, 2.0) == 8.0 and f(1.0, y=2.0) == 8.0
    assert adc.grad(f)(1.0, y=2.0) == 8.0 and adc.grad(f, argnums=1)(1.0, 2.0) == 8.0
    assert adc.grad(f, argnames="y")(1.0, y=2.0) == {"y": 8.0}


def test_what_is_passed_is_mutated() -> None:
    @jit_grad
    def f(a: Any, *rest: Any, **named: Any) -> float:
        a[0] *= 2.0
        rest[0].append(1.0)
        named["q"].append(a[0])
        return a[0] * rest[1]

    array, first, q = np.array([3.0]), [1.0], []
    assert f(array, first, 2.0, q=q) == 12.0
    assert array[0] == 6.0 and first == [1.0, 1.0] and q == [6.0]
