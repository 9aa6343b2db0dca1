"""Colouring: blocks of iterations without common elements, determined once before a time loop."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adc import jit_grad
from adc.backend import runtime
from adc.passes.scatter import colouring
from tests.stages import share
from tests.stencils.check import threads_at_once


def edges(u, left, right, area, steps):
    m = left.shape[0]
    f = np.zeros(m)
    for _ in range(steps):
        for e in range(m):
            a, b = u[left[e]], u[right[e]]
            f[e] = area[e] * (0.5 * (a * a + b * b) - 0.7 * (b - a))
        for e in range(m):
            u[left[e]] -= 0.01 * f[e]
            u[right[e]] += 0.01 * f[e]
    return np.sum(u * u)


def rows(u, first, column, area, steps):
    """Terms in an inner loop of unknown length, under a condition."""
    n = first.shape[0] - 1
    v = np.zeros(n)
    for _ in range(steps):
        for i in range(n):
            total = 0.0
            for k in range(first[i], first[i + 1]):
                if column[k] != i:
                    total += area[k] * u[column[k]] * u[column[k]]
            v[i] = np.tanh(total)
        for i in range(n):
            u[i] += 0.1 * v[i]
    return np.sum(u * u)


def planes(u, at, area, steps):
    """Elements of a matrix, whose second subscript is a counter, and the sum of all area's."""
    m = at.shape[0]
    f = np.zeros(m)
    for _ in range(steps):
        for e in range(m):
            s = 0.0
            for c in range(3):
                s += u[at[e, 0], c] * u[at[e, 1], 2 - c]
            f[e] = s * area
        for e in range(m):
            u[at[e, 0], 1] += 0.01 * f[e]
    return np.sum(u * u)


def section(u, at, row, steps):
    """The first subscript is one for all iterations, and for all steps; it is checked in each."""
    before = np.zeros(u.shape)
    now = u.copy()
    total = 0.0
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(u.shape[1]):
                before[i, j] = u[i, j] * now[i - 1, j]
        before[row, 0] += 1.0
        before, now = now, before
        for e in range(at.shape[0]):
            total += now[row, at[e, 0]] * now[row, at[e, 1]]
    return total


def rolling(u, at, area, steps):
    """The first subscript is one for all iterations, but another one in each step."""
    m = at.shape[0]
    f = np.zeros(m)
    for t in range(steps):
        r = t % u.shape[0]
        for e in range(m):
            f[e] = area[e] * u[r, at[e]] ** 2
        for e in range(m):
            u[r, at[e]] += 0.01 * f[e]
    return np.sum(u * u)


def moving(u, at, area, steps):
    """The subscripts are others in each step."""
    m = at.shape[0]
    f = np.zeros(m)
    for _ in range(steps):
        for e in range(m):
            f[e] = area[e] * u[at[e]] ** 2
        for e in range(m):
            u[at[e]] += 0.01 * f[e]
            at[e] = (at[e] + 1) % u.shape[0]
    return np.sum(u * u)


def arguments(name: str, seed: int, n: int, m: int, steps: int, reach: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    near = (rng.integers(0, n, m), rng.integers(-reach, reach + 1, m))
    left = np.sort(near[0])
    right = np.clip(left + near[1], 0, n - 1)
    if name == "edges":
        return rng.standard_normal(n), left, right, rng.random(m), steps
    if name == "rows":
        first = np.concatenate([[0], np.sort(rng.integers(0, m + 1, n - 1)), [m]])
        return rng.standard_normal(n), first, right, rng.random(m), steps
    if name == "planes":
        return rng.standard_normal((n, 3)), np.stack([left, right], 1), 0.3, steps
    if name == "section":
        return rng.standard_normal((3, n)), np.stack([left, right], 1), 1, steps
    if name == "rolling":
        return rng.standard_normal((3, n)), right, rng.random(m), steps
    return rng.standard_normal(n), right, rng.random(m), steps


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


PROGRAMS = {
    "edges": (edges, (0, 3)),
    "rows": (rows, (0, 3)),
    "planes": (planes, (0, 2)),
    "section": (section, (0,)),
    "rolling": (rolling, (0, 2)),
    "moving": (moving, (0, 2)),
}


@functools.cache
def compiled_for(name: str, kind: str, most: int) -> Any:
    """With blocks so small that there are several, and that many colours."""
    function, argnums = PROGRAMS[name]
    patch = pytest.MonkeyPatch()
    patch.setattr(colouring, "SIZE", 4)
    patch.setattr(colouring, "COLOURS", most)
    share(patch, most)
    try:
        with threads_at_once(1):
            compiled = jit_grad(function, argnums=argnums, accumulate=kind, parallel=kind != "serial")
            compiled.value_and_grad(*arguments(name, 0, 3, 4, 1, 1))
        return compiled
    finally:
        patch.undo()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(list(PROGRAMS)),
    seed=st.integers(0, 99),
    n=st.integers(1, 40),
    m=st.integers(0, 90),
    steps=st.integers(0, 5),
    reach=st.integers(0, 5),
    most=st.sampled_from([1, 3, 63]),
    kind=st.sampled_from(["auto", "colours"]),
)
def test_right_on_any_threads(
    name: str, seed: int, n: int, m: int, steps: int, reach: int, most: int, kind: str
) -> None:
    """Against terms added one after the other; with colours that do not suffice, too."""
    args = arguments(name, seed, n, m, steps, reach)
    most = 63 if name in ("rolling", "moving") else most  # they have no colours, however many there may be: see below
    expected = compiled_for(name, "serial", 63).value_and_grad(*copied(args))
    compiled, before, found = compiled_for(name, kind, most), runtime.threads(), []
    try:
        for threads in (1, 2, 3, 8):
            runtime.set_threads(threads)
            value, gradients = compiled.value_and_grad(*copied(args))
            assert value == pytest.approx(expected[0], rel=1e-12)
            found.append([np.asarray(g).tobytes() for g in gradients])
            for g, e in zip(gradients, expected[1], strict=True):
                np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-10)
        assert all(f == found[0] for f in found)
    finally:
        runtime.set_threads(before)


def test_the_interpreter_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colouring, "SIZE", 4)
    for name in ("edges", "rows", "planes", "section", "rolling"):
        function, argnums = PROGRAMS[name]
        args = arguments(name, 1, 15, 30, 4, 2)
        native = jit_grad(function, argnums=argnums, accumulate="colours").grad(*copied(args))
        oracle = jit_grad(function, argnums=argnums, accumulate="colours", _engine="interpreter").grad(*copied(args))
        for g, e in zip(native, oracle, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-13)


def kinds_of(name: str, **options: Any) -> list[str]:
    function, argnums = PROGRAMS[name]
    compiled = jit_grad(function, argnums=argnums, **options)
    compiled.grad(*arguments(name, 1, 15, 30, 4, 2))
    return [p.kind for plans in compiled.report().parallel.shadows.values() for p in plans]


def test_where_subscripts_stay() -> None:
    assert "colours" in kinds_of("edges")
    assert "colours" in kinds_of("rows")
    assert "colours" not in kinds_of("moving")
    assert "colours" not in kinds_of("rolling")
    assert "colours" not in kinds_of("edges", accumulate="private")


def test_time_loops_whose_length_changes() -> None:
    """How often the inner one runs is not known before the outer one: colours are found in between."""

    def twice(u, left, right, n):
        f = np.zeros(left.shape[0])
        for k in range(n):
            for _ in range(k):
                for e in range(left.shape[0]):
                    f[e] = np.sin(u[left[e]] * u[right[e]])
                for e in range(left.shape[0]):
                    u[left[e]] += 0.01 * f[e]
        return np.sum(u * u)

    u, left, right = arguments("edges", 2, 20, 600, 0, 2)[:3]
    compiled = jit_grad(twice)
    found = compiled.grad(u.copy(), left, right, 6)
    expected = jit_grad(twice, parallel=False, accumulate="serial").grad(u.copy(), left, right, 6)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert "colours" in str(compiled.report())


def test_the_adjoint_of_adding_only_reads() -> None:
    """``u[k] += x``: the cotangent of ``u[k]`` stays what it was, so that iterations are independent."""

    def scatter(f, at, n):
        u = np.zeros(n)
        for e in range(f.shape[0]):
            u[at[e]] += f[e] * f[e]
        return np.sum(u * u)

    compiled = jit_grad(scatter)
    f, at = np.arange(5.0), np.array([2, 0, 2, 1, 2])
    u = np.zeros(3)
    np.add.at(u, at, f * f)
    np.testing.assert_allclose(compiled.grad(f, at, 3), 4.0 * f * u[at], rtol=1e-14)
    loops = [p.kind for p in compiled.report().parallel.loops["scatter.grad"]]
    assert loops.count("sequential") == 1  # the sum itself, in Python's order
