"""Calls whose reverse function would do nothing are unchanged: no record, no tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.ir import ops
from adc.ir.text.parser import parse_module
from tests.forward_mode import check_gradients


def nearest(x, start, n):  # type: ignore[no-untyped-def]
    """A point found by steps of fixed lengths: x decides about them alone."""
    y = start.copy()
    for k in range(n):
        up = 0.0
        for i in range(len(x)):
            up += (x[i] - y[i]) * (i + 1.0)
        if up > 0.0:
            y = y + 0.5**k
        else:
            y = y - 0.5**k
    return y


def descent(x, start, n):  # type: ignore[no-untyped-def]
    """Of x . y, whose value alone depends on x, and of which the slope is asked for as a gradient."""

    def below(y):  # type: ignore[no-untyped-def]
        return np.sum(y * y) - np.sum(x * x)

    y = start.copy()
    value = below(y)
    for _ in range(n):
        new = y - 0.1 * adc.grad(below)(y)
        found = below(new)
        if found < value:
            y = new
            value = found
    return y


def cleared(x, u, n):  # type: ignore[no-untyped-def]
    """What is written ends what u was: its reverse function has that to do."""
    if n == 0:
        for i in range(len(u)):
            u[i] = 1.0 if x[i] > 0.3 else 2.0
    else:
        cleared(x, u, n - 1)


def recursive(x, start, n):  # type: ignore[no-untyped-def]
    if n == 0:
        return start.copy()
    y = recursive(x, start, n - 1)
    for k in range(len(y)):
        if y[k] > x[k]:
            return y * 0.5
    return recursive(x, y + 1.0, n - 1)


def of_nearest(x, start):  # type: ignore[no-untyped-def]
    return np.sum(x * nearest(x, start, 6) * x)


def of_descent(x, start):  # type: ignore[no-untyped-def]
    return np.sum(x * descent(x, start, 6) * x)


def of_cleared(x, start):  # type: ignore[no-untyped-def]
    u = x * x * x
    before = np.sum(u * x)
    cleared(x, u, 2)
    return before * np.sum(u * x * start)


def of_recursive(x, start):  # type: ignore[no-untyped-def]
    return np.sum(x * recursive(x, start, 3) * x)


def of_both(x, start):  # type: ignore[no-untyped-def]
    """By start, which matters, and by x: one call is idle, the other one is not."""
    y = nearest(x, start, 3)
    return np.sum(y * y * x) * np.sum(nearest(x * 2.0, y, 2) * x)


PROGRAMS = [of_nearest, of_descent, of_cleared, of_recursive, of_both]


@pytest.mark.parametrize("argnums", [(0,), (0, 1)], ids=["by x", "by both"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_against_forward_mode(f: Callable[..., Any], argnums: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    args = [rng.random(3) + 0.1, rng.random(3)]
    compiled = jit_grad(f, argnums=argnums)
    gradients = compiled.grad(*args)
    assert compiled(*args) == pytest.approx(f(*args), rel=1e-13)
    check_gradients(compiled, args, dict(zip(argnums, gradients, strict=True)), rel=1e-11)
    _, back = compiled.pullback(*args)
    for _ in range(2):
        np.testing.assert_allclose(back(1.0)[: len(argnums)], gradients, rtol=1e-12)


@pytest.mark.parametrize("f", [of_nearest, of_descent, of_recursive], ids=lambda f: f.__name__)
def test_no_record(f: Callable[..., Any]) -> None:
    module = parse_module(jit_grad(f).dump_ir("adjoint", "f64[::1], f64[::1]"))
    assert not any(op.opdef in (ops.pack, ops.unpack) for func in module.funcs.values() for op in func.walk())


def test_second_derivatives() -> None:
    rng = np.random.default_rng(5)
    x, start, v = rng.random(3) + 0.1, rng.random(3), rng.random(3)
    for f in (of_descent, of_recursive):
        found = adc.hvp(f, (x, start), (v, np.zeros(3)))
        step = 1e-5
        slope = jit_grad(f).grad
        by_differences = (slope(x + step * v, start) - slope(x - step * v, start)) / (2.0 * step)
        np.testing.assert_allclose(found[0] if isinstance(found, tuple) else found, by_differences, rtol=1e-7)
