"""factor-sums: the common factor of a sum's terms is multiplied once; values, gradients, bits, and exceptions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adc import jit_grad, prange
from adc.backend import runtime
from adc.passes.sums import factor_sums
from tests.passes.test_fuse_sweeps import warm
from tests.stencils.check import threads_at_once


def triangular(q, m, x):
    total = 0.0
    for p in range(len(x)):
        for c in range(q.shape[0]):
            square = 0.0
            for i in range(q.shape[1]):
                y = 0.0
                for j in range(i + 1):
                    y += q[c, i, j] * (x[p, j] - m[c, j])
                square += y * y
            total += math.sin(square)
    return total


def full(q, m, x):
    """One matrix; a factor besides, and a second term of the same sum."""
    total = 0.0
    for p in prange(len(x)):
        for i in range(q.shape[1]):
            y = 1.0
            for j in range(q.shape[2]):
                y += q[0, i, j] * m[1, j] * 0.5
                y -= q[1, i, j] * m[0, j] * x[p, i]
            total += y * y * x[p, i]
    return total


def two_loops_inside(q, m, x):
    total = 0.0
    for p in range(len(x)):
        for c in range(q.shape[0]):
            y = x[p, 0]
            for i in range(q.shape[1]):
                for j in range(i, q.shape[2]):
                    y += q[c, i, j] * m[c, i] * m[c, j]
            total += math.cos(y) * x[p, 0]
    return total


def in_steps(q, m, x):
    """Counters that go down, and from elsewhere than zero."""
    total = 0.0
    for p in range(len(x) - 1, -1, -1):
        for i in range(q.shape[1] - 1, 0, -2):
            y = 0.0
            for j in range(i - 1, -1, -1):
                y += q[0, i, j] * (x[p, j] - m[0, j])
            for j in range(1, q.shape[2], 3):
                y += q[1, j, i] * m[1, j]
            total += y * y * y
    return total


def guarded(q, m, x):
    """A branch around the loop that is left out."""
    total = 0.0
    for p in range(len(x)):
        for i in range(q.shape[1]):
            if x[p, i] > 0.3:
                y = 0.0
                for j in range(q.shape[2]):
                    y += q[0, i, j] * (x[p, j] - m[0, j])
                total += y * y
            else:
                total -= x[p, i]
    return total


def indirect(q, m, x):
    """Subscripts are loaded."""
    order = np.empty(q.shape[2], dtype=np.int64)
    for j in range(q.shape[2]):
        order[j] = q.shape[2] - 1 - j
    total = 0.0
    for p in range(len(x)):
        for i in range(q.shape[1]):
            y = 0.0
            for j in range(q.shape[2]):
                y += q[0, i, order[j]] * (x[p, j] - m[0, order[j]])
            total += y * y
    return total


def carried(q, m, x):
    """The loop that sums runs in order."""
    state = 0.1
    for p in range(len(x)):
        for i in range(q.shape[1]):
            y = state
            for j in range(q.shape[2]):
                y += q[0, i, j] * (x[p, j] - m[0, j])
            state = math.sin(y * state)
    return state


def changed(q, m, x):
    """Not of this kind: the matrix is another one in each iteration."""
    a = q[0] * 1.0
    total = 0.0
    for p in range(len(x)):
        for i in range(a.shape[0]):
            y = 0.0
            for j in range(a.shape[1]):
                y += a[i, j] * (x[p, j] - m[0, j])
            total += y * y
        for j in range(a.shape[1]):
            a[0, j] = a[0, j] * 0.5 + x[p, j]
    return total


def ragged(q, m, x):
    """Not of this kind: the sums would not be a rectangle."""
    total = 0.0
    for p in range(len(x)):
        for i in range(q.shape[1]):
            for k in range(i):
                y = 0.0
                for j in range(q.shape[2]):
                    y += q[0, k, j] * q[1, i, j] * (x[p, k] - m[0, j])
                total += y * y
    return total


def branch_inside(q, m, x):
    """Not of this kind: which elements get a term is known of each iteration alone."""
    total = 0.0
    for p in range(len(x)):
        for i in range(q.shape[1]):
            y = 0.0
            for j in range(q.shape[2]):
                if x[p, j] > 0.2:
                    y += q[0, i, j] * m[0, j] * m[0, j]
                else:
                    y += math.sin(q[0, i, j])
            total += y * y
    return total


TAKEN = [triangular, full, two_loops_inside, in_steps, guarded, indirect, carried]
LEFT = [changed, ragged, branch_inside]
SIZES = [(0, 2, 3), (1, 2, 1), (5, 2, 0), (9, 3, 2), (23, 2, 5), (40, 4, 4)]


def arguments(points: int, matrices: int, d: int, dtype: Any = np.float64) -> list[Any]:
    rng = np.random.default_rng(points + d)
    shapes = (matrices, d, d), (matrices, d), (points, max(d, 1))
    return [rng.uniform(-1.0, 1.0, shape).astype(dtype) for shape in shapes]


@cache
def without(function: Callable[..., Any]) -> Any:
    """The compiled function with a gradient in which each term is multiplied by its factors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor_sums.FactorSums, "run", lambda self, module: module)
        compiled = jit_grad(function, argnums=(0, 1, 2), parallel=False, accumulate="serial", _level=0)
        compiled.value_and_grad(*arguments(3, 2, 3))
        compiled.grad(*arguments(3, 2, 3))
    return compiled


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize(
    ("function", "most"), [*((f, 1 << 16) for f in [*TAKEN, *LEFT]), (triangular, 3), (full, 3), (carried, 3)]
)
def test_values_and_gradients(function: Callable[..., Any], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With sums and, where they would be too many, without; the same bits on any number of threads."""
    monkeypatch.setattr(factor_sums, "MOST_SUMS", most)
    before = runtime.threads()
    with threads_at_once(2):
        fast = jit_grad(function, argnums=(0, 1, 2))
        for size in SIZES:
            args = arguments(*size)
            expected, gradients = without(function).value_and_grad(*args)
            assert expected == pytest.approx(function(*args), rel=1e-12, abs=1e-12)
            seen = set()
            for threads in (1, 2, 3, 8):
                runtime.set_threads(threads)
                value, found = fast.value_and_grad(*args)
                seen.add((np.float64(value).tobytes(), *(g.tobytes() for g in found)))
                for g, e in zip(found, gradients, strict=True):
                    np.testing.assert_allclose(g, e, rtol=1e-11, atol=1e-11)
            assert len(seen) == 1
        runtime.set_threads(before)


@pytest.mark.parametrize("function", [*TAKEN, *LEFT], ids=lambda f: f.__name__)
def test_against_finite_differences(function: Callable[..., Any]) -> None:
    """Interpreted: natively the gradient is the one of ``test_values_and_gradients``."""
    args = arguments(11, 2, 3)
    found = jit_grad(function, argnums=(0, 1, 2), _engine="interpreter").grad(*args)
    rng = np.random.default_rng(1)
    for argument, gradient in enumerate(found):
        direction = rng.standard_normal(args[argument].shape)

        def at(t: float, k: int = argument, d: Any = direction) -> float:
            return function(*(a + t * d if n == k else a for n, a in enumerate(args)))

        slope = (at(1e-6) - at(-1e-6)) / 2e-6
        assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("function", [*TAKEN, *LEFT], ids=lambda f: f.__name__)
def test_which_loops_have_sums(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function, argnums=(0, 1))
    compiled.grad(*arguments(11, 2, 3))
    assert ("_sums" in warm(compiled.grad)) == (function in TAKEN)


COMPILED = jit_grad(triangular, argnums=(0, 1, 2))


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 30), st.integers(1, 3), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_any_size(points: int, matrices: int, d: int, seed: int) -> None:
    args = arguments(points, matrices, d)
    for k, a in enumerate(args):
        args[k] = np.asfortranarray(a + np.random.default_rng(seed).standard_normal(a.shape))[..., ::-1]
    expected = without(triangular).grad(*args)
    for g, e in zip(COMPILED.grad(*args), expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-9)


def test_factors_of_what_never_runs_are_not_read() -> None:
    """They are not numbers, and their subscripts are out of range."""

    def beyond(q, m, x, where):
        total = 0.0
        for p in range(len(x)):
            for i in range(q.shape[1]):
                if x[p, i] > 0.0:
                    y = 0.0
                    for j in range(q.shape[2]):
                        y += q[0, where[i], j] * (x[p, j] - m[0, j])
                    total += y * y
        return total

    q, m, x = arguments(20, 1, 4)
    where = np.array([0, 10**12, 2, -(10**12)])
    x[:, 1] = x[:, 3] = -1.0
    q[0, 1] = np.nan
    compiled = jit_grad(beyond, argnums=(0, 1))
    by_q, by_m = compiled.grad(q, m, x, where)
    allowed = [0, 2]
    expected = jit_grad(guarded_rows, argnums=1).grad(q, m, x, np.array(allowed))
    np.testing.assert_allclose(by_m, expected, rtol=1e-12, atol=1e-13)
    assert not np.any(by_q[0, [1, 3]]) and np.all(np.isfinite(by_q))


def guarded_rows(q, m, x, rows):
    total = 0.0
    for p in range(len(x)):
        for r in range(len(rows)):
            if x[p, rows[r]] > 0.0:
                y = 0.0
                for j in range(q.shape[2]):
                    y += q[0, rows[r], j] * (x[p, j] - m[0, j])
                total += y * y
    return total


def test_infinities_and_what_is_no_number_stay() -> None:
    args = arguments(20, 1, 3)
    args[0][0, 1, 0] = np.inf
    args[0][0, 2, 1] = np.nan
    expected = without(triangular).grad(*args)
    for g, e in zip(COMPILED.grad(*args), expected, strict=True):
        np.testing.assert_array_equal(np.isfinite(g), np.isfinite(e))


def test_float32() -> None:
    exact = COMPILED.grad(*arguments(30, 2, 4))
    found = COMPILED.grad(*arguments(30, 2, 4, np.float32))
    for g, e in zip(found, exact, strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, e, rtol=1e-3, atol=1e-3)


def test_gradients_are_differentiated_again() -> None:
    def slope(q, m, x):
        return np.sum(g(q, m, x) * np.sin(m))

    g = jit_grad(triangular, argnums=1).grad
    args = arguments(12, 2, 3)
    found = jit_grad(slope, argnums=1).grad(*args)
    direction = np.random.default_rng(0).standard_normal(args[1].shape)
    ahead, behind = (slope(args[0], args[1] + t * direction, args[2]) for t in (1e-6, -1e-6))
    assert np.sum(found * direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)
