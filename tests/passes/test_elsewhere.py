"""Arrays that are written element by element, each once, or made anew in each step: they already serve as a tape."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adc
from adc import jit_grad
from tests.programs.harness import check


def trajectory(u0, c, steps):
    n = u0.shape[0]
    u = np.zeros((steps + 1, n))
    u[0] = u0
    for t in range(steps):
        for i in range(n):
            u[t + 1, i] = np.tanh(u[t, i] + c * u[t, i] * u[t, i - 1])
    return np.sum(u * u)


def network(u0, c, steps):
    """Each state is read by all elements of the next."""
    n = u0.shape[0]
    w = np.outer(u0, u0)
    h = np.zeros((steps + 1, n))
    h[0] = u0
    for t in range(steps):
        for i in range(n):
            s = c
            for j in range(n):
                s += w[i, j] * h[t, j]
            h[t + 1, i] = math.tanh(s)
    return np.sum(h[steps] * h[0])


def statements(u0, c, steps):
    h = np.zeros((steps + 1, u0.shape[0]))
    h[0] = u0
    for t in range(steps):
        h[t + 1] = np.tanh(h[t] * h[t] + c)
    return np.sum(h[steps])


def grid(u0, c, steps):
    """As in dynamic programming."""
    n = u0.shape[0]
    w = np.outer(u0, u0)
    d = np.outer(u0, u0)
    for i in range(1, n):
        for j in range(1, n):
            d[i, j] = w[i, j] * math.sin(d[i - 1, j] * d[i, j - 1]) + c * d[i - 1, j - 1] ** 2
    return d[n - 1, n - 1] + steps


def backwards(u0, c, steps):
    n = u0.shape[0]
    v = np.zeros(n + 2)
    for i in range(n - 1, -1, -1):
        v[i] = math.sin(v[i + 1] * u0[i]) + c * v[i + 2] * v[i + 1] + u0[i]
    return np.sum(v) * steps


def kept_states(u0, c, steps):
    """What each step overwrites is kept by the program itself."""
    n = u0.shape[0]
    u = u0.copy()
    states = np.zeros((steps, n))
    for t in range(steps):
        for i in range(n):
            states[t, i] = math.exp(-u[i] * u[i])
        for i in range(n):
            u[i] = c * states[t, i] * states[t, n - 1 - i] + 0.2 * u[i]
    return np.sum(u * u)


def new_arrays(u0, c, steps):
    """Not always the next array: two buffers would not do."""
    x = u0 * 1.0
    for t in range(steps):
        y = np.zeros_like(x)
        for i in range(x.shape[0]):
            y[i] = math.tanh(c * x[i] * x[i - 1] + x[0])
        if t % 3 != 1:
            x = y
    return np.sum(x * x)


def again(u0, c, steps):
    """The same elements are written in each of some epochs."""
    n = u0.shape[0]
    u = np.zeros((4, n))
    u[0] = u0
    total = 0.0
    for e in range(steps):
        for t in range(3):
            for i in range(n):
                u[t + 1, i] = np.sin(u[t, i] * u[t, i - 1] + c * e)
        u[0] = 0.7 * u[3]
        total += np.sum(u[1] * u[2])
    return total


def read_before(u0, c, steps):
    """Elements that are read are written later."""
    n = u0.shape[0]
    v = np.zeros(n + 2)
    v[:n] = u0
    for i in range(n):
        v[i] = v[i + 1] * v[i] + c * math.sin(v[i + 2])
    return np.sum(v * v) * steps


def anywhere(u0, c, steps):
    n = u0.shape[0]
    u = np.zeros((n + 1, n))
    u[0] = u0
    for t in range(steps):
        k = (t * 3) % n
        for i in range(n):
            u[k + 1, i] = np.sin(u[k, i] * u[k, i - 1] + c) + u[0, i] * u[k, i]
    return np.sum(u * u)


def other_name(u0, c, steps):
    """The elements are written through a view of another shape, too."""
    n = u0.shape[0]
    u = np.zeros((steps + 1, n))
    u[0] = u0
    flat = u.reshape(-1)
    for t in range(steps):
        for i in range(n):
            flat[(t + 1) * n + i] = np.tanh(u[t, i] * u[t, i - 1] + c)
            u[t, i] = u[t, i] * 0.5 * flat[(t + 1) * n + i]
    return np.sum(u * u)


def swapped(u0, c, steps):
    """Which array has the name is another one in each step."""
    n = u0.shape[0]
    u, v = np.outer(u0, u0), np.outer(u0, u0) * 0.5
    for t in range(min(steps, n - 1)):
        for i in range(n):
            u[t + 1, i] = math.sin(v[t, i] * u[t, i]) + c
        u, v = v, u
    return np.sum(u * v)


def helper(u0, c, depth):
    u = np.zeros((4, u0.shape[0]))
    u[0] = u0
    for t in range(3):
        for i in range(u0.shape[0]):
            u[t + 1, i] = np.tanh(u[t, i] + c * u[t, i] * u[t, i - 1])
    if depth > 0:
        w = helper(u[3] * 0.5, c, depth - 1)
        s = np.sum(w * w)
        w[:] = 0.25 * s
        u[2] = w[1] * s
    return u


def overwritten_by_the_caller(u0, c, steps):
    u = helper(u0, c, steps)
    s = np.sum(u * u)
    u[1] = s * u[2] * u[3]
    u[:] *= u
    return np.sum(u) * s


def diagonal_first(u0, c, steps):
    """Read in one column, written in another; and every other element."""
    n = u0.shape[0]
    u = np.zeros((n, 4))
    for i in range(n):
        u[i, 1] = u0[i]
        u[i, 3] = u0[i] * u0[i]
    for i in range(1, n - 1):
        u[i, 0] = u[i, 1] * u[i - 1, 1] * c
    for i in range(1, n - 1, 2):
        u[i, 3] = math.sin(u[i - 1, 3] * u[i + 1, 3]) + u[i, 0] * u[i, 1]
    return np.sum(u * u) + steps


def forward_substitution(u0, c, steps):
    n = u0.shape[0]
    m = np.outer(u0, u0)
    x = np.zeros(n)
    for i in range(n):
        s = u0[i]
        for k in range(i):
            s -= m[i, k] * x[k] * c
        x[i] = s / (m[i, i] + 1.0)
    return np.sum(x * x) * steps


def back_substitution(u0, c, steps):
    n = u0.shape[0]
    m = np.outer(u0, u0)
    x = u0.copy()
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= m[i, k] * x[k] * c
        x[i] /= m[i, i] + 1.0
    return np.sum(x * x) * steps


def cholesky(u0, c, steps):
    n = u0.shape[0]
    a = np.outer(u0, u0) * 0.1
    for i in range(n):
        a[i, i] += 3.0
    m = np.zeros((n, n))
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= m[j, k] * m[j, k]
        m[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= m[i, k] * m[j, k]
            m[i, j] = s / m[j, j]
    return np.sum(m * m * m) * c * steps


def elimination(u0, c, steps):
    """In place."""
    n = u0.shape[0]
    a = np.outer(u0, u0) * 0.1
    for i in range(n):
        a[i, i] += 3.0
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(a * a) * c * steps


def up_to_itself(u0, c, steps):
    n = u0.shape[0]
    x = u0.copy()
    for i in range(n):
        s = 0.0
        for k in range(i + 1):
            s += c * x[k] * x[k]
        x[i] = math.sin(s)
    return np.sum(x * x) * steps


def all_that_follow(u0, c, steps):
    n = u0.shape[0]
    x = u0.copy()
    for i in range(n):
        s = 0.0
        for k in range(i, n):
            s += c * x[k] * x[k - i]
        x[i] = math.sin(s)
    return np.sum(x * x) * steps


def beyond_itself(u0, c, steps):
    n = u0.shape[0]
    x = u0.copy()
    for i in range(n - 2):
        s = 0.0
        for k in range(i - 1, i + 3, 2):
            s += c * x[k] * x[i]
        x[i] = math.sin(s)
    return np.sum(x * x) * steps


ONCE = [trajectory, network, statements, grid, backwards, diagonal_first]
ONCE += [forward_substitution, back_substitution, cholesky, elimination]
OTHERS = [
    kept_states,
    new_arrays,
    again,
    read_before,
    anywhere,
    other_name,
    swapped,
    overwritten_by_the_caller,
    up_to_itself,
    all_that_follow,
    beyond_itself,
]


def circular(u0, c, steps):
    """The first read is of the last element, which is written at the end."""
    u = u0.copy()
    s = c
    for t in range(u.shape[0]):
        s += math.sin(u[t - 1] * u[t - 2])
        u[t] = 0.3 * s
    return s * steps + np.sum(u)


def circular_rows(u0, c, steps):
    u = np.outer(u0, u0)
    for t in range(u.shape[0]):
        u[t] = np.sin(c * u[t - 1])
    return np.sum(u * u) * steps


def from_either_end(u0, c, steps):
    n = u0.shape[0]
    s = math.sin(u0[1]) * math.sin(c * u0[n - 2])
    t = u0[1] * u0[n - 2]
    u = u0 * c
    for i in range(steps):
        s += math.sin(u[1] * u[n - 2])
    u[1 - n] = t
    u[-2] = 2.0
    return s * t + np.sum(u)


def overwritten_from_below(u0, c, steps):
    """The state that is kept of ``v`` is read from the end, too."""
    u, v = u0 * c, u0 * 1.0
    for t in range(3):
        u[t] = v[t - 1] * u[t]
        u[t] += u[1] * v[t]
    v[steps - 3] += 0.5
    return np.sum(u)


COUNTING_FROM_THE_END = [circular, circular_rows, from_either_end, overwritten_from_below]


def data(n: int, steps: int = 3) -> tuple[Any, ...]:
    return np.random.default_rng(n).random(n) + 0.3, 0.4, steps


@pytest.mark.parametrize("function", [*ONCE, *OTHERS, *COUNTING_FROM_THE_END], ids=lambda f: f.__name__)
def test_gradients(function: Callable[..., Any]) -> None:
    check(function, data(5), data(3, 1))


def tape(function: Callable[..., Any]) -> str:
    f = jit_grad(argnums=(0, 1))(function)
    f.grad(*data(5))
    text = str(f.report())
    return text[text.index("\ntape") + 1 :].split("\n\n")[0]


@pytest.mark.parametrize("function", ONCE, ids=lambda f: f.__name__)
def test_no_tape_of_what_is_written_once(function: Callable[..., Any]) -> None:
    assert "tape: nothing is stored" in tape(function)


def test_what_the_program_keeps_is_not_kept_twice() -> None:
    found = tape(kept_states)
    assert "math.exp" not in found and "states" not in found


def test_new_arrays_are_their_own_tape() -> None:
    found = tape(new_arrays)
    assert "tanh" not in found and "before the loop" not in found


@pytest.mark.parametrize("function", [trajectory, new_arrays, swapped], ids=lambda f: f.__name__)
def test_second_derivatives(function: Callable[..., Any]) -> None:
    u0, c, steps = data(5)
    d = np.random.default_rng(0).standard_normal(5)

    def slope(h: float) -> Any:
        return np.dot(adc.grad(function)(u0 + h * d, c, steps), d)

    found = adc.hvp(lambda x: function(x, c, steps), (u0,), (d,))
    assert np.dot(found, d) == pytest.approx((slope(1e-5) - slope(-1e-5)) / 2e-5, rel=1e-6, abs=1e-6)


def test_results_may_be_changed_before_the_pullback() -> None:
    def states(u0, c, steps):
        u = np.zeros((steps + 1, u0.shape[0]))
        u[0] = u0
        for t in range(steps):
            for i in range(u0.shape[0]):
                u[t + 1, i] = np.tanh(u[t, i] + c * u[t, i] * u[t, i - 1])
        return u

    f = jit_grad(states)
    y, back = f.pullback(*data(5))
    weights = np.random.default_rng(1).random(y.shape)
    expected = back(weights)[0]
    y, back = f.pullback(*data(5))
    y[:] = 7.0
    try:
        found = back(weights)[0]
    except adc.errors.AdcError:
        return
    np.testing.assert_array_equal(found, expected)


SHIFTS = st.tuples(*[st.integers(-2, 2)] * 4)
ABOVE_ZERO = ["range(2, n - 2)", "range(2, n - 2, 2)", "range(3, n - 2, 3)", "range(n - 3, 1, -1)"]
# With subscripts that count from the end.
FROM_BELOW = ["range(-3, n - 3)", "range(n - 4, -4, -1)", "range(k, n - 2)"]
LOOPS = st.sampled_from(ABOVE_ZERO + FROM_BELOW)
RANGES = ["range(i - 1, i + 2)", "range(2, i + 1)", "range(i, n - 2)", "range(i - 1, 1, -1)"]


@given(SHIFTS, SHIFTS, LOOPS, st.sampled_from(RANGES) | LOOPS, st.booleans(), st.booleans())
@settings(max_examples=14, deadline=None)
def test_any_distances(
    read: tuple[int, ...], other: tuple[int, ...], outer: str, inner: str, crossed: bool, late: bool
) -> None:
    """Forward and reverse mode agree, wherever elements are read that are written before or later."""
    a, b, c, d = read
    p, q, r, s = other
    at = f"j + {r}, i + {s}" if crossed else f"i + {r}, j + {s}"
    after = f"u[i + {p}, 2] = 0.5 * u[i, 3] * u[i + {q}, j]" if late else "pass"
    text = f"""
def program(u0, n, k):
    u = np.outer(u0, u0)
    for i in {outer}:
        for j in {inner}:
            h = math.sin(u[i + {a}, j + {b}] * u[i + {c}, j + {d}]) + 0.1 * u[i + {p}, j + {q}] ** 2
            u[{at}] = math.exp(-h * h)
            {after}
    return np.sum(u * u)
"""
    name = f"<elsewhere {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np, "math": math}
    exec(compile(text, name, "exec"), names)
    f = jit_grad(names["program"])
    u0, v = np.random.default_rng(1).random((2, 10))
    value, gradient = f.value_and_grad(u0, 8, -2)
    _, along = f.jvp((u0, 8, -2), (v, None, None))
    assert value == pytest.approx(names["program"](u0, 8, -2), rel=1e-12)
    assert np.dot(gradient, v) == pytest.approx(along, rel=1e-9, abs=1e-12)


def test_subscripts_that_count_from_the_end() -> None:
    """``a[-4]`` is the first of four elements; in time loops ``u[t - 3]`` comes round to what is read elsewhere."""

    def constant(a, x):  # type: ignore[no-untyped-def]
        x = math.sin(x + a[0])
        y = math.sin(x + 0.1 * np.min(a)) ** 3
        a[-4] = x
        return x + 0.2 * y - 0.3 * a[2]

    def steps(a, x):  # type: ignore[no-untyped-def]
        for t in range(3):
            x = math.sin(x * a[t + 1]) + a[0] * x
            a[t - 3] = x * a[t + 1]
        return x * a[1] + a[3]

    for function in (constant, steps):
        made = adc.jit_grad(argnums=(0, 1))(function)
        a, da, dx = np.array([0.9, -0.4, 0.1, -0.7]), np.array([1.0, -2.0, 0.5, 3.0]), 0.7
        ends = [function(a + s * da, 0.3 + s * dx) for s in (1e-6, -1e-6)]
        tangent = made.jvp((a.copy(), 0.3), (da, dx))[1]
        assert tangent == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)
        for by_a, by_x in (made.value_and_grad(a.copy(), 0.3)[1], made.pullback(a.copy(), 0.3)[1](1.0)):
            assert np.dot(by_a, da) + by_x * dx == pytest.approx(tangent, rel=1e-12)


def test_what_a_function_returned_may_be_changed_by_its_caller() -> None:
    def inverse(x):  # type: ignore[no-untyped-def]
        return 1.0 / x

    def squares(x):  # type: ignore[no-untyped-def]
        u = inverse(x)
        for i in range(len(u)):
            u[i] = u[i] * u[i]
        return np.sum(u)

    x = np.array([0.5, 2.0, -1.25])
    found = jit_grad(lambda x: adc.grad(squares)(x))(x)
    np.testing.assert_allclose(found, -2.0 / x**3, rtol=1e-13)
