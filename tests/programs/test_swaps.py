"""Swapped buffers: in nested time loops, under branches, in while loops, more than two of them."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.programs.harness import check

U = np.random.default_rng(5).uniform(0.5, 1.5, 9)
V = np.random.default_rng(6).uniform(0.5, 1.5, 9)
W = np.random.default_rng(7).uniform(0.5, 1.5, 9)


def nested(x, m, n):
    u = x.copy()
    v = x.copy()
    for _ in range(m):
        for _ in range(n):
            for i in range(1, len(u) - 1):
                v[i] = u[i] + 0.1 * (u[i - 1] * u[i + 1] - u[i])
            u, v = v, u
        u[0] = u[0] * u[1]
    return np.sum(u * u)


def thrice_nested(x, m, n):
    u = x.copy()
    v = 2.0 * x
    total = 0.0
    for a in range(m):
        for b in range(n):
            for c in range(b + 1):
                for i in range(1, len(u) - 1):
                    v[i] = np.sin(u[i - 1]) * u[i + 1]
                u, v = v, u
            total += u[2] * v[3]
        v[1] *= u[1]
    return total + np.sum(u) + v[4]


def leapfrog(x, m, n):
    a = x.copy()
    b = x * x
    c = np.zeros(len(x))
    for _ in range(m):
        for _ in range(n):
            for i in range(1, len(a) - 1):
                c[i] = 2.0 * b[i] - a[i] + 0.1 * b[i] * (b[i - 1] - 2.0 * b[i] + b[i + 1])
            a, b, c = b, c, a
        b[0] = 0.5 * b[1]
    return np.sum(b * c) + a[1]


def swapped_in_a_branch(x, n):
    u = x.copy()
    v = 2.0 * x
    for t in range(n):
        for i in range(1, len(u) - 1):
            v[i] = u[i] * u[i - 1] + 0.1 * v[i]
        if t % 3 != 1:
            u, v = v, u
    return np.sum(u * v)


def in_a_branch(x, m, n):
    u = x.copy()
    v = 2.0 * x
    for t in range(m):
        for i in range(1, len(u) - 1):
            v[i] = u[i] * u[i - 1] + 0.1 * v[i]
        if t % 3 != n:
            u, v = v, u
        for i in range(1, len(u) - 1):
            v[i] *= u[i] * 0.7
    return np.sum(u * v)


def swapped_if_it_is_less(x, n):
    u = x.copy()
    v = 1.1 * x
    for _ in range(n):
        for i in range(len(u)):
            v[i] = v[i] * u[i] * 0.8
        if u[0] > v[1]:
            u, v = v, u
    return np.sum(u * v) + u[0] * v[1] * v[1]


def swapped_unchanged(x, y, n):
    """What decides on the swap is never written, so that it could be loaded again, if one knew where."""
    u, v = x, y
    total = 0.0
    for t in range(n):
        if u[0] < v[0] or t == 2:
            u, v = v, u
        total += u[1] * u[1] * v[2]
    return total


def until_small(x, n):
    u = x.copy()
    v = x.copy()
    for _ in range(n):
        change = 1.0
        while change > 0.2:
            change = 0.0
            for i in range(1, len(u) - 1):
                v[i] = 0.5 * (u[i - 1] * u[i + 1]) + 0.3 * u[i]
                change += (v[i] - u[i]) ** 2
            u, v = v, u
        u[3] += 1.0
        v[0] = u[0]
    return np.sum(u * u)


def inner_branch(x, m, n):
    """The permutation of the inner loop is known only inside."""
    u = x.copy()
    v = 0.5 * x
    for _ in range(m):
        for t in range(n):
            for i in range(len(u)):
                v[i] = u[i] * u[i] * 0.6 + 0.2 * v[i]
            if v[2] > 0.3:
                u, v = v, u
        u[1] *= v[2]
    return np.sum(u * v)


def old_names(x, m, n):
    """What went into the inner loop is used after it."""
    u = x.copy()
    v = 0.5 * x
    total = 0.0
    for _ in range(m):
        a, b = u, v
        for _ in range(n):
            for i in range(len(u)):
                v[i] = np.cos(u[i]) * v[i]
            u, v = v, u
        total += a[1] * u[2] + a[0] * b[0]
    return total


def two_loops(x, m, n):
    a = x.copy()
    b = x * 0.9
    c = x * 0.8
    for t in range(m):
        for _ in range(n):
            for i in range(len(a)):
                b[i] = a[i] * b[i]
            a, b = b, a
        for _ in range(t):
            for i in range(len(a)):
                c[i] = b[i] * c[i] + 0.1
            b, c = c, b
        a, c = c, a
    return np.sum(a * b) + c[1]


def fresh_each_step(x, n):
    u = x.copy()
    old = x.copy()
    for _ in range(n):
        w = np.empty(len(x))
        for i in range(len(x)):
            w[i] = u[i] * old[i] + 0.1 * u[i - 1]
        u, old = w, u
    return np.sum(u * old)


def one_of_three_lost(x, n):
    """No permutation: in the end two names are of one buffer."""
    a = x.copy()
    b = 2.0 * x
    c = 3.0 * x
    for t in range(n):
        for i in range(len(x)):
            c[i] = a[i] * b[i] * 0.3
        a, b = b, c
    return np.sum(a * b) + c[0]


def same_buffer_twice(x, n):
    u = x.copy()
    v = u
    for _ in range(n):
        for i in range(1, len(u)):
            v[i] = np.sin(u[i - 1]) * u[i]
        u, v = v, u
    return np.sum(u)


@pytest.mark.parametrize(
    "program",
    [nested, thrice_nested, leapfrog, inner_branch, old_names, two_loops, in_a_branch],
    ids=lambda f: f.__name__,
)
def test_nested(program):
    check(program, (U, 2, 3), (U, 3, 2), (U, 1, 1), (U, 0, 2), (U, 2, 0), (U[:5], 2, 1), pullback=True, step=0.2)


@pytest.mark.parametrize(
    "program",
    [swapped_in_a_branch, swapped_if_it_is_less, fresh_each_step, one_of_three_lost, same_buffer_twice],
    ids=lambda f: f.__name__,
)
def test_in_one_loop(program):
    check(program, (U, 5), (U, 1), (U, 0), (U, 2), pullback=True, step=0.2)


def test_while():
    check(until_small, (U, 2), (U, 1), (U, 0), pullback=True, step=0.2)


def test_condition_on_what_is_swapped():
    check(swapped_unchanged, (U, V, 5), (V, U, 4), (U, U[::-1], 3), (W, V, 1), pullback=True, step=0.2)


def stepped(u, v, n):
    for _ in range(n):
        for i in range(1, len(u) - 1):
            v[i] = 0.5 * (u[i - 1] * u[i + 1]) + 0.3 * u[i]
        u, v = v, u
    return u, v


def steps_in_a_callee(x, m, n):
    u = x.copy()
    v = x.copy()
    for _ in range(m):
        u, v = stepped(u, v, n)
        u[0] *= v[1]
    return np.sum(u * v)


def test_in_a_callee():
    check(steps_in_a_callee, (U, 2, 3), (U, 3, 2), (U, 0, 1), (U, 1, 0), pullback=True, step=0.2)


@pytest.mark.parametrize("program", [nested, leapfrog, two_loops, in_a_branch], ids=lambda f: f.__name__)
def test_nested_time_loops_are_parallel_inside_and_keep_no_arrays_on_the_tape(program):
    compiled = adc.jit_grad(program)
    compiled.grad(U, 2, 3)
    report = compiled.dump_ir("plan")
    line = next(text for text in report.splitlines() if " for i: " in text)
    assert "parallel" in line or "threads" in line
    tape = report[report.index("tape:") : report.index("loops of")]
    assert "memref<" not in tape, tape


def leapfrog_in_slices(c, source):
    n = len(c)
    old, u, new = np.zeros(n), np.zeros(n), np.zeros(n)
    total = 0.0
    for t in range(len(source)):
        second = (u[2:] - u[1:-1] * 2.0 + u[:-2]) * c[1:-1]
        first = u[1:-1] * 2.0 - old[1:-1]
        new[1:-1] = first + second
        new[n // 2] = new[n // 2] + source[t]
        total += new[n // 3] ** 2
        old, u, new = u, new, old
    return total


def test_order_of_shadows_is_not_recorded_beside_arrays_of_a_step():
    """Shadows are no memory that a step allocates: going back through the swap costs less than a record of it."""
    source = np.sin(np.arange(6.0))
    check(leapfrog_in_slices, *((0.1 * U[:n], source) for n in (1, 3, 8, 9)))
    made = adc.jit_grad(leapfrog_in_slices)
    made.grad(0.1 * U, source)
    assert "the array itself" not in str(made.report())
