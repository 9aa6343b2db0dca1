"""Calls that are made once for the same arguments: where memory changes in between, and where results do, they are
made again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import adc
from adc import jit_grad

Function = Callable[..., object]


def smoothed(u):
    """Long enough to stay a call."""
    v = u.copy()
    for _ in range(len(u)):
        for i in range(1, len(u) - 1):
            v[i] = 0.25 * (v[i - 1] + 2.0 * u[i] + v[i + 1]) + np.sin(v[i])
    for i in range(len(u)):
        v[i] = v[i] / (1.0 + v[i] * v[i])
    return v


def in_a_branch(u, w):
    a = smoothed(u)
    total = a[0] + a[-1] * w[0]
    if total > 0.0:
        b = smoothed(u)
        total += b[1] * w[1]
    return total * smoothed(u)[2]


def argument_changes(u, w):
    a = smoothed(u)
    u[1] = a[1] * w[0]
    return np.sum(a * smoothed(u))


def result_changes(u, w):
    a = smoothed(u)
    a[0] = w[0]
    return np.sum(a * smoothed(u))


def later_result_changes(u, w):
    a = smoothed(u)
    b = smoothed(u)
    for i in range(len(b)):
        b[i] += w[i] * a[i]
    return np.sum(a * b)


def one_of_two(u, w):
    """A result that another name may stand for."""
    a = smoothed(u)
    b = smoothed(u)
    c = a if w[0] > 0.0 else b
    c[0] = 2.0 * w[1]
    return np.sum(a * w) + np.sum(b)


def in_steps(u, w):
    total = 0.0
    for k in range(3):
        total += smoothed(u)[k] * smoothed(u)[0]
        u[k] += w[k]
    return total


def views_of_arguments(u, w):
    a = smoothed(u[1:])
    w[0] += a[0]
    b = smoothed(u[1:])
    u[2] = w[0]
    return np.sum(a * b) + np.sum(smoothed(u[1:]))


def kept_in_a_list(u, w):
    kept = [smoothed(u), smoothed(u)]
    kept[0][0] += w[0]
    return np.sum(kept[0] * kept[1])


PROGRAMS = (
    *(in_a_branch, argument_changes, result_changes, later_result_changes, one_of_two, in_steps),
    *(views_of_arguments, kept_in_a_list),
)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("length", [3, 6])
def test_values_and_gradients_are_those_of_python(function: Function, length: int) -> None:
    u, w = np.random.default_rng(length).standard_normal((2, length))
    along = np.random.default_rng(length + 1).standard_normal((2, length))
    expected = function(given := u.copy(), w.copy())
    compiled = jit_grad(argnums=(0, 1))(function)
    changed = u.copy()
    assert compiled(changed, w.copy()) == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(changed, given, rtol=1e-14)
    by = compiled.grad(u.copy(), w.copy())
    slope = sum(np.sum(g * d) for g, d in zip(by, along, strict=True))
    step = 1e-6
    ends = [function(u + s * along[0], w + s * along[1]) for s in (step, -step)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2.0 * step), rel=1e-6)
    _, tangent = adc.jvp(compiled, (u.copy(), w.copy()), tuple(along))
    assert tangent == pytest.approx(slope, rel=1e-11)


def test_a_result_that_is_only_read_is_computed_once() -> None:
    compiled = jit_grad(in_a_branch)
    compiled(np.ones(4), np.ones(4))
    assert str(compiled.dump_ir()).count("call @smoothed") == 1
