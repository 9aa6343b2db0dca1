"""Functions of small arrays of unknown size: a version for the size that their subscripts suggest, and one for all
others, compute the same as Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad
from adc.ir import ops
from adc.ir.nesting import enclosing
from adc.ir.text.parser import parse_module
from tests.forward_mode import check_gradients


def valley(v):
    return (1.0 - v[0]) ** 2 + 5.0 * (v[1] - v[0] * v[0]) ** 2


def length(v):
    total = 0.0
    for i in range(len(v)):
        total += v[i] * v[i]
    return math.sqrt(total)


def descent(start, steps):
    """The gradient is made in a short function that is written into an array of its caller."""
    x = start.copy()
    value = valley(x)
    for _ in range(steps):
        new = x - 0.01 * adc.grad(valley)(x)
        if length(new - x) < 1e-3:
            break
        found = valley(new)
        if found < value:
            x, value = new, found
    return x[0] * x[1] + value


def turned(start, steps):
    """Three numbers, the first of which decides."""
    u = start * 1.0
    for _ in range(steps):
        w = np.empty(len(u))
        w[0] = u[1] * u[2]
        w[1] = math.sin(u[0])
        w[2] = u[0] - u[1]
        u = w if w[0] < 0.4 else u + 0.1 * w
    return u[0] + u[1] * u[2]


def filled(out, a):
    out[0] = a[1] * a[0]
    out[1] = math.cos(a[0])


def in_place(start, steps):
    """A short function that writes what it is given."""
    u = start.copy()
    for _ in range(steps):
        v = np.zeros(len(start))
        filled(v, u)
        u = u + 0.25 * v
    return u[0] * u[1]


def long_or_short(start, steps):
    """What is neither first nor second matters, too."""
    total = 0.0
    for t in range(steps):
        y = start * (t + 1.0)
        total += np.sum(y * y) + y[0] * y[1]
    return total


def of_two(start, steps):
    """Two extents, of which one is known when the other is."""
    other = start[1:]
    total = 0.0
    for _ in range(steps):
        y = start * 0.5
        z = other * total
        total += y[0] - y[1] * y[2] + z[0] * z[1]
    return total


PROGRAMS = {descent: (2, 3, 5), turned: (3,), in_place: (2,), long_or_short: (2, 3, 5), of_two: (3, 5)}
"""And the numbers of elements that they run for: some set no more elements than they name."""


@pytest.mark.parametrize(("f", "extents"), PROGRAMS.items(), ids=[f.__name__ for f in PROGRAMS])
def test_values_and_derivatives(f: Callable[..., Any], extents: tuple[int, ...]) -> None:
    compiled = jit_grad(f)
    for extent in extents:
        x = np.linspace(0.3, 0.9, extent)
        for steps in (0, 1, 6):
            if f is not descent:  # which has a gradient inside: plain Python has none
                assert compiled(x, steps) == pytest.approx(f(x.copy(), steps), rel=1e-14)
            gradient = compiled.grad(x, steps)
            step = 1e-6
            for k, e in enumerate(np.eye(extent)):
                by_difference = (compiled(x + step * e, steps) - compiled(x - step * e, steps)) / (2.0 * step)
                assert gradient[k] == pytest.approx(by_difference, rel=1e-5, abs=1e-7)
        check_gradients(compiled, [x, 6], {0: gradient})
        behind = np.linspace(0.3, 0.9, 2 * extent)[::-2]  # a view with a negative step
        assert compiled(behind, 6) == compiled(behind.copy(), 6)
        np.testing.assert_array_equal(compiled.grad(behind, 6), compiled.grad(behind.copy(), 6))


def test_descent_is_that_of_a_gradient_by_hand() -> None:
    def slope(v):
        inner = v[1] - v[0] * v[0]
        return np.array([-2.0 * (1.0 - v[0]) - 20.0 * inner * v[0], 10.0 * inner])

    x = start = np.array([0.3, 0.9])
    value = valley(x)
    for _ in range(6):
        new = x - 0.01 * slope(x)
        if length(new - x) < 1e-3:
            break
        found = valley(new)
        if found < value:
            x, value = new, found
    assert jit_grad(descent)(start, 6) == pytest.approx(x[0] * x[1] + value, rel=1e-13)


def test_single_precision() -> None:
    compiled = jit_grad(long_or_short)
    for extent in (2, 3):
        x = np.linspace(0.3, 0.9, extent, dtype=np.float32)
        assert compiled(x, 6) == pytest.approx(long_or_short(x, 6), rel=1e-5)
        np.testing.assert_allclose(compiled.grad(x, 6), compiled.grad(x.astype(float), 6), rtol=1e-4)


def test_the_version_has_no_arrays() -> None:
    for f in (descent, turned, in_place, long_or_short):
        module = parse_module(jit_grad(f).dump_ir("simplified", "f64[::1], i64"))
        func = module.funcs[f.__name__]
        choice = next(op for op in func.walk() if op.opdef is ops.if_)
        known, other = choice.regions
        assert not any(op.opdef is ops.alloc and op.parent is not known for op in known.walk()), f.__name__
        assert any(op.opdef is ops.alloc for op in other.walk())
        assert all(around is choice for around in enclosing(known))


@pytest.mark.parametrize("f", [descent, in_place], ids=lambda f: f.__name__)
def test_too_few_elements(f: Callable[..., Any]) -> None:
    for extent in (0, 1):
        with pytest.raises(IndexError):
            jit_grad(f)(np.ones(extent), 3)


def returned(start, steps):
    """The caller's own array, if there are no steps."""
    x = start
    for _ in range(steps):
        y = x * 0.5
        y[0] = y[0] + x[1]
        x = y
    return x


def test_an_array_that_may_be_the_callers() -> None:
    compiled = jit_grad(returned)
    for extent in (2, 3):
        for steps in (0, 2):
            x = np.linspace(1.0, 2.0, extent)
            y = compiled(x, steps)
            np.testing.assert_array_equal(y, returned(x.copy(), steps))
            y[:] = 7.0
            assert (x[0] == 7.0) == (steps == 0)


def changed(start, other, steps):
    """The argument is written to, under another name perhaps."""
    total = 0.0
    for _ in range(steps):
        y = start * 2.0
        other[0] = y[1] - y[0]
        total += y[0] * start[0]
    return total


def test_arguments_that_overlap() -> None:
    compiled = jit_grad(changed)
    for extent in (2, 3):
        x, expected = np.linspace(1.0, 2.0, extent), np.linspace(1.0, 2.0, extent)
        assert compiled(x, x, 3) == changed(expected, expected, 3)
        np.testing.assert_array_equal(x, expected)


def test_what_is_raised_names_the_line() -> None:
    def far(start, steps):
        total = 0.0
        for t in range(steps):
            y = start * 2.0
            total += y[0] * y[1] + (y[2] if t > 2 else 0.0)
        return total

    compiled = jit_grad(far)
    assert compiled(np.ones(2), 3) == far(np.ones(2), 3)
    assert compiled(np.ones(3), 5) == far(np.ones(3), 5)
    with pytest.raises((IndexError, errors.AdcError)):
        compiled(np.ones(2), 4)


def beside(u, steps):
    """An argument comes out beside what is made of it, as it is or as a loop leaves it."""
    w, v = u * 1.0, u
    for _ in range(steps):
        w = w * w[0] + w[1]
    for k in range(steps):
        if k > 1:
            v = v * 2.0
    return u, v, w


def test_arguments_that_come_out_are_these_objects() -> None:
    compiled = jit_grad(beside)
    for extent in (2, 3):
        for steps in (0, 1, 3):
            x = np.linspace(0.2, 0.8, extent)
            found, expected = compiled(x, steps), beside(x, steps)
            assert [each is x for each in found] == [each is x for each in expected]
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
