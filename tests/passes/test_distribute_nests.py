"""distribute-sums over nests: Python's order of sums, on threads over rows, for any lengths."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import runtime
from adc.passes.distribution import distribute_nests


def polynomial(x):
    """Terms without functions of a library: the same bits as Python's, but for contraction."""
    t = x * 0.5 + 0.25
    return ((t * t + 1.0) / (t * t + 2.0) - t / (t * t * t * t + 3.0)) / (1.0 + t * t)


def one(a):
    total = 0.5
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += polynomial(a[i, j]) / (1.0 + a[i, j] * a[i, j])
    return total


def several(a):
    """Two sums with several terms each, subtracted ones and ones on branches."""
    total, other = 0.0, 1.0
    for i in range(a.shape[0] - 1, -1, -2):
        for j in range(1, a.shape[1], 3):
            s = polynomial(a[i, j])
            other -= s * a[i, j - 1]
            total += s
            if s > 0.25:
                total -= s * s / (1.0 + s)
            other = s * s + other
    return total + other * other


def with_rows(a):
    """Each row has effects of its own, and what is computed before its sum."""
    out = np.zeros(a.shape[0])
    total = 0.0
    for i in range(a.shape[0]):
        out[i] = polynomial(float(i))
        for j in range(a.shape[1]):
            total += polynomial(a[i, j] * out[i]) * polynomial(a[i, j])
    return total + np.sum(out)


def three_deep(a):
    total = 0.0
    for t in range(3):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                total += polynomial(a[i, j] + t) * polynomial(a[i, j])
    return total


def after_a_search(a):
    """Terms that are quick to have, once it is known which: the place of each row's least element is a subscript."""
    total = 0.0
    for i in range(a.shape[0]):
        best, least = 0, np.inf
        for k in range(a.shape[0]):
            s = 0.0
            for j in range(a.shape[1]):
                s += (a[i, j] - 0.5 * a[k, j]) ** 2
            if s < least:
                best, least = k, s
        for j in range(a.shape[1]):
            total += a[i, j] * a[best, j]
    return total


def triangle(a):
    """Not of this kind: rows differ in length."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(min(i, a.shape[1])):
            total += polynomial(a[i, j]) * polynomial(a[i, j] * 2.0)
    return total


def used(a):
    """Not of this kind: what was summed so far is used in the row."""
    total = 0.0
    for i in range(a.shape[0]):
        scale = 1.0 / (1.0 + total * total)
        for j in range(a.shape[1]):
            total += polynomial(a[i, j]) * polynomial(a[i, j] * scale)
    return total


def in_place(a):
    """Not of this kind: rows need those before."""
    b = a * 1.0
    total = 0.0
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1]):
            b[i, j] = polynomial(b[i - 1, j]) * a[i, j]
            total += b[i, j] * polynomial(b[i, j])
    return total


TAKEN = [one, several, with_rows, three_deep, after_a_search]
LEFT = [triangle, used, in_place]
SHAPES = [(0, 3), (3, 0), (1, 1), (2, 5), (7, 2), (5, 4), (9, 7)]


@pytest.fixture(params=[(1, 1, 100), (6, 2, 100), (12, 1, 3)])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks, of one row too; and rows that are too long."""
    for name, value in zip(("TERMS", "ROWS", "LONGEST"), request.param, strict=True):
        monkeypatch.setattr(distribute_nests, name, value)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("function", [*TAKEN, *LEFT], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_values_and_gradients(function: Callable[..., Any], engine: Any) -> None:
    compiled = jit_grad(function, _engine=engine)
    for n, m in SHAPES:
        a = np.random.default_rng(n + 10 * m).standard_normal((n, m))
        assert compiled(a) == pytest.approx(function(a), rel=1e-13)
        direction = np.random.default_rng(1).standard_normal((n, m))
        slope = (function(a + 1e-6 * direction) - function(a - 1e-6 * direction)) / 2e-6
        assert np.sum(compiled.grad(a) * direction) == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_the_same_bits_on_any_number_of_threads(function: Callable[..., Any]) -> None:
    a = np.random.default_rng(0).standard_normal((300, 170))
    compiled = jit_grad(function)
    before = runtime.threads()
    try:
        outcomes = set()
        for count in (1, 2, 3, 8):
            runtime.set_threads(count)
            value, gradient = compiled.value_and_grad(a)
            outcomes.add((float(value), gradient.tobytes()))
    finally:
        runtime.set_threads(before)
    assert len(outcomes) == 1


@pytest.mark.parametrize("function", [*TAKEN, *LEFT], ids=lambda f: f.__name__)
def test_which_nests_are_split(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function)
    compiled(np.ones((4, 3)))
    assert ("scf.for %row = " in compiled.dump_ir("lowered")) == (function in TAKEN)


def test_the_order_is_that_of_python() -> None:
    """Terms of very different size, exact ones, whose sum depends on their order."""

    def mixed(a):
        total = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                total += a[i, j] / (1.0 + 0.0 * math.sin(a[i, j]) * math.cos(a[i, j]) * math.exp(-a[i, j]))
        return total

    a = np.floor(10.0 ** np.random.default_rng(0).uniform(0.0, 17.0, (90, 210)))
    assert jit_grad(mixed)(a) == mixed(a)
