"""Snapshots of whole arrays: values read from an array that is later overwritten are kept as states of the array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from tests.programs.harness import check


def sparse_power(values, first, columns, x0, steps):
    n = x0.shape[0]
    x, y = x0.copy(), np.empty_like(x0)
    for _ in range(steps):
        for i in prange(n):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * x[columns[e]]
            y[i] = math.tanh(s)
        x, y = y, x
    return np.sum(x * x)


def sparse_three(values, first, columns, x0, steps):
    """Three buffers in turn, two of them read."""
    n = x0.shape[0]
    x, y, z = x0.copy(), 0.5 * x0, np.zeros_like(x0)
    for _ in range(steps):
        for i in range(n):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * x[columns[e]] * y[columns[e]]
            z[i] = math.sin(s) + 0.1 * y[i]
        x, y, z = y, z, x
    return np.sum(x * y)


def sparse_new(values, first, columns, x0, steps):
    """Each step makes an array."""
    n = x0.shape[0]
    x = x0
    for _ in range(steps):
        y = np.zeros_like(x0)
        for i in range(n):
            for e in range(first[i], first[i + 1]):
                y[i] += values[e] * x[columns[e]] ** 2
        x = y / (1.0 + np.sum(y * y))
    return np.sum(x * x0)


def sparse_while(values, first, columns, x0, steps):
    """Loops of unknown length, outside and inside."""
    n = x0.shape[0]
    x, y = x0.copy(), np.zeros_like(x0)
    t = 0
    while t < steps and np.sum(x * x) > 1e-9:
        for i in range(n):
            s, e = 0.0, first[i]
            while e < first[i + 1]:
                s += values[e] * x[columns[e]] * x[columns[e]]
                e += 1
            y[i] = math.sin(s) + 0.3 * x[i]
        x[:] = y
        t += 1
    return np.sum(x)


def seidel(values, first, columns, x0, steps):
    """What is read is changed by the same loop: nothing is copied before it."""
    x = x0.copy()
    n = x.shape[0]
    for _ in range(steps):
        for i in range(n):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * x[columns[e]] * x[columns[e]]
            x[i] = 0.5 * x[i] + 0.4 * math.sin(s)
    return np.sum(x * x)


def two_states(values, first, columns, x0, steps):
    """One array, read in two states in a step."""
    n = x0.shape[0]
    x, y = x0.copy(), np.zeros_like(x0)
    for _ in range(steps):
        for i in range(n):
            y[i] = 0.0
            for e in range(first[i], first[i + 1]):
                y[i] += values[e] * x[columns[e]] * x[columns[e]]
        for i in range(n):
            x[i] = math.sin(y[i]) + 0.2 * x[i]
        for i in range(n):
            y[i] = 0.1
            for e in range(first[i], first[i + 1]):
                y[i] += values[e] * math.cos(x[columns[e]] * values[e])
        for i in range(n):
            x[i] = 0.7 * y[i]
    return np.sum(x * x)


def partly(values, first, columns, x0, steps):
    """Some elements change between two readings."""
    n = x0.shape[0]
    x, y = x0.copy(), np.zeros_like(x0)
    for t in range(steps):
        for i in range(n):
            for e in range(first[i], first[i + 1]):
                y[i] += values[e] * x[columns[e]] * x[columns[e]]
        x[t % n] = 0.3 * y[(t + 1) % n]
        for i in range(n):
            for e in range(first[i], first[i + 1]):
                y[i] += values[e] * math.sin(x[columns[e]])
        for i in range(n):
            x[i] = 0.4 * math.tanh(y[i]) + 0.1 * x[i]
    return np.sum(x * y)


def multiply(values, first, columns, x, y):
    for i in range(y.shape[0]):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        y[i] = math.tanh(s) + 0.1 * x[i] * x[i]


def called(values, first, columns, x0, steps):
    x, y = x0.copy(), np.zeros_like(x0)
    for _ in range(steps):
        multiply(values, first, columns, x, y)
        multiply(values, first, columns, y, x)
    return np.sum(x * y)


def nested(values, first, columns, x0, steps):
    """A time loop in a time loop; the inner ends at what the outer counts."""
    n = x0.shape[0]
    x, y = x0.copy(), np.zeros_like(x0)
    total = 0.0
    for t in range(steps):
        for _ in range(t):
            for i in range(n):
                s = 0.0
                for e in range(first[i], first[i + 1]):
                    s += values[e] * x[columns[e]] * x[columns[e]]
                y[i] = math.sin(s) + 0.3 * x[i]
            x, y = y, x
        total += x[0] * x[n - 1]
        x[0] += 0.1 * t
    return total + np.sum(x)


def aliased(values, first, columns, x0, steps):
    """Views of one array are read and written."""
    n = x0.shape[0] // 2
    x = x0.copy()
    low, high = x[:n], x[n : 2 * n]
    for _ in range(steps):
        for i in range(n):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * low[columns[e] % n] * x[columns[e]]
            high[i] = math.sin(s) + 0.1 * s
        for i in range(n):
            low[i] = 0.5 * high[n - 1 - i] + 0.1 * low[i]
    return np.sum(x * x)


def sometimes(values, first, columns, x0, steps):
    n = x0.shape[0]
    x, y = x0.copy(), np.zeros_like(x0)
    for t in range(steps):
        if t % 2 == 0:
            for i in range(n):
                s = 0.0
                for e in range(first[i], first[i + 1]):
                    s += values[e] * x[columns[e]] * x[columns[e]]
                y[i] = s
        for i in range(n):
            x[i] = 0.5 * math.sin(y[i]) + 0.2 * x[i] * x[i]
    return np.sum(x)


def edges(k, a, b, u0, steps):
    """Diffusion that depends on what diffuses, edge by edge."""
    u = u0.copy()
    for _ in range(steps):
        change = np.zeros_like(u)
        for e in range(a.shape[0]):
            flow = k[e] * (u[a[e]] - u[b[e]]) * (1.0 + u[a[e]] * u[b[e]])
            change[a[e]] -= flow
            change[b[e]] += flow
        for i in range(u.shape[0]):
            u[i] += 0.1 * change[i]
    return np.sum(u * u)


def ranks(k, a, b, u0, steps):
    """PageRank, with what goes out of a page divided by how much that is."""
    n = u0.shape[0]
    out = np.zeros_like(u0)
    for e in range(a.shape[0]):
        out[a[e]] += k[e] * k[e] + 0.1
    rank = u0 / np.sum(u0)
    for _ in range(steps):
        new = np.full_like(rank, 0.15 / n)
        for e in range(a.shape[0]):
            new[b[e]] += 0.85 * rank[a[e]] * (k[e] * k[e] + 0.1) / out[a[e]]
        rank = new
    return np.sum(rank * u0)


def messages(k, a, b, u0, steps):
    """A network on a graph: rows are looked up."""
    h = np.outer(u0, np.array([1.0, 0.5, -0.3]))
    for _ in range(steps):
        got = np.zeros_like(h)
        for e in range(a.shape[0]):
            for c in range(3):
                got[b[e], c] += k[e] * h[a[e], c] * h[b[e], 2 - c]
        h = np.tanh(h + got)
    return np.sum(h * h)


def message_rows(k, a, b, u0, steps):
    """The same in statements about rows."""
    h = np.outer(u0, np.array([1.0, 0.5, -0.3]))
    for _ in range(steps):
        got = np.zeros_like(h)
        for e in range(a.shape[0]):
            got[b[e]] += k[e] * h[a[e]] * h[b[e], ::-1]
        h = np.tanh(h + got)
    return np.sum(h * h)


def table(k, a, b, u0, steps):
    """Interpolation in a table that changes each step."""
    n = u0.shape[0]
    t = np.cumsum(u0)
    total = 0.0
    for s in range(steps):
        for e in range(k.shape[0]):
            x = (0.5 + 0.4 * np.sin(k[e])) * (n - 1)
            j = int(x)
            f = x - j
            if j + 1 < n:
                total += ((1.0 - f) * t[j] + f * t[j + 1]) * t[(a[e] + s) % n]
        for i in range(n):
            t[i] = 0.9 * t[i] + 0.01 * total * i
    return total


def lattice(k, a, b, u0, steps):
    """Lattice Boltzmann in one dimension: collisions, and streaming on a ring."""
    n = u0.shape[0]
    f = np.outer(np.array([0.3, 0.4, 0.3]), u0)
    new = np.zeros_like(f)
    for _ in range(steps):
        for i in range(n):
            rho, flow = 0.0, 0.0
            for c in range(3):
                rho += f[c, (i - c + 1) % n]
                flow += (c - 1) * f[c, (i - c + 1) % n]
            u = flow / rho
            for c in range(3):
                w = 0.25 + 0.25 * (c == 1)
                equal = w * rho * (1.0 + 2.0 * (c - 1) * u + 0.5 * u * u)
                new[c, i] = f[c, (i - c + 1) % n] * 0.4 + 0.6 * equal
        f, new = new, f
    return np.sum(f[0] * f[2])


def dense(k, a, b, u0, steps):
    """Each element is read by all."""
    n = u0.shape[0]
    w = np.outer(u0, u0[::-1]) * 0.3
    x = u0.copy()
    for _ in range(steps):
        y = np.zeros_like(x)
        for i in range(n):
            for j in range(n):
                y[i] += w[i, j] * x[j] * x[i]
        x = np.sin(y) + 0.1 * x
    return np.sum(x)


def learning(k, a, b, u0, steps):
    """A few weights are looked up and changed in each step: no reason to copy all of them."""
    w = u0.copy()
    loss = 0.0
    for s in range(steps):
        z, r = 0.0, 0.0
        for e in range(s, min(s + 2, a.shape[0])):
            z += k[e] * w[a[e]] * w[b[e]]
            r += w[a[e]] * np.sin(w[b[e]])
        g = 1.0 / (1.0 + np.exp(-z)) + 0.1 * r
        loss += g * g
        for e in range(s, min(s + 2, a.shape[0])):
            w[a[e]] -= 0.1 * g * k[e] * w[b[e]] * w[a[e]]
    return loss + np.sum(w)


def blocks(values, first, columns, x0, steps):
    """Block by block: each looks up some elements, and changes its own."""
    n = x0.shape[0]
    x, y = x0.copy(), np.zeros_like(x0)
    for t in range(steps):
        low, high = t % n, min(t % n + 2, n)
        for i in range(low, high):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * x[columns[e]] * x[columns[e]]
            y[i] = s
        for i in range(low, high):
            x[i] = 0.5 * x[i] + math.tanh(y[i])
    return np.sum(x * x)


def padded(values, first, columns, x0, steps):
    """Subscripts that are no subscripts, and not used as such: each is checked when it is."""
    n = x0.shape[0]
    x, y = x0.copy(), np.zeros_like(x0)
    for _ in range(steps):
        for i in range(n):
            s = 0.2 * x[i] * x[n - 1 - i]
            for e in range(first[i], first[i + 1]):
                if columns[e] % 3 != 0:
                    s += values[e] * x[columns[e] - 1] * x[columns[e] - 1]
            y[i] = math.tanh(s) + 0.3 * x[i]
        x, y = y, x
    return np.sum(x * x)


PROGRAMS = [
    sparse_power,
    sparse_three,
    sparse_new,
    sparse_while,
    seidel,
    two_states,
    partly,
    called,
    nested,
    aliased,
    sometimes,
    blocks,
]
NETS = [edges, ranks, messages, message_rows, table, lattice, dense, learning]


def graph(n, row, steps=3, seed=3):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, row + 1, n)
    first = np.concatenate([[0], np.cumsum(lengths)])
    m = int(first[-1])
    columns = rng.integers(0, max(n, 1), m)
    return rng.standard_normal(m) * 0.3, first, columns, rng.random(n) + 0.2, steps


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_sparse(function: Callable[..., Any]) -> None:
    check(function, graph(7, 4), graph(2, 2), graph(4, 2, 0))


def test_subscripts_out_of_range() -> None:
    values, first, columns, x0, steps = graph(6, 4)
    check(padded, (values, first, np.where(columns % 2 == 0, 3 * 10**6, columns), x0, steps))
    check(padded, (values, first, columns, x0, steps))
    columns[-1] = 1000
    for function in (sparse_power, two_states):
        with pytest.raises(IndexError):
            jit_grad(argnums=(0, 3))(function).grad(values, first, columns, x0, steps)


def net(n, m, steps=3, seed=4):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, max(n, 1), (2, m))
    return rng.standard_normal(m) * 0.4, a, b, rng.random(n) + 0.2, steps


@pytest.mark.parametrize("function", NETS, ids=lambda f: f.__name__)
def test_nets(function: Callable[..., Any]) -> None:
    check(function, net(7, 12), net(2, 3), net(5, 4, 0), net(4, 0))


def test_in_single_precision_and_by_pullback() -> None:
    check(sparse_power, graph(6, 3), single=True, pullback=True)
    check(messages, net(6, 8), pullback=True)


def kept(function: Callable[..., Any], *args: Any) -> str:
    """What the plan says of the tape, of the loops that run when all is in range."""
    f = jit_grad(argnums=(0, 3))(function)
    f.grad(*args)
    text = f.dump_ir("plan")
    tape = text[text.index("\ntape") + 1 :].split("\n\n")[0].splitlines()
    return "\n".join(line for line in tape if "one by one" not in line)


STATES = [
    (sparse_power, "x"),
    (sparse_three, "x"),
    (sparse_three, "y"),
    (sparse_new, "x"),
    (sparse_while, "x"),
    (nested, "x"),
    (called, "y"),
    (edges, "u"),
    (messages, "h"),
    (message_rows, "h"),
    (table, "t"),
    (dense, "x"),
]


@pytest.mark.parametrize(("function", "name"), STATES, ids=lambda v: getattr(v, "__name__", v))
def test_states_are_kept_in_place_of_what_is_looked_up(function: Callable[..., Any], name: str) -> None:
    args = net(7, 12) if function in NETS else graph(7, 4)
    assert f": {name} before the loop: f64, 8 bytes x its elements" in kept(function, *args)


def test_both_states_of_a_step_are_kept() -> None:
    assert kept(two_states, *graph(7, 4)).count(": x before the loop") == 2
    assert kept(partly, *graph(7, 4)).count(": x before the loop") == 2


def test_nothing_is_copied_that_changes_meanwhile() -> None:
    assert " before the loop" not in kept(seidel, *graph(7, 4))
    assert " before the loop" not in kept(aliased, *graph(7, 4))


def test_few_elements_are_kept_by_themselves() -> None:
    assert " before the loop" not in kept(learning, *net(7, 12))
    assert " before the loop" not in kept(blocks, *graph(7, 4))


def neighbours(values, near, x0, steps):
    x, y = x0.copy(), np.zeros_like(x0)
    for _ in range(steps):
        for i in range(near.shape[0]):
            y[i] = 0.1 * x[i] * x[i]
            for k in range(near.shape[1]):
                y[i] += values[i, k] * x[near[i, k]] * x[i]
        x, y = y, x
    return np.sum(x)


def test_tape_has_the_size_of_the_states() -> None:
    """Also where subscripts are checked one by one, so that it is known before the program runs."""
    rng = np.random.default_rng(2)
    n, row, steps = 300, 16, 50
    first, columns = np.arange(0, n * row + 1, row), rng.integers(0, n, n * row)
    taken = jit_grad(argnums=(0, 2))(neighbours).grad.forecast(
        rng.random((n, row)), rng.integers(0, n, (n, row)), rng.random(n), steps
    )
    assert 8 * n * steps <= taken.peak < 2 * 8 * n * steps
    args = rng.random(n * row), first, columns, rng.random(n), steps
    taken = jit_grad(argnums=(0, 3))(sparse_power).grad.forecast(*args)
    assert 2 * 8 * n * steps <= taken.peak < 5 * 8 * n * steps


def test_memory_of_sparse_products() -> None:
    rng = np.random.default_rng(2)
    n, row, steps = 60, 4, 40
    first, columns = np.arange(0, n * row + 1, row), rng.integers(0, n, n * row)
    args = rng.random(n * row) / row, first, columns, rng.random(n), steps
    small = jit_grad(argnums=(0, 3), memory=16000)(sparse_power)
    assert small.grad.forecast(*args).peak <= 16000
    for x, y in zip(jit_grad(argnums=(0, 3))(sparse_power).grad(*args), small.grad(*args), strict=True):
        np.testing.assert_array_equal(x, y)


def test_neighbours() -> None:
    n, row = 5, 3
    rng = np.random.default_rng(2)
    args = rng.random((n, row)) / row, rng.integers(0, n, (n, row)), rng.random(n), 3
    check(neighbours, args)
    f = jit_grad(argnums=(0, 2))(neighbours)
    f.grad(*args)
    assert "tape: 1 value stored: x before the loop" in str(f.report())


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (sparse_power, {"checkpoint": adc.revolve(2)}),
        (sparse_while, {"checkpoint": adc.revolve(2)}),
        (two_states, {"memory": 6000}),
    ],
    ids=["revolve", "while", "memory"],
)
def test_schedules(function: Callable[..., Any], way: dict[str, Any]) -> None:
    args = graph(6, 3, 5)
    plain, scheduled = jit_grad(argnums=(0, 3))(function), jit_grad(argnums=(0, 3), **way)(function)
    for x, y in zip(plain.grad(*args), scheduled.grad(*args), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("function", [sparse_power, two_states, messages], ids=lambda f: f.__name__)
def test_second_derivatives(function: Callable[..., Any]) -> None:
    args = net(5, 6) if function in NETS else graph(5, 3)

    def slope(x):
        return adc.grad(function, argnums=3)(*args[:3], x, *args[4:])

    v = np.random.default_rng(1).standard_normal(args[3].shape)
    h = 1e-5
    expected = (slope(args[3] + h * v) - slope(args[3] - h * v)) / (2 * h)
    f = lambda x: function(*args[:3], x, *args[4:])
    found = adc.hvp(f, (args[3],), (v,))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    twice = adc.grad(lambda x: np.sum(adc.grad(f)(x) * v))(args[3])
    np.testing.assert_allclose(twice, expected, rtol=1e-6, atol=1e-8)
