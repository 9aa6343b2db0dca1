"""Difficult memory: overlapping arguments and views that are swapped, stored into and passed to functions."""

from __future__ import annotations

import numpy as np
import pytest

from adc import prange
from tests.programs.harness import check

RNG = np.random.default_rng(3)
A, B, C = (RNG.uniform(0.5, 1.5, n) for n in (7, 7, 10))
LINE = np.arange(30.0) * 0.05 + 0.3
SQUARE = LINE[:9].reshape(3, 3)


def overlapping_lines(a, b):
    for i in range(1, len(a) - 1):
        a[i] = b[i - 1] * b[i + 1] + a[i] * 0.3
    b[1:] *= a[:-1]
    total = np.sum(a * b)
    for i in range(len(a)):
        b[i] = a[len(a) - 1 - i] * total * 0.1
    return total + np.sum(a) * b[2]


def overlapping_squares(a, b):
    for i in range(1, 3):
        for j in range(1, 3):
            a[i, j] = a[i - 1, j] * b[i, j - 1] + b[i - 1, j - 1]
    for k in range(2):
        a[k] = b[k + 1] * a[k + 1]
        b[:, k] = a[:, k] * b[:, k + 1]
    return np.sum(a * b)


def store_into(target, source, k):
    target[:] = source * target
    source[k] = target[0] * 2.0
    return target[1:]


def stored_into_each_other(a, b, k):
    v = store_into(a, b, k)
    w = store_into(v, b[1:], k)
    w[0] *= 3.0
    for i in range(3):
        v = store_into(a, b, i)
        if i == 1:
            v = store_into(b, a, i)
        v[i] = v[i] * w[i] * 0.1
    return np.sum(a * b)


def windows_swapped(a, n):
    u, v, w = a[0:5], a[2:7], a[5:]
    for _ in range(n):
        for i in range(1, 5):
            v[i] = u[i - 1] * w[i] + 0.3 * v[i]
        u, v, w = v, w, u
    return np.sum(u * v * w) + np.sum(a)


def views_turned_round(a, n):
    u, v = a[::2], a[1::2]
    for _ in range(n):
        for i in range(1, len(u)):
            v[i] = u[i - 1] * u[i]
        u, v = v[::-1], u
    return np.sum(u * v)


def of_different_lengths(a, b, n):
    u, v = a, b
    total = 0.0
    for _ in range(n):
        for i in range(1, len(u) - 1):
            u[i] = u[i - 1] * u[i + 1] + v[0]
        total += u[-1] * v[-1] + len(u)
        u, v = v, u
    return total + np.sum(a) * np.sum(b)


def swapped_by(u, v, n):
    for _ in range(n):
        for i in range(len(u)):
            v[i] = u[i] * v[i]
        u, v = v, u
    if n > 1:
        return v, u
    return u, v


def swapped_by_a_callee(a, b, n):
    p, q = swapped_by(a, b, n)
    for k in range(3):
        p, q = swapped_by(q, p, k)
        p[k] *= q[0]
    r, s = swapped_by(p, p, 1)
    r[0] += s[1] * s[1]
    return np.sum(a * b) + np.sum(p) * q[1]


def new_or_old(x, c, n):
    u = x
    for k in range(n):
        if u[0] * c > 1.0:
            u = u * 0.5
        else:
            u[k] = u[k] * 1.5
        v = u[1:]
        v *= c * 0.5
    return np.sum(u) + np.sum(x * x)


def private_swaps(x, n):
    y = np.zeros(len(x))
    for i in prange(len(x)):
        u = np.zeros(4)
        v = np.zeros(4)
        for k in range(4):
            u[k] = x[i] * k
        for t in range(n):
            for _ in range(2):
                for k in range(1, 4):
                    v[k] = u[k - 1] * x[i] + 0.1 * u[k]
                u, v = v, u
            if t % 2 == 1:
                u, v = v, u
        y[i] = np.sum(u * v) + u[2]
    return np.sum(y * y)


def two_pairs(x, n):
    a, b, c, d = x.copy(), x * 2, x * x, x + 1
    for k in range(n):
        for _ in range(k + 1):
            for i in range(len(x)):
                b[i] = a[i] * c[i] * 0.3
                d[i] = c[i] * 0.5 + b[i] * 0.1
            a, b = b, a
            c, d = d, c
        a, c = c, a
        if k == 1:
            b, d = d, b
            a, b = b, a
    return np.sum(a * b + c * d * a)


def swaps_at_each_level(x, n):
    u, v = x.copy(), x * 0.5
    for k in range(n):
        j = 0
        while j <= k:
            for _ in range(j):
                for i in range(1, len(x)):
                    v[i] = u[i - 1] * v[i] + 0.1
                u, v = v, u
            j += 1
            u, v = v, u
        u[0] += v[1]
    return np.sum(u * v)


PROGRAMS = {
    overlapping_lines: [(LINE[:7], LINE[3:10]), (LINE[3:10], LINE[6::-1])],
    overlapping_squares: [(SQUARE, LINE[2:11].reshape(3, 3)), (SQUARE, SQUARE.T)],
    stored_into_each_other: [(A, A, 3), (LINE[:7], LINE[2:9], 1)],
    windows_swapped: [(C, 3), (C, 0)],
    views_turned_round: [(C, 2), (C, 3)],
    of_different_lengths: [(C, A[:4], 3), (C, A[:1], 2)],
    swapped_by_a_callee: [(A, B, 2), (A, A, 2)],
    new_or_old: [(A, 2.0, 4), (A, 0.1, 3)],
    private_swaps: [(A, 3), (A, 0)],
    two_pairs: [(A, 2), (A, 1), (A, 0)],
    swaps_at_each_level: [(A, 3), (A, 1)],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    check(program, *PROGRAMS[program], pullback=True, step=0.1)


def limited(a, b):
    if a * b <= 0.0:
        return 0.0
    return a if abs(a) < abs(b) else b


def limited_slopes(u, slopes):
    for i in range(1, len(u) - 1):
        slopes[i] = limited(u[i] - u[i - 1], u[i + 1] - u[i])
    return np.sum(slopes * slopes * u)


def test_branches_of_a_helper_are_chosen_again() -> None:
    """Which side a helper chose follows from its arguments: no call leaves a record in memory."""
    u = np.array([0.3, 1.1, 1.3, 0.9, 0.2, 0.4, 1.0])
    compiled = check(limited_slopes, (u, np.zeros(7)))
    assert "!adc.record" not in compiled.dump_ir("adjoint")
