"""Snapshots: if one copy of an array serves many loads, it is kept instead of values computed from them."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad
from tests.programs.harness import check


def advected(u0, c, steps):
    n, m = u0.shape
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] - c * u[i, j] * (u[i, j] - u[i - 1, j]) * (u[i, j + 1] - u[i, j - 1])
        u, v = v, u
    return np.sum(u * u)


def two_nests(u0, c, steps):
    """The second loop ends where was not known before the first."""
    n = len(u0)
    u, v, w = u0.copy(), u0.copy(), u0.copy()
    last = np.array([n - 1, n - 2])
    for t in range(steps):
        for i in range(2, n - 1):
            w[i] = u[i] * u[i - 1] * u[i + 1] * np.sin(u[i - 2])
        top = last[t % 2]
        for i in range(1, top):
            v[i] = u[i] + c * (w[i] * u[i] * u[i - 1] + np.cos(u[i]) * u[i + 1])
        u, v = v, u
    return np.sum(u * w)


def together(u0, c, steps):
    """One copy serves both loops."""
    n = len(u0)
    u, v, w = u0.copy(), u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(2, n - 1):
            w[i] = u[i] * u[i - 1] * u[i + 1] * np.sin(u[i - 2])
        for i in range(1, n - 2):
            v[i] = u[i] + c * (w[i] * u[i] * u[i - 1] + np.cos(u[i]) * u[i + 2])
        u, v = v, u
    return np.sum(u * w)


def guarded(u0, c, steps):
    """Subscripts that are out of range where the branch is not taken."""
    n = len(u0)
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(n):
            left, right = 0.0, 0.0
            if i > 2:
                left = u[i - 3]
            if i + 2 < n:
                right = u[i + 2]
            v[i] = u[i] + c * np.sin(left * right) * u[i] * left
        u, v = v, u
    return np.sum(u**2)


def in_place(u0, c, steps):
    """Nothing that a loop changes while it reads it is copied before it."""
    u = u0.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            u[i] = u[i] + c * u[i - 1] * u[i] * u[i + 1] * np.sin(u[i - 1])
    return np.sum(u * u)


def overwritten_between(u0, c, steps):
    n = len(u0)
    u, v, w = u0.copy(), np.zeros_like(u0), np.zeros_like(u0)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] * u[i - 1] * u[i + 1]
        u[0] = c * u[n - 1]
        for i in range(1, n - 1):
            w[i] = u[i] * u[i - 1] * u[i + 1] * v[i]
        for i in range(1, n - 1):
            u[i] = 0.5 * u[i] + 0.1 * w[i]
    return np.sum(u)


def rows(u0, c, steps):
    """Rows of which the loops know nothing, and some that are constants."""
    n, m = u0.shape
    u, v = u0.copy(), u0.copy()
    for t in range(steps):
        k = (t * 2) % n
        for j in range(1, m - 1):
            v[k, j] = u[k, j] * u[k, j - 1] * u[k, j + 1] * u[0, j] * u[n - 1, j] * c
        u, v = v, u
    return np.sum(u * u) + np.sum(v)


def of_several(u0, c, steps):
    """Time loops in a loop over systems, in a function of their own."""
    total = 0.0
    for k in range(3):
        total += advected(u0 + 0.1 * k, c, steps)
    return total


def halves(u0, c, steps):
    """A loop that starts where another loop's counter is."""
    n = len(u0)
    u, v = u0.copy(), u0.copy()
    for t in range(steps):
        for i in range(1, n - 1):
            for j in range(i, n - 1):
                v[j] = v[j] + c * u[j] * u[j - 1] * u[j + 1] * u[i]
        u, v = v, u
        v[0] = t * c
    return np.sum(u * v)


SQUARES = [(6, 7), (3, 3), (2, 5), (1, 1), (0, 4)]
LINES = [9, 4, 3, 2, 1]


def data(shape: Any, steps: int = 4) -> tuple[Any, ...]:
    return np.random.default_rng(3).random(shape) + 0.5, 0.1, steps


@pytest.mark.parametrize("function", [advected, of_several], ids=lambda f: f.__name__)
def test_planes(function: Callable[..., Any]) -> None:
    check(function, *(data(s) for s in SQUARES), data((6, 5), 0), data((6, 5), 1), single=True, pullback=True)


def test_rows() -> None:
    check(rows, *(data(s) for s in [(6, 7), (3, 3), (2, 5)]), data((6, 5), 0), pullback=True)


@pytest.mark.parametrize("function", [guarded, in_place, overwritten_between, halves], ids=lambda f: f.__name__)
def test_lines(function: Callable[..., Any]) -> None:
    check(function, *(data(n) for n in LINES), data(9, 0), single=True, pullback=True)


@pytest.mark.parametrize("function", [two_nests, together], ids=lambda f: f.__name__)
def test_two_loops(function: Callable[..., Any]) -> None:
    check(function, *(data(n) for n in LINES), data(9, 0), pullback=True)


def kept(function: Callable[..., Any], *args: Any) -> list[str]:
    """The lines of the plan on the tape, of the loops that run when all is in range."""
    f = jit_grad(function)
    f.grad(*args)
    text = f.dump_ir("plan")
    tape = text[text.index("\ntape:") + 1 :].split("\n\n")[0].splitlines()[1:]
    return [line for line in tape if " bytes" in line and "one by one" not in line]


def test_one_copy_is_kept_where_many_values_were() -> None:
    assert ["u before the loop: f64" in line for line in kept(advected, *data((6, 7)))] == [True]
    assert sum("u before the loop" in line for line in kept(together, *data(9))) == 1
    assert sum("u before the loop" in line for line in kept(two_nests, *data(9))) == 2


def test_what_is_not_chosen_leaves_nothing_behind() -> None:
    def linear(u0, c, steps):
        u, v = u0.copy(), u0.copy()
        for _ in range(steps):
            for i in range(1, len(u) - 1):
                v[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1])
            u, v = v, u
        return np.sum(u * u)

    f = jit_grad(argnums=1)(linear)
    f.grad(*data(9))
    assert "_before" not in f.dump_ir("adjoint")
    assert " before the loop" not in str(f.report())
    f = jit_grad(in_place)
    f.grad(*data(9))
    assert "_before" not in f.dump_ir("adjoint")


OFFSETS = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=2, max_size=5)


@given(OFFSETS, st.integers(0, 7), st.integers(0, 7), st.integers(0, 3), st.booleans())
@settings(max_examples=15, deadline=None)
def test_random_stencils(offsets: list[tuple[int, int]], n: int, m: int, steps: int, swap: bool) -> None:
    factors = " * ".join(f"(1.0 + u[i + {di}, j + {dj}])" for di, dj in offsets)
    advance = "u, v = v, u" if swap else "u[:] = v"
    text = f"""
def program(u0, c, steps):
    n, m = u0.shape
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        for i in range(2, n - 2):
            for j in range(2, m - 2):
                v[i, j] = 0.5 * u[i, j] + c * np.sin({factors})
        {advance}
    return np.sum(u * u)
"""
    name = f"<snapshots {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    check(names["program"], data((n, m), steps))


def written_down(x, n):
    """What is read of ``x`` is also in an array that each step makes: as long as there is no copy of ``x``, the reverse
    sweep would read it there."""
    s = 0.0
    for t in range(n):
        w = np.empty(len(x))
        for i in range(len(x)):
            v = x[i]
            w[i] = v
            s += np.sin(v) * t
        s += w[t + 1]
    x[0] = s
    return s * x[1]


def test_in_place_of_where_the_program_has_written_down_what_it_read() -> None:
    x, d = np.linspace(0.3, 1.2, 5), np.linspace(1.0, 2.0, 5)

    def gradient(x):
        s, t = sum(i * np.sin(x) for i in range(3)).sum() + sum(x[1:4]), sum(i * np.cos(x) for i in range(3))
        t[1:4] += 1.0
        return t * x[1] + s * (np.arange(5) == 1)

    # The interpreter fills new memory with what is no number.
    f = jit_grad(written_down, _engine="interpreter")
    np.testing.assert_allclose(f.grad(x.copy(), 3), gradient(x), rtol=1e-13)
    slope = jit_grad(lambda x, d: np.sum(adc.grad(written_down)(x.copy(), 3) * d), _engine="interpreter")
    expected = (gradient(x + 1e-5 * d) - gradient(x - 1e-5 * d)) / 2e-5
    np.testing.assert_allclose(slope.grad(x, d), expected, rtol=1e-8, atol=1e-8)
