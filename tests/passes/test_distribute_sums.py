"""distribute-sums: sums in Python's order, bit by bit, of terms that are computed in parallel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.backend import runtime
from adc.passes.distribution import distribute_sums


def polynomial(x):
    """Terms without functions of a library: the same bits as Python's, but for contraction."""
    t = x * 0.5 + 0.25
    return ((t * t + 1.0) / (t * t + 2.0) - t / (t * t * t * t + 3.0)) / (1.0 + t * t)


def one(a, n):
    total = 0.5
    for i in range(n):
        total += polynomial(a[i]) / (1.0 + a[i] * a[i])
    return total


def several(a, n):
    """Two sums with several terms each, one subtracted, one on a branch, and a count."""
    total, other, count = 0.0, a[0], 0
    for i in range(n):
        s = polynomial(a[i])
        total += s
        total = total - s * s / (2.0 + s)
        if s > 0.2:
            other -= s / (1.0 + s * s)
            count += 2
        other = a[i] + other
    return total + other * count


def from_the_end(a, n):
    total = 1.0
    for i in range(n - 1, -1, -3):
        if i % 2 == 0:
            pass
        else:
            total += polynomial(a[i]) * polynomial(a[i - 1])
    return total


def with_arrays(a, n):
    """Each iteration has effects of its own."""
    out = np.zeros(len(a))
    total = 0.0
    for i in range(n):
        out[i] = polynomial(a[i])
        total += out[i] * polynomial(out[i])
    return total + np.sum(out * out)


def in_time(a, n):
    """The sum in a loop around goes on."""
    u = a * 1.0
    total = 0.0
    for t in range(3):
        for i in range(n):
            total += polynomial(u[i]) * u[i]
        for i in range(n):
            u[i] = u[i] * 0.5 + 0.1 / (1.0 + total * total)
    return total


def carried(a, n):
    """Not of this kind: what was summed so far is used."""
    total = 0.0
    for i in range(n):
        total += polynomial(a[i]) / (1.0 + total * total)
    return total


def stopped(a, n):
    """Not of this kind: an iteration may raise."""
    total = 0.0
    for i in range(n):
        if a[i] > 1e6:
            raise ValueError("too large")
        total += polynomial(a[i]) * polynomial(a[i] * 2.0)
    return total


TAKEN = [one, several, from_the_end, with_arrays, in_time]
LEFT = [carried, stopped]


@pytest.mark.parametrize("function", [*TAKEN, *LEFT], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_values_and_gradients(function: Callable[..., Any], engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribute_sums, "BLOCK", 4)
    compiled = jit_grad(function, _engine=engine)
    for n in (0, 1, 3, 4, 5, 8, 13):
        a = np.random.default_rng(n).standard_normal(n + 2)
        assert compiled(a, n) == pytest.approx(function(a, n), rel=1e-13)
        gradient = compiled.grad(a, n)
        for k in range(n):
            step = np.zeros(n + 2)
            step[k] = 1e-6
            slope = (function(a + step, n) - function(a - step, n)) / 2e-6
            assert gradient[k] == pytest.approx(slope, rel=1e-6, abs=1e-7)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("function", TAKEN, ids=lambda f: f.__name__)
def test_the_same_bits_on_any_number_of_threads(function: Callable[..., Any]) -> None:
    a = np.random.default_rng(0).standard_normal(9000)
    compiled = jit_grad(function)
    before = runtime.threads()
    try:
        outcomes = set()
        for count in (1, 2, 3, 8):
            runtime.set_threads(count)
            value, gradient = compiled.value_and_grad(a, 8998)
            outcomes.add((float(value), gradient.tobytes()))
    finally:
        runtime.set_threads(before)
    assert len(outcomes) == 1


@pytest.mark.parametrize("function", [*TAKEN, *LEFT], ids=lambda f: f.__name__)
def test_which_loops_are_split(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function)
    compiled(np.ones(5), 3)
    split = f"memref<{distribute_sums.BLOCK}xf64>" in compiled.dump_ir("lowered")
    assert split == (function in TAKEN)


def test_signed_zeros_and_infinities() -> None:
    """A term that is not added changes nothing, not even the sign of a zero."""

    def f(a):
        total = -0.0
        for i in range(len(a)):
            if a[i] > 0.0:
                total += math.exp(a[i]) * math.sin(a[i]) / (1.0 + math.log(a[i]))
        return total

    compiled = jit_grad(f)
    assert math.copysign(1.0, compiled(np.array([-1.0, -2.0]))) == -1.0
    assert compiled(np.array([-1.0, 2.0])) == pytest.approx(f(np.array([-1.0, 2.0])), rel=1e-14)


def test_many_terms_in_one_loop() -> None:
    """Each of them is looked at once."""

    def wave(a):
        total = 0.0
        for i in range(len(a)):
            for k in MANY:
                total += np.sin(a[i] * k)
        return total

    a = np.linspace(0.0, 1.0, 70)
    compiled = jit_grad(wave)
    value, gradient = compiled.value_and_grad(a)
    assert value == pytest.approx(wave(a), rel=1e-13)
    assert np.allclose(gradient, sum(k * np.cos(a * k) for k in MANY), rtol=1e-12)


MANY = tuple(1.0 + 0.1 * k for k in range(48))


def rows_of_functions(a, b, n):
    """The iterations of the loop around are independent, but their rows are far apart in memory."""
    out = np.zeros(n)
    for i in range(n):
        total = 0.25
        for j in range(a.shape[1]):
            total += b[i, j] * math.tanh(a[i, j])
            total -= a[i, j] * b[i, j]
        out[i] = total
    return np.sum(out * out)


def counted_rows(a, b, n):
    """Left as it is, as it carries a count as well; and a triangle."""
    out = np.zeros(n)
    for i in range(n):
        total, count = 0.0, 0
        for j in range(i, a.shape[1]):
            if a[i, j] > 0.0:
                count += 1
            total += b[i, j] * math.tanh(a[i, j])
        out[i] = total * count
    return np.sum(out)


@pytest.mark.parametrize("function", [rows_of_functions, counted_rows], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_rows_in_parallel_loops(function: Callable[..., Any], engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribute_sums, "ROW", 4)
    compiled = jit_grad(argnums=(0, 1), _engine=engine)(function)
    for shape in ((0, 3), (3, 0), (1, 1), (2, 4), (3, 5), (2, 9)):
        a, b, da, db = np.random.default_rng(shape[1]).standard_normal((4, *shape))
        assert compiled(a, b, shape[0]) == pytest.approx(function(a, b, shape[0]), rel=1e-13)
        by_a, by_b = compiled.grad(a, b, shape[0])
        ahead = function(a + 1e-6 * da, b + 1e-6 * db, shape[0])
        back = function(a - 1e-6 * da, b - 1e-6 * db, shape[0])
        assert np.sum(by_a * da) + np.sum(by_b * db) == pytest.approx((ahead - back) / 2e-6, rel=1e-6, abs=1e-7)


def test_terms_of_rows_are_parallel() -> None:
    signature = "f64[:, ::1], f64[:, ::1], int"
    lowered = jit_grad(rows_of_functions).dump_ir("lowered", signature)
    terms = lowered[: lowered.index("math.tanh")]
    assert terms.rindex("scf.parallel") > terms.rindex("scf.for")
    assert "%term" in lowered[lowered.index("math.tanh") :]
