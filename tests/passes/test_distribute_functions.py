"""Elementary functions after inner loops are computed in separate SIMD loops; results are the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adc import jit_grad, prange
from adc.backend import runtime
from adc.passes.distribution.distribute_functions import BLOCK
from tests.programs.harness import check


def squashed(values, x, columns, first):
    n = len(first) - 1
    out = np.empty(n)
    for i in range(n):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        out[i] = math.tanh(s)
    return np.sum(out * out)


def several(values, x, columns, first):
    """Values of several types are kept, subscripts are computed again, and there is a branch before."""
    n = len(first) - 1
    out, count, wide = np.zeros(n + 3), np.zeros(n, dtype=np.int64), np.zeros((n, 2))
    for i in prange(n):
        s, largest, positive = 0.5, 0, False
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
            largest = max(largest, columns[e])
            positive = positive or values[e] > 1.0
        if largest % 2 == 0:
            s = s * 0.5
        j = i + 3
        out[j] = math.exp(-s * s) + math.sin(s * x[i % len(x)])
        count[i] = largest + (1 if positive else 0)
        wide[i, 1] = math.log(1.5 + s * s) if positive else math.cos(s)
    return np.sum(out) + np.sum(wide[:, 1]) + np.sum(count)


def nested(values, x, columns, first):
    """The loop to be cut is inside of others."""
    total = 0.0
    u, v = x.copy(), x.copy()
    for t in range(3):
        for i in range(1, len(u) - 1):
            s = 0.0
            for k in range(i % 4):
                s += u[i - 1] * values[k] - u[i + 1] * 0.25
            v[i] = math.sin(s) + u[i] * math.cos(0.5 * s)
        u, v = v, u
        total += u[t % len(u)]
    return total + np.sum(u)


def summed(values, x, columns, first):
    """What the loop sums and its extreme are of the second part, too."""
    n = len(first) - 1
    out, total, least = np.empty(n), 0.0, 1.0
    for i in prange(n):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        out[i] = math.tanh(s)
        total += out[i] * out[i]
        least = min(least, math.exp(-s * s))
    return total + least + np.sum(out)


PROGRAMS = [squashed, several, nested, summed]


def inputs(rows: int, longest: int, m: int, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    first = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, rows))]).astype(np.int64)
    entries = int(first[-1]) + 4
    return rng.standard_normal(entries), rng.standard_normal(m), rng.integers(0, m, entries), first


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    sizes = (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5)
    check(function, *(inputs(n, 5, 7 if function is not nested else n + 3, n) for n in sizes), single=True)


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_the_same_bits_on_any_number_of_threads(function: Callable[..., Any]) -> None:
    args = inputs(20_000, 9, 20_000, 2)
    compiled = jit_grad(function, argnums=(0, 1))
    before, found = runtime.threads(), []
    try:
        for count in (1, 2, 3, 4, 8):
            runtime.set_threads(count)
            found.append((compiled(*args), *compiled.grad(*args)))
    finally:
        runtime.set_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert np.array_equal(a, b)


_compiled = jit_grad(squashed, argnums=(0, 1), _level=3)
_interpreted = jit_grad(_engine="interpreter", argnums=(0, 1))(squashed)


@given(st.integers(0, 2 * BLOCK + 3), st.integers(0, 6), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_against_the_interpreter(rows: int, longest: int, seed: int) -> None:
    args = inputs(rows, longest, 5, seed)
    assert _compiled(*args) == pytest.approx(_interpreted(*args), rel=1e-12, abs=1e-12)
    for a, b in zip(_compiled.grad(*args), _interpreted.grad(*args), strict=True):
        assert np.allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("optimised")
def test_the_functions_are_simd() -> None:
    f = jit_grad(squashed)
    f(*inputs(5, 3, 4, 0))
    assert f"memref<{BLOCK}xf64>" in f.dump_ir("lowered")
    assert "_ZGV" in f.dump_ir("llvm")


def test_rows_that_are_summed_at_once() -> None:
    def layer(w, h):
        return np.sum(np.tanh(w @ h))

    rng = np.random.default_rng(0)
    for n in (0, 1, BLOCK, 3 * BLOCK + 5):
        w, h = rng.normal(size=(n, 70)), rng.normal(size=70)
        value, (by_w, by_h) = jit_grad(layer, argnums=(0, 1)).value_and_grad(w, h)
        slope = 1.0 - np.tanh(w @ h) ** 2
        assert value == pytest.approx(layer(w, h), rel=1e-13)
        np.testing.assert_allclose(by_w, np.outer(slope, h), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(by_h, slope @ w, rtol=1e-12, atol=1e-13)


def test_loops_without_such_functions_are_left() -> None:
    def sums(values, first):
        out = np.empty(len(first) - 1)
        for i in range(len(out)):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e]
            out[i] = s * 0.5 + 1.0
        return np.sum(out)

    f = jit_grad(sums)
    f(np.ones(9), np.array([0, 4, 9]))
    assert f"memref<{BLOCK}x" not in f.dump_ir("lowered")
