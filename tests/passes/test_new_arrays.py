"""Arrays that each step makes anew, under changing names: gradients, and when their memory is freed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adc import jit_grad
from tests.systems.sources import elsewhere


def explicit(u, steps):
    v = u * 1.0
    for _ in range(steps):
        w = np.empty(len(u))
        for i in range(len(u)):
            w[i] = v[i] + 0.1 * np.sin(v[(i + 1) % len(u)]) * v[i - 1]
        v = w
    return np.sum(v * v)


def whole(u, steps):
    for _ in range(steps):
        u = u + 0.1 * np.sin(u) * u[::-1]
    return np.sum(u * u)


def two_back(u, steps):
    before, v = u * 0.5, u * 1.0
    for _ in range(steps):
        w = np.zeros(len(u))
        for i in range(1, len(u) - 1):
            w[i] = 2.0 * v[i] - before[i] + 0.1 * v[i] * v[i - 1] * before[i + 1]
        before, v = v, w
    return np.sum(v * before * v)


def now_and_then(u, steps):
    """Some arrays are thrown away."""
    v = u * 1.0
    for t in range(steps):
        w = v * v * 0.5 + 0.3
        if t % 2 == 0:
            v = w
    return np.sum(v * v)


def shrinking(u, steps):
    """Views of what was made."""
    v = u * 1.0
    for _ in range(steps):
        w = v * np.cos(v)
        v = w[1:-1] if len(w) > 2 else w
    return np.sum(v)


def nested(u, steps):
    """Both loops make arrays; the inner one reads the outer one's."""
    v = u * 1.0
    for _ in range(steps):
        a = v * v * 0.3
        for _ in range(2):
            b = a * 0.5 + np.sin(v) * a
            a = b
        v = a + v
    return np.sum(v * a) if steps > 0 else np.sum(v)


def first_kept(u, steps):
    first = u * 1.0
    v = u * 1.0
    for t in range(steps):
        w = v * 0.9 + 0.1 * v * v
        if t == 0:
            first = w
        v = w
    return np.sum(first * v)


def until(u, steps):
    v = u * 1.0
    while np.max(v) < 3.0:
        w = v * 1.1 + 0.05 * v * v
        v = w
    return np.sum(v * v) * steps


def helper(v, w):
    for i in range(len(w)):
        w[i] = v[i] * v[i - 1] * 0.4 + 0.1


def by_function(u, steps):
    v = u * 1.0
    for _ in range(steps):
        w = np.empty(len(v))
        helper(v, w)
        v = w
    return np.sum(v)


def changed_later(u, steps):
    """Written under the name that the next step knows it by: what it was is gone."""
    v = u * 1.0
    for t in range(steps):
        w = np.empty(len(u))
        for i in range(len(u)):
            w[i] = v[i] * v[i - 1]
        v[0] = np.sin(w[-1]) + t
        v[-1] = v[0] * v[1]
        total = v[0] * v[-1]
        w[0] = total * v[1]
        v = w
    return np.sum(v * v)


def changed_in_place(u, steps):
    v = u * 1.0
    for _ in range(steps):
        v = v * np.cos(v)
        v[0] = v[0] * v[-1]
        for i in range(1, len(v)):
            v[i] = v[i] * v[i - 1] + 0.2
    return np.sum(v * v)


def swapped_inside(u, steps):
    v = u * 1.0
    for _ in range(steps):
        w = v * 0.5 + 0.1
        for _ in range(3):
            for i in range(len(u)):
                w[i] = v[i] * v[i - 1] * 0.3 + 0.3 * w[i]
            v, w = w, v
    return np.sum(v * w) if steps > 0 else np.sum(v)


def either(u, steps):
    """A name for one of two arrays, of which one is new."""
    v = u * 1.0
    for t in range(steps):
        w = v * v * 0.4
        x = w if t % 2 == 0 else v
        total = x[0] * x[1]
        w[0] = total + x[0]
        w[1] = w[0] * x[1]
        v = w
    return np.sum(v * v)


def swapped_on_either_side(u, steps):
    """Both forms of the inner loop, with and without checks, permute the same two arrays."""
    b, c = u * 0.5, u * u
    t = 0
    while t < steps:
        for _ in range(t + 1):
            b[0] = c[1] * b[1]
            c, b = b, c
        t += 1
    return np.sum(b * c)


def taken_twice(u, steps):
    """The same array under a second name, given twice on a branch."""
    v, w = u * 1.0, u * 0.5
    for t in range(steps):
        w[1] = v[0] * w[0] + 0.1
        v = w[:] if t % 2 == 0 else v
        v = w[:] if t % 2 == 0 else v
        w = v * 0.5 + w * w
    return np.sum(v * v) + np.sum(w)


def stored(u, steps):
    """A list keeps them all; the last but one is changed."""
    kept = [u * 1.0]
    for _ in range(3):
        w = kept[-1] * kept[-1] * 0.5
        kept.append(w)
        if len(kept) > 2:
            kept[-2][0] = w[0] * w[1]
    return np.sum(kept[-1] * kept[-2]) + kept[1][0] * steps


def filtered(u, steps):
    """A matrix made anew and then changed in place."""
    m, p = np.outer(u, u) * 0.1, np.ones((len(u), len(u))) * 0.1
    total = 0.0
    for _ in range(steps):
        p = m @ p @ m.T * 0.1 + m * 0.1
        s = u @ p @ u + 0.3
        k = p @ u / s
        for i in range(len(u)):
            for j in range(len(u)):
                p[i, j] -= k[i] * k[j] * s
        total += np.log(s)
    return total


PROGRAMS = [explicit, whole, two_back, now_and_then, shrinking, nested, first_kept, until, by_function]
CHANGING = [changed_later, changed_in_place, swapped_inside, swapped_on_either_side, either, taken_twice, stored]
ALL = [*PROGRAMS, *CHANGING, filtered]


def difference(function: Callable[..., Any], u: Any, steps: int, d: Any) -> float:
    return (function(u + 1e-6 * d, steps) - function(u - 1e-6 * d, steps)) / 2e-6


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_gradients(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function)
    for n, steps in [(2, 0), (2, 1), (5, 1), (5, 2), (7, 3), (40, 6)]:
        rng = np.random.default_rng(n + steps)
        u, d = rng.uniform(0.3, 1.0, n), rng.standard_normal(n)
        value, gradient = compiled.value_and_grad(u, steps)
        assert value == pytest.approx(function(u, steps), rel=1e-12)
        assert np.sum(gradient * d) == pytest.approx(difference(function, u, steps, d), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("function", [two_back, first_kept, changed_in_place, either], ids=lambda f: f.__name__)
def test_second_derivatives(function: Callable[..., Any]) -> None:
    first = jit_grad(function)

    def along(u, steps, d):
        return np.sum(first.grad(u, steps) * d)

    rng = np.random.default_rng(1)
    u, d, e = rng.uniform(0.3, 1.0, 6), rng.standard_normal(6), rng.standard_normal(6)
    found = jit_grad(along).grad(u, 3, d)
    slope = (along(u + 1e-6 * e, 3, d) - along(u - 1e-6 * e, 3, d)) / 2e-6
    assert np.sum(found * e) == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_arrays_of_which_little_is_read_are_not_kept() -> None:
    def sampled(a, v, steps):
        total = 0.0
        for _ in range(steps):
            w = np.empty(len(v))
            for i in range(len(v)):
                w[i] = 0.5 * v[i] + 0.25 * v[i - 1]
            s = 0.0
            for i in range(1, len(v), 10):
                s += v[i] * a * a
            total += s
            v = w
        return total

    compiled = jit_grad(sampled)
    v = np.random.default_rng(0).random(95)
    slope = (sampled(1.5 + 1e-6, v, 4) - sampled(1.5 - 1e-6, v, 4)) / 2e-6
    assert compiled.grad(1.5, v, 4) == pytest.approx(slope, rel=1e-7)
    assert "memory it refers to" not in compiled.grad.dump_ir("plan")


@settings(deadline=None, max_examples=15)
@given(st.lists(st.sampled_from("nrwsvk"), min_size=1, max_size=7), st.integers(0, 4))
def test_any_order_of_reads_and_writes(actions: list[str], steps: int) -> None:
    """A step of statements on two names: new, read, written, swapped, a view. The interpreter knows what was freed."""
    lines = {
        "n": "w = v * 0.5 + 0.3 * w * w",
        "r": "total = total + v[0] * w[1] * v[2]",
        "w": "w[1] = v[0] * w[0] + 0.1",
        "s": "v, w = w, v",
        "v": "v = w[:] if t % 2 == 0 else v",
        "k": "w = v * np.sin(w)",
    }
    body = "\n        ".join(lines[a] for a in actions)
    text = f"""def f(u, steps):
    v, w, total = u * 1.0, u * 0.5, 0.0
    for t in range(steps):
        {body}
    return total + np.sum(v * v) + np.sum(w)
"""
    function = elsewhere(text, "f", f"actions_{''.join(actions)}.py")
    u, d = np.array([0.3, 0.5, 0.7]), np.array([1.0, -0.5, 0.25])
    gradient = jit_grad(function, _engine="interpreter").grad(u, steps)
    assert np.sum(gradient * d) == pytest.approx(difference(function, u, steps, d), rel=1e-6, abs=1e-7)
