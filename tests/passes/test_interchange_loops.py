"""interchange-loops: whole-array statements in steps, element by element; values and gradients are those of plain
Python, and what cannot be interchanged stays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.passes.analysis.cold import walk_warm

pytestmark = pytest.mark.usefixtures("stages")

RNG = np.random.default_rng(5)


def oscillators(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """Temporary arrays, a nested loop, arrays that the caller sees the end of."""
    x, v = x0.copy(), v0.copy()
    e = np.zeros_like(x0)
    for t in range(steps):
        f = np.zeros_like(x0)
        for m in range(len(k)):
            f += -k[m] * x**2 * x + math.sin(0.1 * t) * k[m]
        v = v + 0.1 * f
        x = x + 0.1 * v
        e += x * x
    return np.sum(e * v)


def nearest(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """A running choice, columns of a matrix, integers that are counted."""
    a = np.outer(x0, k) + v0[:, None]
    least = np.full(len(x0), np.inf)
    place = np.zeros(len(x0))
    for c in range(steps):
        s = np.zeros(len(x0))
        for j in range(len(k)):
            s += (a[:, j] - 0.3 * c * k[j]) ** 2
        place = np.where(s < least, 1.0 * c, place)
        least = np.where(s < least, s, least)
    return np.sum(least) + np.sum(place * x0)


def neighbours(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """Elements depend on others."""
    x = x0.copy()
    for _ in range(steps):
        f = np.zeros(len(x0))
        for m in range(len(k)):
            f += k[m] * x
        x[1:] = x[1:] + 0.1 * f[:-1] * v0[1:]
    return np.sum(x * x)


def shared(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """A sum in each step, which all elements read."""
    x = x0.copy()
    for _ in range(steps):
        f = np.zeros(len(x0))
        for m in range(len(k)):
            f += k[m] * x * v0
        x = x + 0.1 * f / (1.0 + np.sum(x * x))
    return np.sum(x * x)


def running_least(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """With equal terms, which share the derivative."""
    least = np.full(len(x0), np.inf)
    for c in range(steps):
        s = np.zeros(len(x0))
        for m in range(len(k)):
            s += (x0 - v0 * k[m] * (c // 2)) ** 2
        least = np.minimum(least, s)
    return np.sum(least)


def paths(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """Each path is a row, and there are numbers for each path, too; the last step reads two steps back."""
    s = np.ones((len(x0), steps + 2))
    s[:, 0] = x0
    v = v0 + 0.1
    for t in range(1, steps + 2):
        v = v * (1.0 - 0.1 * s[:, t - 1] ** 2)
        s[:, t] = s[:, t - 1] * np.exp(0.1 * k[1] * t * v) + 0.2 * s[:, max(t - 2, 0)]
    return np.sum(s * s) + np.sum(s[:, -1] * v)


def columns_of_air(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """Tridiagonal systems along the last axis, for a grid: down and up again, the latter in place."""
    b = np.outer(x0, np.ones(4 * (steps + 1))).reshape(len(x0), 4, steps + 1) + 3.0
    d = b * v0[:, None, None] * (1.0 + np.arange(4.0)[:, None])
    c = np.zeros_like(b)
    c[:, :, 0] = 1.0 / b[:, :, 0]
    for n in range(1, steps + 1):
        m = 1.0 / (b[:, :, n] - c[:, :, n - 1])
        c[:, :, n] = k[0] * m
        d[:, :, n] = (d[:, :, n] - d[:, :, n - 1]) * m
    for n in range(steps - 1, -1, -1):
        d[:, :, n] -= c[:, :, n] * d[:, :, n + 1]
    return np.sum(d * d)


def by_columns(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """One statement in a step, which reads a column of a matrix."""
    a = np.outer(x0, np.arange(1.0, steps + 1.0)) + v0[:, None]
    s = np.zeros(len(x0))
    for j in range(steps):
        s = 0.5 * s + k[0] * a[:, j] ** 2
    return np.sum(s * s)


def other_rows(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """A row reads another one."""
    s = np.ones((len(x0), steps + 1)) * v0[:, None] * k[0]
    s[:, 0] = x0
    for t in range(1, steps + 1):
        s[:, t] = 0.5 * s[:, t] + s[::-1, t - 1]
    return np.sum(s * s)


def rows_of_steps(x0: Any, v0: Any, k: Any, steps: int) -> float:
    """Elements are along the last axis."""
    s = np.ones((steps + 1, len(x0))) * v0 * k[0]
    s[0] = x0
    for t in range(1, steps + 1):
        s[t] = 0.5 * s[t] + np.sin(s[t - 1])
    return np.sum(s * s)


DONE = oscillators, nearest, paths, columns_of_air, by_columns
FUNCTIONS = *DONE, neighbours, shared, running_least, other_rows, rows_of_steps
COMPILED = {f: jit_grad(argnums=(0, 1, 2))(f) for f in FUNCTIONS}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    compiled = COMPILED[function]
    for n, steps in ((53, 3), (1, 4), (0, 2), (50, 0), (9, 1)):
        args = RNG.random(n), RNG.random(n), RNG.random(3), steps
        expected = function(*args)
        value, gradient = compiled.value_and_grad(*args)
        if np.isfinite(expected):
            assert compiled(*args) == pytest.approx(expected, rel=1e-12)
            assert value == pytest.approx(expected, rel=1e-12)
            direction = tuple(RNG.random(len(g)) for g in gradient)
            moved = [[a + s * 1e-6 * d for a, d in zip(args[:3], direction, strict=True)] for s in (1, -1)]
            slope = (function(*moved[0], steps) - function(*moved[1], steps)) / 2e-6
            found = sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True))
            assert found == pytest.approx(slope, rel=1e-6, abs=1e-7)
            _, along = adc.jvp(compiled, args, (*direction, None))
            assert along == pytest.approx(found, rel=1e-10, abs=1e-12)


def _loops_within(compiled: Any, name: str) -> bool:
    """Whether a parallel loop that runs is outside of a sequential one."""
    module = parse_module(compiled.dump_ir("simplified"))
    parallel = [op for op in walk_warm(module.funcs[name].body) if op.opdef is ops.parallel]
    return any(inner.opdef is ops.for_ for op in parallel for inner in op.regions[0].walk())


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_where_it_is_done(function: Any) -> None:
    fresh = jit_grad(function)
    fresh(RNG.random(5), RNG.random(5), RNG.random(3), 2)
    assert _loops_within(fresh, function.__name__) == (function in DONE)


def test_steps_that_are_run_again_stay() -> None:
    """A schedule has the time loop to act on."""
    checked = jit_grad(argnums=(0, 1, 2), checkpoint=adc.every(2))(oscillators)
    args = RNG.random(6), RNG.random(6), RNG.random(3), 7
    for one, other in zip(checked.grad(*args), COMPILED[oscillators].grad(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert not _loops_within(checked, "oscillators")


def test_threads_single_precision_and_second_derivatives() -> None:
    args = tuple(a.astype(np.float32) for a in (RNG.random(300), RNG.random(300), RNG.random(2)))
    one, two = (jit_grad(argnums=(0, 2), threads=t)(oscillators).value_and_grad(*args, 4) for t in (1, 2))
    assert one[0] == two[0]
    for a, b in zip(one[1], two[1], strict=True):
        np.testing.assert_array_equal(a, b)
    wide = [a.astype(np.float64) for a in args]
    direction = RNG.random(300)
    found = adc.hvp(oscillators, (*wide, 4), (direction, None, None, None))
    ahead, behind = (COMPILED[oscillators].grad(wide[0] + s * 1e-5 * direction, *wide[1:], 4)[0] for s in (1, -1))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-7)
