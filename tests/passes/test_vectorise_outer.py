"""vectorise-outer: programs do the same for any number of iterations, and the intended loops change."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.passes import pipelines
from adc.passes.analysis.machine import CPU
from adc.passes.scatter import privatisation
from adc.passes.simd.interleave import Interleave
from adc.passes.simd.vectorise_outer import VectoriseOuter
from tests.machines import pretend
from tests.stages import share


def matrix_product(a, b):
    c = np.zeros((a.shape[0], b.shape[0]))
    for i in prange(a.shape[0]):
        for j in range(b.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k % b.shape[0], j]
            c[i, j] = s
    return np.sum(c * c)


def distances(a, b):
    total = 0.0
    for p in prange(len(a)):
        best = np.inf
        for c in range(len(b)):
            square = 0.0
            for i in range(a.shape[1]):
                square += (a[p, i] - b[c, i]) ** 2
            if square < best:
                best = square
        total += best
    return total


def triangles(a, b):
    total = 0.0
    for p in prange(len(a)):
        for c in range(len(b)):
            for i in range(a.shape[1]):
                q = b[c, i] * a[p, i]
                for j in range(i):
                    q += b[c, j] * a[p, j] * 0.5
                total += q * q
    return total


def rows_from_the_end(a, b):
    out = np.zeros(len(a))
    for p in prange(len(a) - 1, -1, -2):
        s = b[0, 0]
        for i in range(1, a.shape[1]):
            for c in range(len(b)):
                s = s * 0.5 + a[p, i] * b[c, i]
        out[p] = s
    return np.sum(out * out)


def with_branches(a, b):
    out = np.ones((len(a), 2))
    for p in prange(len(a)):
        s, t, count = a[p, 0], 1.0, 0
        for i in range(a.shape[1]):
            for c in range(len(b)):
                x = a[p, i] * b[c, i]
                if x > 0.0:
                    s += math.log(x + 1.0)
                    count += 1
                    out[p, 0] += s
                else:
                    s, t = t, s - x
            if s > t:
                t *= 0.9
        out[p, 1] = s + t + count
    return np.sum(out)


def extremes(a, b):
    largest, product = -np.inf, 1.0
    for p in prange(len(a)):
        s = 0.0
        for c in range(len(b)):
            for i in range(a.shape[1]):
                s += math.sin(a[p, i] * b[c, i])
        largest = max(largest, s)
        product *= 1.0 + 0.01 * s
    return largest + product


def window_of_each(a, b):
    """Loops whose limits differ between iterations stay as they are, beside others."""
    out = np.zeros(len(a))
    for p in prange(len(a)):
        s = 0.0
        for c in range(len(b)):
            for i in range(a.shape[1]):
                s += a[p, i] * b[c, i]
        for i in range(p % 3):
            s *= a[p, i % a.shape[1]]
        for i in range(a.shape[1]):
            out[p] += s * a[p, i]
    return np.sum(out * out)


def views(a, b):
    out = np.zeros(len(a))
    for p in prange(len(a)):
        row = a[p, ::-1]
        s = 0.0
        for c in range(len(b)):
            for i in range(len(row)):
                s += row[i] * b[c, i]
        out[p] = s
    return np.sum(out * out)


def changed_in_between(a, b):
    """What is loaded is stored to by the same iteration: it must not be packed."""
    d = a.copy()
    total = 0.0
    for p in prange(len(a)):
        s = 0.0
        for c in range(len(b)):
            for i in range(a.shape[1]):
                s += d[p, i] * b[c, i]
                d[p, i] = s * 0.5
        total += s
    return total + np.sum(d)


def columns(a, b):
    """Side by side in memory: sums, extremes, branches, integers, and what is left of a column."""
    out = np.ones((2, len(a.T)))
    total = 0.0
    for j in prange(a.shape[1]):
        s, most, count = 0.0, -9.0, 0
        for i in range(len(a)):
            x = a[i, j] * b[0, j] + np.sin(a[i, j])
            if x > 0.0:
                count += i
                s += math.log(x)
            most = max(most, x)
            out[0, j] += x * s
        out[1, j] = s + count
        total += most * s
    return total + np.sum(out)


def counts(a, b):
    """Integers alone are carried on: how many, and which."""
    out = np.zeros((a.shape[1], 2))
    for j in prange(a.shape[1]):
        count, last = 0, -1
        for i in range(len(a)):
            if a[i, j] > b[0, j]:
                count += 1
                last = i * 3 - count
        out[j, 0] = count
        out[j, 1] = last
    return np.sum(out) * np.sum(a * a) + np.sum(b)


def kept_rows(a, b):
    """Local arrays with a row for each iteration, and a tape."""
    q = np.empty((len(a), len(b)))
    r = np.zeros((len(a), len(b), 2))
    total = 0.0
    for p in prange(len(a)):
        for c in range(len(b)):
            s = 1.0
            for i in range(a.shape[1]):
                s = np.sin(s * a[p, i]) + b[c, i]
            q[p, c] = s
            r[p, c, 1] = s * s
        for c in range(len(b)):
            total += q[p, c] * q[p, len(b) - 1 - c] + r[p, c, 1] * r[p, c, 0]
    return total + r[0, 0, 1] if len(a) > 5 else total


def mixture(a, b):
    """Sums over all rows that all iterations read."""
    total = 0.0
    for p in prange(len(a)):
        most = -1e300
        for c in range(len(b)):
            s = 0.0
            for i in range(a.shape[1]):
                for j in range(i + 1):
                    s -= b[c, j] * (a[p, i] - b[c, i]) ** 2 * b[c, (i - j) % b.shape[1]]
            if s > most:
                most = s
        total += most
    return total


def own_arrays(a, b):
    """Arrays that each iteration makes: filled, stored to here and there, added to, read from the end and twice."""
    out = np.zeros(len(a))
    for p in prange(len(a)):
        terms, seen = np.zeros(len(b)), np.empty((len(b), 2))
        most = -np.inf
        for c in range(len(b)):
            s = 0.0
            for i in range(a.shape[1]):
                s += a[p, i] * b[c, i]
            seen[c, 0], seen[c, 1] = s * s, s + 1.0
            terms[c] = s
            terms[len(b) - 1 - c] += 0.5 * s
            if s > most:
                most = s
                terms[(c + 1) % len(b)] -= 0.25 * s
        total = 0.0
        for c in range(len(b)):
            total += math.exp(terms[c] - most) * seen[len(b) - 1 - c, 0] + seen[c, 1]
        out[p] = total
    return np.sum(out * out)


def own_in_loops(a, b):
    """Arrays that are made again in each iteration of a loop that is run together."""
    total = 0.0
    for p in prange(len(a)):
        for c in range(len(b)):
            away = np.empty(a.shape[1])
            for i in range(a.shape[1]):
                away[i] = a[p, i] - b[c, i]
            s = 0.0
            for i in range(a.shape[1]):
                for j in range(i + 1):
                    s += away[j] * away[i] * b[c, j]
                away[i] = s
            total += s * away[-1]
    return total


PROGRAMS = [
    own_arrays, own_in_loops, matrix_product, distances, triangles, rows_from_the_end, with_branches, extremes,
    window_of_each, views, changed_in_between, kept_rows, mixture, columns, counts,
]  # fmt: skip


@pytest.fixture(params=[(2, 1), (3, 2), (4, 1), (48, 8)])
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Few lanes, so that there are whole blocks and iterations left over, and copies of shadows for all sums."""
    width: int
    width, few = request.param
    chosen = {VectoriseOuter: VectoriseOuter(width, few), Interleave: Interleave(width)}
    lower = tuple(chosen.get(type(p), p) for p in pipelines.LOWER)
    monkeypatch.setattr(pipelines, "LOWER", lower)
    monkeypatch.setattr(privatisation, "WORTH", 1)
    pretend(monkeypatch, lanes=3)
    share(monkeypatch, width, few)
    return width


def inputs(n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + 10 * m + 100 * d)
    return rng.standard_normal((n, d)), rng.standard_normal((m, max(m, d)))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_values_and_gradients(function: Callable[..., Any], engine: str, narrow: int) -> None:
    compiled = jit_grad(function, _engine=engine)
    for n, m, d in [(0, 2, 2), (1, 2, 3), (2, 1, 2), (3, 2, 2), (7, 3, 4), (9, 2, 1), (4, 3, 0), (4, 0, 3)]:
        if (m == 0 or d == 0) and function is not extremes and function is not changed_in_between:
            continue
        a, b = inputs(n, m, d)
        assert compiled(a, b) == pytest.approx(function(a, b), rel=1e-12, abs=1e-12)
    a, b = inputs(7, 3, 4)
    da, db = np.random.default_rng(1).standard_normal(a.shape), np.random.default_rng(2).standard_normal(b.shape)
    h = 1e-6
    slope = (function(a + h * da, b + h * db) - function(a - h * da, b - h * db)) / (2 * h)
    ga, gb = adc.grad(compiled, argnums=(0, 1))(a, b)
    assert np.sum(ga * da) + np.sum(gb * db) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_the_loops_are_taken(function: Callable[..., Any]) -> None:
    """Those that load from places far apart have these in local arrays, which become columns, or load them often."""
    compiled = jit_grad(function)
    compiled(*inputs(3, 2, 3))
    assert "adc.lanes" in compiled.dump_ir("lowered")


@pytest.mark.usefixtures("optimised")
def test_it_is_simd() -> None:
    compiled = jit_grad(distances)
    compiled(*inputs(3, 2, 3))
    text = compiled.dump_ir("llvm")
    assert any(f"fsub <{n} x double>" in text for n in (2, 4, 8)), text


@pytest.mark.parametrize(("function", "kept"), [(kept_rows, 1), (rows_from_the_end, 0), (changed_in_between, 0)])
def test_rows_of_local_arrays_are_interleaved(function: Callable[..., Any], kept: int) -> None:
    """But not those that something else uses."""
    compiled = jit_grad(function)
    compiled(*inputs(3, 2, 3))
    text = compiled.dump_ir("lowered")
    assert len(re.findall(rf"%(?:q|r) = memref.alloc.*x{CPU.lanes}xf64>", text)) == kept, text


@pytest.mark.usefixtures("optimised")
def test_bits_do_not_depend_on_threads() -> None:
    a, b = inputs(301, 5, 6)
    outcomes = {
        (float(value), ga.tobytes(), gb.tobytes())
        for threads in (1, 2, 3)
        for value, (ga, gb) in [adc.value_and_grad(jit_grad(distances, threads=threads), argnums=(0, 1))(a, b)]
    }
    assert len(outcomes) == 1
