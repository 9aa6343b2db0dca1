"""Loops whose first iteration gives variables other types than they had before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc

X = np.linspace(-1.0, 1.5, 8)
ROW = np.linspace(0.0, 1.0, 8)


def number(x: Any) -> Any:
    s = np.float32(0.1)
    for k in range(50):
        s = s * s * 0.1 + 0.5 * x[k % 8]
    return s


def array(x: Any) -> Any:
    y = x.astype(np.float32)
    for _ in range(50):
        y = y * y * 0.1 + ROW + x
    return np.sum(y)


def items(x: Any) -> Any:
    s = np.float32(1.0)
    for k, row in enumerate(ROW[:5]):
        s = s * 0.3 + row * x[k]
    return s


def dimensions(x: Any) -> Any:
    v = x
    for _ in range(40):
        v = v[None] * 0.5 if v.ndim == 1 else v * 0.9
    return np.sum(v**2)


def nested(x: Any) -> Any:
    y = x.astype(np.float32)
    for k in range(40):
        for j in range(3):
            y = y + x * j
        if k == 30:
            continue
        y = y * 0.9
    return np.sum(y)


def with_break(x: Any) -> Any:
    y = x.astype(np.float32)
    for k in range(40):
        y = y * 0.5 + ROW * x
        if np.sum(y) < 0.01 * k:
            break
    else:
        y = -y
    return np.sum(y)


def attribute(x: Any) -> Any:
    held = {"sum": np.float32(1.0)}
    for k in range(40):
        held["sum"] = held["sum"] * 0.3 + x[k % 8]
    return held["sum"]


def counted(x: Any, n: Any = 40) -> Any:
    y = x.astype(np.float32)
    for _ in range(n):
        y = y * 0.9 + ROW * x
    return np.sum(y)


def in_called(x: Any) -> Any:
    return counted(x, 45) + counted(2.0 * x, 50)


@pytest.mark.parametrize(
    "program", [number, array, items, dimensions, nested, with_break, attribute, counted, in_called]
)
def test_other_types_from_the_second_on(program: Any) -> None:
    value = adc.jit_grad(program)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-14)
    assert np.asarray(value).dtype == np.asarray(program(X)).dtype
    direction = np.cos(np.arange(8.0))
    slope = (program(X + 1e-3 * direction) - program(X - 1e-3 * direction)) / 2e-3
    np.testing.assert_allclose(np.sum(adc.grad(program)(X) * direction), slope, rtol=1e-3)


def test_the_first_is_computed_in_single_precision() -> None:
    def f(x: Any) -> Any:
        s = x
        for _ in range(40):
            s = s * s * 0.5 + np.float64(0.3)
        return s

    x = np.float32(1.0000001)
    assert adc.jit_grad(f)(x) == f(x)


def test_no_iteration() -> None:
    def f(x: Any, n: Any) -> Any:
        y = x.astype(np.float32)
        for _ in range(n):
            y = y * 0.9 + x
        return y

    for n in (0, 1, 40):
        found = adc.jit_grad(f)(X, n)
        assert found.dtype == f(X, n).dtype
        np.testing.assert_array_equal(found, f(X, n))


def test_while_loops() -> None:
    def counted(x: Any, n: Any) -> Any:
        s, k = 0, 0
        while k < n:
            s = s + x * k
            k += 1
            if k == 3:
                break
        else:
            s = s + 1
        return s

    def until_small(x: Any, n: Any) -> Any:
        r, k = 1.0, 0
        while np.sum(np.abs(r)) > 1e-3 and k < 50:
            r = r * 0.3 * x
            k += n
        return r

    def without_end(x: Any, n: Any) -> Any:
        s = x.astype(np.float32)
        while True:
            s = s + np.abs(x)
            if np.sum(s) > 10 * n:
                break
        return s

    for program in (counted, until_small, without_end):
        for n in (2, 1, 5):
            found, wanted = adc.jit_grad(program)(X, n), program(X, n)
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype
    assert adc.jit_grad(counted)(X, 0) == 1
    _, back = adc.pullback(counted, X, 2)
    np.testing.assert_array_equal(back(np.ones(8))[0], np.ones(8))
