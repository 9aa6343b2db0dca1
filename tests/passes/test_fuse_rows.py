"""fuse-rows: forward and reverse sweep over rows of a sparse matrix in one loop; values, gradients, bits, errors."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from adc import errors, jit_grad, prange
from adc.backend import runtime
from adc.passes.distribution import distribute_functions, distribute_terms
from adc.passes.scatter import privatisation
from tests.machines import pretend
from tests.passes.test_fuse_sweeps import warm
from tests.stencils.check import threads_at_once


def misfit(values, x, columns, first, target):
    out = np.empty(len(target))
    for i in range(len(target)):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        out[i] = math.tanh(s)
    return 0.5 * np.sum((out - target) ** 2)


def two_loops(values, x, columns, first, target):
    """A second loop inside comes to other elements, and what it finds is a factor."""
    total = 0.0
    out = np.zeros(len(target))
    for i in prange(len(target)):
        s, w = 0.0, 1.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        for e in range(first[i], first[i + 1]):
            w += 0.1 * x[columns[e] // 2] * x[columns[e] // 2]
        out[i] = math.exp(-s * s) * w + math.sin(target[i])
    total += np.sum(out * out)
    return total + out[0] if len(out) > 0 else total


def linear(values, x, columns, first, target):
    """No function of the rows: nothing is set apart."""
    out = np.zeros(len(target))
    for i in range(len(target)):
        for e in range(first[i], first[i + 1]):
            out[i] += values[e] * x[columns[e]] * x[columns[e]]
    return np.sum(out * target)


def chained(values, x, columns, first, target):
    """Two products, one after the other: the second sweep forward and the first backward are to be joined."""
    y = np.empty(len(target))
    for i in range(len(target)):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        y[i] = math.sin(s)
    z = np.empty(len(target))
    for i in range(len(target)):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * y[columns[e] % len(target)]
        z[i] = math.log1p(s * s)
    return np.sum(z * target)


def in_place(values, x, columns, first, target):
    """What rows read is changed after: one loop would read the new elements."""
    out = np.empty(len(target))
    for i in range(len(target)):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        out[i] = math.tanh(s)
    for k in range(len(x)):
        x[k] = 0.5 * x[k] * x[k]
    return np.sum(out * target) + np.sum(x)


PROGRAMS = [misfit, two_loops, linear, chained, in_place]


def matrix(rows: int, columns: int, most: int, seed: int = 0, order: str = "rows"):
    """In compressed rows: of these, the last ones first ("reversed"), or some entries of two rows ("shared")."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, rows))]).astype(np.int64)
    entries = int(first[-1])
    if order == "shared" and rows > 2:
        first[1] = first[2]
        first[2] = 0
    if order == "reversed":
        first = first[::-1].copy()
    at = rng.integers(0, columns, entries)
    return rng.standard_normal(entries), rng.standard_normal(columns), at, first, rng.random(rows)


def copied(args):
    return [a.copy() for a in args]


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lanes=4, block_bytes=200)
    monkeypatch.setattr(distribute_terms, "STRIP", 6)
    monkeypatch.setattr(distribute_terms, "LONG_STRIP", 50)
    monkeypatch.setattr(distribute_functions, "BLOCK", 4)


@functools.cache
def both(function) -> tuple[Any, Any]:
    """The gradient in order, and as it is for users: for all orders, which are compiled for the same small sizes."""
    in_order = jit_grad(function, argnums=(0, 1, 4), parallel=False, accumulate="serial", _level=0)
    return in_order, jit_grad(function, argnums=(0, 1, 4))


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("order", ["rows", "shared", "reversed"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("_small")
def test_values_and_gradients(function, order: str) -> None:
    """With copies and, for few rows, without; the same bits on any number of threads."""
    plain, fast = both(function)
    before = runtime.threads()
    with threads_at_once(1):
        for rows, columns, most in [(0, 3, 4), (1, 3, 4), (2, 2, 0), (5, 200, 3), (7, 3, 5), (83, 5, 9), (200, 11, 4)]:
            args = matrix(rows, columns, most, rows, order)
            expected, gradients = plain.value_and_grad(*copied(args))
            assert expected == pytest.approx(function(*copied(args)), rel=1e-12, abs=1e-12)
            seen = set()
            for threads in (1, 2, 3, 8):
                runtime.set_threads(threads)
                value, found = fast.value_and_grad(*copied(args))
                seen.add((np.float64(value).tobytes(), *(g.tobytes() for g in found)))
                assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
                for g, e in zip(found, gradients, strict=True):
                    np.testing.assert_allclose(g, e, rtol=1e-11, atol=1e-12)
            assert len(seen) == 1
        runtime.set_threads(before)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_against_finite_differences(function) -> None:
    args = matrix(300, 40, 6)
    found = jit_grad(function, argnums=(0, 1, 4)).grad(*copied(args))
    rng = np.random.default_rng(1)
    direction = [rng.standard_normal(a.shape) if a.dtype == float else None for a in args]
    step = 1e-6

    def at(t: float) -> float:
        return function(*(a.copy() if d is None else a + t * d for a, d in zip(args, direction, strict=True)))

    terms = np.concatenate([g * direction[k] for k, g in zip((0, 1, 4), found, strict=True)])
    assert abs(np.sum(terms) - (at(step) - at(-step)) / (2 * step)) < 1e-8 * np.sum(np.abs(terms))


def gathered(w, columns, target):
    """Rows of an array with two axes, which iterations share; neighbours in a row are read at constant offsets."""
    out = np.empty(len(target))
    for i in range(len(target)):
        s = 0.0
        for j in range(1, w.shape[1] - 1):
            s += w[columns[i], j] * w[columns[i], j - 1] - w[columns[i], j + 1]
        out[i] = math.tanh(s)
    return np.sum(out * target)


def gathered_twice(w, columns, target):
    out = np.empty(len(target))
    for i in range(len(target)):
        s = 0.0
        for j in range(w.shape[1]):
            s += w[columns[i], j] * w[columns[i], j]
        r = math.exp(-s)
        for j in range(1, w.shape[1]):
            r += w[columns[i] // 2, j - 1] * w[columns[i], j]
        out[i] = r
    return np.sum(out * target)


@pytest.mark.parametrize("worth", [1, 10**9])
@pytest.mark.parametrize("function", [gathered, gathered_twice])
@pytest.mark.usefixtures("_small")
def test_rows_of_arrays(function, worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With copies, and without."""
    monkeypatch.setattr(privatisation, "WORTH", worth)
    rng = np.random.default_rng(3)
    args = rng.standard_normal((30, 5)), rng.integers(0, 4, 200), rng.random(200)
    expected = jit_grad(function, parallel=False, accumulate="serial").grad(*args)
    direction = rng.standard_normal(args[0].shape)
    ahead, behind = (function(args[0] + step * direction, *args[1:]) for step in (1e-6, -1e-6))
    assert np.sum(expected * direction) == pytest.approx((ahead - behind) / 2e-6, rel=1e-7)
    before, found = runtime.threads(), set()
    with threads_at_once(1):
        compiled = jit_grad(function)
        for threads in (1, 2, 3, 8):
            runtime.set_threads(threads)
            gradient = compiled.grad(*args)
            np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-12)
            found.add(gradient.tobytes())
    runtime.set_threads(before)
    assert len(found) == 1


def test_there_is_no_tape_and_the_hyperbolic_tangent_is_simd() -> None:
    fast = jit_grad(misfit, argnums=(0, 1))
    fast.value_and_grad(*matrix(50, 9, 4))
    text = warm(fast.grad)
    assert "tape" not in text and "scf.for %wave" in text
    assert text.count("math.tanh") == 2  # with private copies, and without
    for at in (k for k in range(len(text)) if text.startswith("math.tanh", k)):
        assert text.rfind("scf.parallel", 0, at) > text.rfind("scf.for", 0, at)


def test_what_is_changed_in_between_keeps_the_loops_apart() -> None:
    fast = jit_grad(in_place, argnums=(0, 1))
    fast.value_and_grad(*copied(matrix(50, 9, 4)))
    assert "tape" in warm(fast.grad)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_columns_out_of_range_raise_what_python_raises(function) -> None:
    args = matrix(60, 9, 4)
    args[2][-1] = 9
    with pytest.raises(IndexError):
        function(*copied(args))
    compiled = jit_grad(function, argnums=(0, 1))
    for _ in range(2):
        with pytest.raises(errors.BoundsError):
            compiled.value_and_grad(*copied(args))
    args[2][-1] = 0
    assert compiled.value_and_grad(*copied(args))[0] == pytest.approx(function(*copied(args)), rel=1e-12)


def test_float32() -> None:
    values, x, columns, first, target = matrix(200, 9, 4)
    args = [values.astype(np.float32), x.astype(np.float32), columns, first, target.astype(np.float32)]
    found = jit_grad(misfit, argnums=(0, 1)).grad(*args)
    exact = jit_grad(misfit, argnums=(0, 1)).grad(values, x, columns, first, target)
    for g, e in zip(found, exact, strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, e, rtol=2e-4, atol=2e-4)


def test_rows_that_nothing_reads_contribute_nothing() -> None:
    """Where the derivative of a row's function is infinite, too."""

    def roots(values, x, columns, first, target):
        out = np.empty(len(target))
        for i in range(len(target)):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * x[columns[e]]
            out[i] = math.sqrt(s)
        return np.sum(np.where(target == 0.0, 0.0, out * target))

    values, x, columns, first, target = matrix(90, 5, 4)
    args = np.abs(values), np.abs(x), columns, first, target
    target[20:30] = 0.0
    args[0][first[20] : first[30]] = 0.0
    by_values, by_x = jit_grad(roots, argnums=(0, 1)).grad(*args)
    assert np.all(by_values[first[20] : first[30]] == 0.0) and np.all(np.isfinite(by_x))
