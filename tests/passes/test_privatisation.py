"""Private copies: irregular sums are right, the same on any number of threads, and copies are made where they pay."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad, prange
from adc.backend import runtime
from adc.passes.distribution import distribute_terms
from adc.passes.scatter import privatisation
from tests.machines import pretend
from tests.stages import share

THREADS = (1, 2, 3, 4, 8)


def gathered(w, idx, x):
    total = 0.0
    for i in prange(len(idx)):
        total += np.sin(w[idx[i]] * x[i])
    return total


def rows(w, idx, x):
    total = 0.0
    for i in prange(len(idx)):
        s = 0.0
        for j in range(w.shape[1]):
            s += w[idx[i], j] * x[i, j]
        total += s * s
    return total


def everywhere(w, idx, x):
    """Each iteration uses all of ``w``: the sums over lanes."""
    total = 0.0
    for i in prange(len(x)):
        for k in range(len(w)):
            s = 0.5
            for j in range(k):
                s += w[j] * x[i] * w[k]
            total += s * s
    return total


def two(w, idx, x):
    """Two shadows, of which one is smaller, a result of its own for each iteration, and a branch."""
    out = np.zeros(len(idx))
    bias = w[:3] * 1.0
    for i in prange(len(idx)):
        k = idx[i]
        s = x[i] * bias[k % 3]
        if s > 0.1:
            for j in range(4):
                s += w[(k + j * j) % len(w)] * bias[j % 3]
        out[i] = s
    return np.sum(out * out)


def backwards(w, idx, x):
    total = 0.0
    for i in prange(len(idx) - 1, -1, -2):
        total += w[idx[i]] ** 3 + w[idx[i - 1]] * x[i]
    return total


def nearest(w, idx, x):
    """The chosen centre alone gets a share."""
    total = 0.0
    for i in prange(len(x)):
        best = np.inf
        for k in range(len(w)):
            square = (w[k] - x[i]) ** 2
            if square < best:
                best = square
        total += best
    return total


def in_time(w, idx, x):
    """Receivers in a time loop: the shadow is also used by the loops around it."""
    u = w * 1.0
    total = 0.0
    for t in range(3):
        for k in range(len(u)):
            u[k] = u[k] * 0.9 + w[k]
        for i in prange(len(idx)):
            total += u[idx[i]] * u[idx[i]] * x[i]
    return total


def computed(w, idx, x):
    """Elements that are found by arithmetic on floats; terms from branches; and a result for each iteration."""
    out = np.zeros(len(idx))
    for i in prange(len(idx)):
        a, b = w[int(float(idx[i]) * 0.7)], w[idx[i]]
        s = math.exp(0.3 * a) * b if idx[i] % 2 > 0 else math.sqrt(1.0 + a * a)
        out[i] = s * math.sin(b - x[i])
    return np.sum(out * out)


PROGRAMS = [gathered, rows, everywhere, two, backwards, nearest, in_time, computed]


def inputs(function: Callable[..., Any], n: int, m: int, seed: int, dtype: Any = np.float64) -> list[Any]:
    rng = np.random.default_rng(seed)
    shape: tuple[int, ...] = (m, 3) if function is rows else (m,)
    return [
        rng.standard_normal(shape).astype(dtype),
        rng.integers(0, m, n),
        rng.standard_normal((n, *shape[1:])).astype(dtype),
    ]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Copies are made however little there is to do, and chunks are short."""
    monkeypatch.setattr(privatisation, "WORTH", 1)
    pretend(monkeypatch, lanes=2)
    yield


def differences(function: Callable[..., Any], args: list[Any], direction: Any) -> float:
    step = 1e-5
    w, *rest = args
    at = {k: function(w + k * step * direction, *rest) for k in (-2, -1, 1, 2)}
    return float((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("n", "m"), [(0, 4), (1, 4), (33, 5), (600, 3)])
def test_gradient(function: Callable[..., Any], n: int, m: int) -> None:
    args = inputs(function, n, m, n)
    compiled = jit_grad(function, argnums=(0, 2))
    value, gradients = compiled.value_and_grad(*args)
    assert value == pytest.approx(function(*args), rel=1e-11, abs=1e-11)
    for k, gradient in zip((0, 2), gradients, strict=True):
        direction = np.random.default_rng(1).standard_normal(args[k].shape)
        moved = lambda w, k=k: function(*(w if j == k else a for j, a in enumerate(args)))
        expected = differences(moved, [args[k]], direction)
        terms = gradient * direction
        assert abs(np.sum(terms) - expected) <= 1e-8 * (1.0 + np.sum(np.abs(terms)))


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("cache", [1 << 20, 8])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_the_same_bits_on_any_number_of_threads(
    function: Callable[..., Any], cache: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With copies for all chunks, and with those that come one after the other because a cache has no room for more."""
    pretend(monkeypatch, block_bytes=cache)
    args = inputs(function, 4000, 9, 3)
    compiled = jit_grad(function, argnums=(0, 2))
    before = runtime.threads()
    try:
        found = []
        for count in THREADS:
            runtime.set_threads(count)
            found.append(compiled.grad(*args))
    finally:
        runtime.set_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert np.array_equal(a, b)
    assert "adc.threads" in compiled.dump_ir("lowered")


@functools.cache
def without_copies(function: Callable[..., Any]) -> Any:
    return jit_grad(function, argnums=(0, 2), _engine="interpreter")


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_short_chunks(function: Callable[..., Any], data: st.DataObject) -> None:
    """The interpreter, native code and the interpreter without copies agree."""
    n, m = data.draw(st.integers(0, 23)), data.draw(st.integers(3, 6))
    args = inputs(function, n, m, data.draw(st.integers(0, 9)))
    expected = without_copies(function).grad(*args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(privatisation, "WORTH", 1)
        lanes, cache = data.draw(st.sampled_from([2, 7])), data.draw(st.sampled_from([8, 100, 1 << 20]))
        pretend(patch, lanes=lanes, block_bytes=cache)
        strip = data.draw(st.sampled_from([1, 2, 3, 64]))
        patch.setattr(distribute_terms, "STRIP", strip)
        share(patch, strip)
        for engine in ("interpreter", "native"):
            found = jit_grad(function, argnums=(0, 2), _engine=engine).grad(*args)
            for a, b in zip(found, expected, strict=True):
                assert np.allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("function", "strips"), [(gathered, 1), (computed, 1), (rows, 0), (everywhere, 0)])
def test_terms_are_computed_first(function: Callable[..., Any], strips: int) -> None:
    """Where there are no loops inside, which have their own ways to become SIMD."""
    compiled = jit_grad(function)
    compiled.grad(*inputs(function, 50, 4, 0))
    text = compiled.dump_ir("lowered")
    assert text.count("scf.for %strip = ") == strips, text


def test_cheap_terms_are_added_where_they_are_made() -> None:
    def sums(w, idx, x):
        total = 0.0
        for i in prange(len(idx)):
            total += w[idx[i]] * x[i]
        return total

    compiled = jit_grad(sums)
    w, idx, x = inputs(sums, 500, 4, 0)
    exact = np.zeros(4)
    np.add.at(exact, idx, x)
    assert np.allclose(compiled.grad(w, idx, x), exact, rtol=1e-13)
    assert "private" in str(compiled.report()) and "%strip" not in compiled.dump_ir("lowered")


def test_float32(eager: None) -> None:
    args = inputs(gathered, 300, 5, 0, np.float32)
    gradient = jit_grad(gathered).grad(*args)
    exact = np.zeros(5)
    np.add.at(exact, args[1], np.cos(args[0][args[1]] * args[2]) * args[2])
    assert gradient.dtype == np.float32
    assert np.allclose(gradient, exact, rtol=1e-4, atol=1e-4)


def test_few_iterations_on_a_long_array_make_no_copies() -> None:
    """They would cost more than all the rest."""
    w, idx, x = inputs(gathered, 100, 200_000, 5)
    compiled = jit_grad(gathered)
    gradient = compiled.grad(w, idx, x)
    exact = np.zeros(len(w))
    np.add.at(exact, idx, np.cos(w[idx] * x) * x)
    assert np.allclose(gradient, exact, rtol=1e-13)
    assert "private" in str(compiled.report())


def test_the_report_names_private_copies() -> None:
    compiled = jit_grad(rows)
    compiled.grad(*inputs(rows, 50, 4, 0))
    assert ", to w: private: iterations may meet in one element" in str(compiled.report())


def test_overlapping_arguments_are_not_copied_apart() -> None:
    """Two shadows that may be one, since one of the arguments is written to, are not summed by copies of each."""

    def both(a, b, idx):
        b[7] = 0.0
        total = 0.0
        for i in prange(len(idx)):
            total += a[idx[i]] * b[idx[-1 - i]]
        return total

    base = np.arange(1.0, 13.0)
    idx = np.random.default_rng(2).integers(0, 8, 3000)
    found = adc.grad(jit_grad(both), argnums=(0, 1))(base[:8], base[4:], idx)
    written = np.where(np.arange(12) == 11, 0.0, base)
    expected = np.zeros(12)
    np.add.at(expected, idx, written[4 + idx[::-1]])
    np.add.at(expected, 4 + idx[::-1], written[idx])
    expected[11] = 0.0
    assert np.allclose(found[0], expected[:8]) and np.allclose(found[1], expected[4:])


def test_no_copies_where_iterations_are_no_more_than_elements() -> None:
    """Each point adds to itself and to one that is not known; the time loop does not change what that costs."""

    def shifted(u, k):
        total = 0.0
        for i in prange(u.shape[0]):
            for j in range(u.shape[1]):
                total += u[i, j] * u[(i * i + k) % u.shape[0], j] ** 2
        return total

    u = np.random.default_rng(5).standard_normal((6, 7))
    compiled = jit_grad(shifted)
    gradient = compiled.grad(u, 3)
    exact = np.zeros_like(u)
    for i in range(6):
        other = (i * i + 3) % 6
        exact[i] += u[other] ** 2
        exact[other] += 2.0 * u[i] * u[other]
    assert np.allclose(gradient, exact, rtol=1e-13)
    report = str(compiled.report())
    assert ", to u: serial" in report and "copies would cost more than the terms" in report
