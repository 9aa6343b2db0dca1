"""Small arrays become values: no allocation is left, in the function and in its gradient; arrays that must stay in
memory do, with right results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange


def slope(u, s):
    return np.array([s * (u[1] - u[0]), u[0] * (2.0 - u[2]) - u[1], u[0] * u[1] - 0.7 * u[2]])


def runge_kutta(s, steps):
    u, h = np.array([s, 1.0, 0.5]), 0.01
    for _ in range(steps):
        k1 = slope(u, s)
        k2 = slope(u + 0.5 * h * k1, s)
        k3 = slope(u + 0.5 * h * k2, s)
        k4 = slope(u + h * k3, s)
        u = u + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum(u * u)


def in_place(a, steps):
    x, v = np.array([a, 0.0, 1.0]), np.zeros(3)
    for _ in range(steps):
        v -= 0.1 * x * np.sum(x * x)
        x[0] += 0.1 * v[0]
        x[1:] += 0.1 * v[1:]
    return x[0] * x[1] + v[2]


def slices(e, steps):
    y = np.array([1.0 - e, 0.0, 0.0, math.sqrt((1 + e) / (1 - e))])
    for _ in range(steps):
        position, velocity = y[:2], y[2:]
        velocity -= 0.01 * position / np.sum(position * position) ** 1.5
        position += 0.01 * velocity
    return y[0] + y[1] * y[2]


def rotations(angle, points):
    c, s, total = math.cos(angle), math.sin(angle), 0.0
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    turn = turn @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    for i in prange(points.shape[0]):
        p = turn @ np.array([points[i, 0], points[i, 1], points[i, 2]])
        total += np.sum(p * p * p)
    return total


def quaternion(w, points):
    q = np.array([w, 0.2, -0.3, 0.5])
    q, total = q / np.sqrt(np.sum(q * q)), 0.0
    for i in range(points.shape[0]):
        p = np.array([points[i, 0], points[i, 1], points[i, 2]])
        t = 2.0 * np.cross(q[1:], p)
        total += np.sum((p + q[0] * t + np.cross(q[1:], t)) ** 3)
    return total


def in_a_tuple(a, steps):
    state = (np.array([a, 1.0]), np.array([0.5, a * a]))
    for _ in range(steps):
        x, v = state
        state = (x + 0.1 * v, v - 0.1 * np.sin(x))
    return state[0][0] * state[1][1]


@dataclass
class State:
    x: np.ndarray
    t: float


def in_an_object(a, steps):
    s = State(np.array([a, 1.0, 2.0]), 0.0)
    for _ in range(steps):
        s = State(s.x + 0.1 * np.sin(s.x) * s.t, s.t + 0.1)
    return s.x[0] * s.x[2] + s.t


def in_a_list(a, steps):
    xs = [np.array([a, 1.0]), np.array([2.0, a * a])]
    for _ in range(steps):
        xs[0] = xs[0] + 0.1 * xs[1]
        xs[1] = xs[1] - 0.1 * xs[0]
    return xs[0][0] * xs[1][1]


def chosen(a, steps):
    x, y = np.array([a, 0.2]), np.array([0.2, a * a])
    for k in range(steps):
        z = x if x[0] > y[1] else y
        if k % 3 == 0:
            x = 0.5 * z + 0.1 * np.cos(x)
        else:
            y = z * y * 0.5
    return np.sum(x * y)


def swapped(a, steps):
    x, y = np.array([a, 0.8, 1.0]), np.zeros(3)
    for _ in range(steps):
        for i in range(3):
            y[i] = 0.5 * x[i] + 0.25 * x[(i + 1) % 3] * x[i]
        x, y = y, x
    return np.sum(x * x) + y[0]


def two_names(a, steps):
    x = np.array([a, 2.0])
    y = x
    for _ in range(steps):
        x[0] += 0.1 * y[1]
        y[1] += 0.1 * x[0]
    return x[0] * y[1]


def until(a, most):
    x = np.array([a, 2.0, 3.0])
    while np.sum(x * x) < most:
        x = x * 1.1 + 0.01 * x[0]
    return x[0] * x[1]


def left_early(a, steps):
    x = np.array([a, 1.0])
    for _ in range(steps):
        x = x + 0.1 * x * x[0]
        if x[0] > 3.0:
            return x[1]
    return x[0]


def three_rows(a, steps):
    m = np.zeros((3, 2))
    for i in range(3):
        for j in range(2):
            m[i, j] = a * i + j
    for _ in range(steps):
        for i in range(3):
            for j in range(i % 2, 2):
                m[i, j] += 0.1 * m[(i + 1) % 3, 1 - j] * a
    return np.sum(m * m)


def new_each_time(a, steps):
    x = np.empty(3)
    x[0], x[1], x[2] = a, 2 * a, 1.0
    for _ in range(steps):
        y = np.empty(3)
        y[0] = x[1]
        y[1] = x[2] * a
        y[2] = x[0] + 1.0
        x = y
    return np.sum(x * x)


def backwards(a, steps):
    x = np.array([a, 2.0, 3.0])
    for _ in range(steps):
        x = x[::-1].copy() * 0.5 + a
    return x[0] * x[1] - x[2]


def shapes(a, steps):
    m = 0.5 * np.array([a, 1.0, 0.5, -0.2, a * a, 0.3]).reshape(2, 3)
    total = 0.0
    for _ in range(steps):
        t = m.T.copy()
        square = m @ t
        m = np.cos(t.reshape(2, 3)) + 0.1 * m[::-1, ::-1] * np.sin(np.trace(square))
        m[1] = 0.5 * m[0, ::-1]
        total += np.sum(np.diag(square)) + m.ravel()[4]
    return total


def joined(a, steps):
    y = np.array([a, 0.1, 0.2, 1.0])
    for _ in range(steps):
        y = y + 0.1 * np.concatenate((y[2:], -y[:2] / (0.5 + np.sum(y[:2] ** 2))))
        y = np.append(y[1:], 0.3 * np.cumsum(y)[2])
    return y[0] * y[1] + np.sum(y[:3])


def cross(p, q):
    return np.array([p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]])


def unit(p):
    return p / np.sqrt(np.sum(p * p))


def called(a, b):
    """Calls outside of loops stay calls."""
    p, q = np.array([a, b, 1.0]), np.array([b * b, 0.3, a])
    r = unit(cross(p, cross(unit(p), q)))
    return r[0] + r[1] * q[2]


def smallest_first(p):
    if p[0] > p[1]:
        return np.array([p[1], p[0]])
    return 1.0 * p


def called_in_branches(a, steps):
    p = np.array([a, 0.2])
    q = smallest_first(p)
    for k in range(steps):
        q = q + 0.1 * p[k % 1] * q
    r = smallest_first(q[::-1] * a)
    return r[0] * q[1]


POINTS = np.random.default_rng(0).random((5, 3))
VALUES: dict[Callable[..., Any], tuple[Any, ...]] = {
    **dict.fromkeys((runge_kutta, in_place, slices, backwards, shapes, joined), (0.3, 7)),
    **dict.fromkeys((in_a_tuple, in_an_object, in_a_list), (0.3, 7)),
    **dict.fromkeys((chosen, swapped, two_names, three_rows, new_each_time), (0.3, 7)),
    **dict.fromkeys((rotations, quaternion), (0.4, POINTS)),
    called: (0.3, 0.7),
    until: (0.3, 30.0),
    left_early: (0.4, 50),
}


def written_through(a, steps):
    x, y = np.array([a, 0.2]), np.array([0.2, a * a])
    for _ in range(steps):
        z = x if x[0] > y[1] else y
        z[0] += 0.1 * a
        z[1] *= 0.9
    return np.sum(x * y)


def shared_at_first(a, steps):
    x = np.array([a, 2.0])
    y = x
    for _ in range(steps):
        y[0] += a
        y = y * 0.5
    return x[0] * y[1] + y[0]


def looked_at_later(a, steps):
    x = np.array([a, 2.0, 1.0])
    old = x
    for _ in range(steps):
        x[1] = x[0] * old[2]
        old = x
        x = x * 1.1
        x[0] += old[1]
    return np.sum(x * old)


def subscripts_at_run_time(a, places):
    x = np.array([a, 2.0 * a, 3.0])
    for k in range(places.shape[0]):
        x[places[k]] += 0.1 * x[(places[k] + 1) % 3] * a
    return np.sum(x * x)


def summed_in_parallel(a, points):
    total = np.zeros(3)
    for i in prange(points.shape[0]):
        for k in range(3):
            total[k] += a * points[i, k] ** 2
    return total[0] * total[1] + total[2]


def at_a_place(p, k):
    return p[k] * p[k]


def lengths(p):
    return np.sum(p * p) * p


def called_with_places(a, places):
    p = np.array([a, 2.0, 0.5])
    return at_a_place(p, places[0]) + at_a_place(p * a, places[1])


def called_with_two_shapes(a, b):
    p, q = lengths(np.array([a, b])), lengths(np.array([a, 1.0, b]))
    return p[0] * q[2] + lengths(q)[1]


def halved(p, n):
    return p if n == 0 else halved(0.5 * p, n - 1)


def called_by_itself(a, n):
    return halved(np.array([a, a * a]), n)[1]


def too_long(a, steps):
    """Written out, the loop calls too many functions; what else is read in it stays in memory, too."""
    x, y = np.zeros(3), np.array([a, 1.0, 0.5])
    for k in range(30):
        x[k % 3] += math.exp(a / (k + 1.0)) * y[k % 3]
    return x[0] * x[1] / x[2] + steps * y[2]


def twice_in_a_tuple(a, steps):
    x = np.array([a, 1.0])
    pair = (x, x)
    for _ in range(steps):
        pair[0][0] += 0.1 * pair[1][1]
        pair = (pair[1], pair[0])
    return pair[0][0] * x[0]


MEMORY: dict[Callable[..., Any], tuple[Any, ...]] = {
    **dict.fromkeys((written_through, shared_at_first, looked_at_later, twice_in_a_tuple, too_long), (0.3, 5)),
    called_with_places: (0.5, np.array([2, 0])),
    called_with_two_shapes: (0.5, 0.3),
    called_by_itself: (0.5, 3),
    called_in_branches: (0.3, 5),
    subscripts_at_run_time: (0.5, np.array([0, 2, 1, 1, 0])),
    summed_in_parallel: (0.4, POINTS),
}


def agree(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Value, gradient in both modes and by differences, gradient of the gradient; returns the compiled function."""
    compiled = jit_grad(function, threads=2)
    a, *rest = args
    assert compiled(a, *rest) == pytest.approx(function(a, *rest), rel=1e-14)
    found = compiled.grad(a, *rest)
    differences = (function(a + 1e-6, *rest) - function(a - 1e-6, *rest)) / 2e-6
    assert found == pytest.approx(differences, rel=1e-6, abs=1e-8)
    passive = [np.zeros_like(x) if isinstance(x, np.ndarray) and x.dtype == float else None for x in rest]
    passive = [0.0 if isinstance(x, float) else t for x, t in zip(rest, passive, strict=True)]
    assert compiled.jvp(args, (1.0, *passive))[1] == pytest.approx(found, rel=1e-12)
    return compiled


@pytest.mark.parametrize("function", VALUES, ids=lambda f: f.__name__)
def test_values(function: Callable[..., Any]) -> None:
    compiled = agree(function, VALUES[function])
    assert compiled.dump_ir("simplified").count("memref.alloc") == 0
    if function not in (until, left_early):  # these grow their tapes, which are of numbers
        text = compiled.dump_ir("adjoint")
        assert text.count("memref.alloc") == text.count("{adc.tape = true}") and "xmemref" not in text


@pytest.mark.parametrize("function", MEMORY, ids=lambda f: f.__name__)
def test_memory(function: Callable[..., Any]) -> None:
    agree(function, MEMORY[function])


@pytest.mark.parametrize("function", [runge_kutta, in_place, chosen, swapped], ids=lambda f: f.__name__)
def test_second_derivatives(function: Callable[..., Any]) -> None:
    a, steps = VALUES[function]
    first = adc.grad(function)
    differences = (first(a + 1e-5, steps) - first(a - 1e-5, steps)) / 2e-5
    assert adc.grad(first)(a, steps) == pytest.approx(differences, rel=1e-6, abs=1e-8)


def returned(a, steps):
    x = np.array([a, 2.0 * a, 3.0])
    for _ in range(steps):
        x = x + 0.1 * np.sin(x)
    return x


def stored(a, out):
    x = np.array([a, 2.0 * a, 3.0])
    for k in range(out.shape[0]):
        x = x + 0.1 * np.sin(x)
        out[k] = x
    return x, x


def test_arrays_that_leave_the_function() -> None:
    compiled = jit_grad(returned)
    value, back = compiled.pullback(0.3, 5)
    assert np.array_equal(value, returned(0.3, 5))
    assert back(np.ones(3))[0] == pytest.approx(np.sum(returned(0.3 + 1e-6, 5) - returned(0.3 - 1e-6, 5)) / 2e-6)
    found, expected = np.zeros((4, 3)), np.zeros((4, 3))
    first, second = jit_grad(stored)(0.3, found)
    stored(0.3, expected)
    assert np.array_equal(found, expected) and np.array_equal(first, found[-1]) and np.array_equal(second, first)


def test_single_precision() -> None:
    value = np.float32(0.4)
    compiled = jit_grad(in_single_precision)
    assert compiled(value, 6) == in_single_precision(value, 6)
    assert compiled.grad(value, 6) == pytest.approx(compiled.jvp((value, 6), (np.float32(1.0), None))[1], rel=1e-5)


def in_single_precision(a, steps):
    x = np.array([a, 2.0, 3.0], dtype=np.float32)
    for _ in range(steps):
        x = x + np.float32(0.1) * x * x[0]
    return np.sum(x * x)


# Arguments -----------------------------------------------------------------------------------------------------------


def from_the_caller(u, s, steps):
    for _ in range(steps):
        u = u + 0.01 * slope(u, s)
    return np.sum(u * u)


def from_a_copy(u, s, steps):
    u = u.copy()
    for _ in range(steps):
        u += 0.01 * slope(u, s)
    return np.sum(u * u)


def two_of_them(u, s, steps):
    v = 0.5 * u
    for _ in range(steps):
        v = v + 0.1 * slope(u, s)
        u = u + 0.1 * v
    return np.sum(u * v)


@pytest.mark.parametrize("function", [from_the_caller, from_a_copy, two_of_them], ids=lambda f: f.__name__)
def test_arguments(function: Callable[..., Any]) -> None:
    """Of the extent that the function is for, and of others: Python's errors, or its values if there are no steps."""
    compiled = jit_grad(function)
    u = np.array([1.0, 2.0, 3.0])
    assert compiled(u, 1.3, 5) == pytest.approx(function(u, 1.3, 5), rel=1e-14)
    found = compiled.grad(u, 1.3, 5)
    for k, e in enumerate(np.eye(3)):
        differences = (function(u + 1e-6 * e, 1.3, 5) - function(u - 1e-6 * e, 1.3, 5)) / 2e-6
        assert found[k] == pytest.approx(differences, rel=1e-6)
    fast = compiled.dump_ir("simplified").split("} else {")[0]
    assert "memref.alloc" not in fast and "-> (f64, f64, f64" in fast
    for n in (0, 1, 2, 4):
        other = np.arange(1.0, n + 1.0)
        assert compiled(other, 1.3, 0) == function(other, 1.3, 0)
        expected: type[Exception] = IndexError if n < 3 else ValueError
        for run in (function, compiled, compiled.grad):
            with pytest.raises(expected):
                run(other, 1.3, 5)


def handed_back(u, steps):
    for _ in range(steps):
        u = u + 0.1 * np.array([u[1], u[0]])
    return u


def test_an_argument_that_is_the_result() -> None:
    compiled, u = jit_grad(handed_back), np.array([1.0, 2.0])
    assert compiled(u, 0) is u
    assert np.array_equal(compiled(u, 4), handed_back(u, 4))
