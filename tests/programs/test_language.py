"""Calls, closures, views, aliases, number types, kinks, and non-finite values."""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc
from adc import prange
from tests.programs.harness import check, close, plain

rng = np.random.default_rng(29)
WEIGHTS = rng.normal(size=4)


def scale_in_place(x, a):
    x *= a
    x[0] += a


def calls_that_mutate(x, a):
    scale_in_place(x, a)
    s = np.sum(x * x)
    scale_in_place(x[1:], 0.5 * a)
    scale_in_place(x[::-2], s * 0.01)
    return np.sum(x) * s


def halves(x):
    n = len(x) // 2
    return x[:n], x[n:]


def interior(u):
    return u[1:-1]


def calls_that_return_views(x):
    a, b = halves(x)
    a[:] = a * b
    interior(b)[:] = interior(a) + 1.0
    c = interior(interior(x))
    c *= 2.0
    return np.sum(x * x)


def fresh(x, k):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i - k] * x[i]
    return y


def calls_that_return_arrays(x, n):
    y = x
    for k in range(n):
        y = fresh(y, k) + 0.1 * x
    return y, np.sum(y)


def chosen_array(x, y, flag):
    z = x if flag > 0 else y
    z[0] = z[1] * 2.0
    w = x.copy() if flag > 1 else y
    w *= 0.5
    return np.dot(z, w)


def nested_functions(x, a):
    total = np.zeros(1)

    def add(v, w=2.0):
        total[0] += v * w * a

    def twice(f, v):
        f(v)
        f(v * v, w=a)

    for i in range(len(x)):
        twice(add, x[i])
        twice(lambda v, w=1.5: add(v, x[0] * w) if v > 0 else None, x[i])
    return total[0]


def make_potential(k, shift):
    def potential(x):
        return np.sum(k * (x - shift) ** 2 * WEIGHTS)

    return potential


def views_of_views(A):
    B = A.T[1:, ::-1]
    C = B[::2]
    C[:, 0] = C[:, 1] * C[:, -1]
    D = A[1:][:, 1:].T
    D += 0.5 * D * D
    return np.sum(A * A)


def transposes(A, B):
    C = A.T * B + (A * B.T).T
    A[:] = C.T
    return np.sum(C[1] * A[:, 0])


def three_dimensions(T, w):
    n, m, p = T.shape
    S = np.zeros((m, n))
    for i in prange(n):
        for k in range(p):
            S[:, i] += w[k] * T[i, :, k] * T[i, ::-1, -1]
    T[0, 1:, :] *= T[0, :-1, ::-1]
    return np.sum(S * S) + T[0, 1].sum()


def overlapping(x, y):
    for i in range(1, len(y)):
        y[i] = y[i - 1] * x[i] + 0.5 * x[i - 1]
    x[:-1] += y[1:]
    return np.sum(x * y)


def shifted_self(x):
    x[1:] = x[:-1] * 2.0
    x[:-1] = x[1:] * x[:-1]
    x[:] = x[::-1] + x
    x[2:] += x[:-2]
    return np.dot(x, x)


def temporaries(x, n):
    s = 0.0
    for i in range(n):
        t = np.zeros(3)
        for k in range(3):
            t[k] = x[(i + k) % len(x)] ** 2
        if i % 2:
            t2 = t * t
            s += np.sum(np.sin(t2))
        else:
            t[:] = t[::-1] * t[0]
            s -= t[2] * t[1]
        x[i % len(x)] += 0.1 * s
    return s


def memory_of_each_step(x, n):
    """What each step allocates is needed when the steps are reversed."""
    y = np.ones(len(x))
    for _ in range(n):
        y = y * x
        for i in range(len(x)):
            y[i] -= 0.1 * y[i] * y[i - 1]
    return y[0] * y[-1]


def condition_with_effects(x, c):
    """The condition of the loop stores, and computes what is used after the loop."""

    def grow():
        x[0] = x[0] * x[0] + c
        return x[0]

    n, step = 0, 1.0
    while grow() < 3.0 and abs(step) > 1e-6:
        step = step * x[1] * x[0]
        n += 1
    return x[0] * n + step


def powers(x, p):
    s = 0.0
    for i in range(len(x)):
        s += x[i] ** 3 + (x[i] * x[i]) ** p + x[i] ** -2 + 2.0 ** x[i] + x[i] ** 0 + abs(x[i]) ** 0.5 + x[i] ** i
    return s


def divisions(x, n):
    s = 0.0
    for i in range(-n, n + 1):
        j = i // 3 + i % 3 - (-i) // 2
        s += x[j % len(x)] * (i % 4 - (i % -4)) + (x[0] * i) % 1.5 + (x[1] * i) // 0.7 + math.fmod(x[2] * i, 0.9)
    return s


def extremes(x, y):
    s = 0.0
    for i in range(len(x)):
        s += max(x[i], y[i], 0.1) * min(x[i], 2 * y[i]) + abs(x[i] - y[i]) + np.maximum(x[i], y[i]) ** 2
        s += np.clip(x[i], -0.5, 0.5) + math.copysign(x[i], y[i]) + math.floor(x[i]) * y[i] + round(x[i]) * x[i]
    return s + np.max(x * y) - np.min(x + y)


def mixed_types(x, y, n):
    """float32 meets float64 and integers."""
    s = np.float64(0.0)
    for i in range(len(x)):
        a = x[i] * 2 + n
        b = x[i] * y[i]
        s += a * b + x[i] / (i + 1) + y[i] * n // 1 + int(y[i] * 3) * x[i]
    x += y.astype(np.float32)
    return s


def integer_branches(x, k):
    count = 0
    s = 0.0
    for i in range(len(x)):
        if (i & 1 == 0 and x[i] > 0) or not i % 3:
            count += 2 if -0.5 < x[i] < 0.5 else 1
            s += x[i] * count
        elif k >> 1 > i ^ 1:
            s -= x[i] ** 2
        else:
            continue_with = x[i] * 0.5
            s += continue_with
    return s * count


def carried_tuple(x):
    state = (1.0, x[0])
    for i in range(len(x)):
        a, b = state
        state = (a + b * x[i], b * 0.5 + a * x[i])
    return state[0] * state[1]


def not_finite(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * 2 if x[i] > 0 else x[i] + 1
        if not x[i] == x[i]:
            y[i] = -1.0
    y[0] = max(x[0], x[1])
    y[1] = min(x[0], x[1])
    y[2] = np.maximum(x[1], x[2])
    y[3] = abs(x[3]) - np.exp(-x[3])
    return np.sum(np.where(np.isfinite(y), y, 0.0))


def guarded(x):
    """The branch that is not taken would divide by zero."""
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i]) / x[i] if x[i] != 0.0 else 1.0
        s += math.sqrt(x[i]) if x[i] > 0 else 0.0
    return s


def test_calls():
    check(calls_that_mutate, (rng.normal(size=5), 0.7), (rng.normal(size=2), 0.7), single=True)
    check(calls_that_return_views, (rng.normal(size=8),), (rng.normal(size=10),), (rng.normal(size=4),), layouts=True)
    check(calls_that_return_arrays, *((rng.normal(size=4), n) for n in (3, 0, 1)))
    check(chosen_array, *((rng.normal(size=3), rng.normal(size=3), k) for k in (0, 1, 2)))


def test_closures():
    check(nested_functions, (np.array([0.5, -0.3, 0.8]), 0.7), (np.zeros(0), 0.7))
    check(make_potential(0.7, rng.normal(size=4)), (rng.normal(size=4),))
    check(make_potential(rng.normal(size=4), 0.3), (rng.normal(size=4),))


def test_views():
    check(views_of_views, (rng.normal(size=(4, 5)),), (rng.normal(size=(3, 3)),), layouts=True)
    check(
        transposes,
        (rng.normal(size=(3, 4)), rng.normal(size=(4, 3))),
        (rng.normal(size=(2, 2)), rng.normal(size=(2, 2))),
    )
    check(
        three_dimensions,
        (rng.normal(size=(2, 3, 4)), rng.normal(size=4)),
        (rng.normal(size=(1, 2, 1)), rng.normal(size=1)),
    )


def windows(kind):
    base = rng.normal(size=8)
    return {
        "same": (base, base),
        "shifted": (base[:-1], base[1:]),
        "back": (base[1:], base[:-1]),
        "reversed": (base, base[::-1]),
        "interleaved": (base[::2], base[1::2]),
        "inside": (base, base[2:6]),
        "columns": (base.reshape(4, 2)[:, 0], base.reshape(4, 2)[:, 1]),
        "apart": (base[:4], base[4:]),
    }[kind]


@pytest.mark.parametrize("kind", ["same", "shifted", "back", "reversed", "interleaved", "columns", "apart"])
def test_shared_memory(kind):
    check(overlapping, windows(kind))


def test_shifts_in_place():
    check(shifted_self, *((rng.normal(size=n),) for n in (6, 3, 2)), single=True, layouts=True)
    check(temporaries, *((rng.uniform(-0.8, 0.8, 4), n) for n in (5, 0, 1)))


def test_memory_of_loops():
    check(memory_of_each_step, *((rng.uniform(0.5, 1, 3), n) for n in (3, 0, 1)), pullback=True)
    starts = (0.7, 1.2, 3.0)
    check(condition_with_effects, *((np.array([v, 0.4]), 0.3) for v in starts), step=0.1, pullback=True)


def test_arithmetic():
    check(powers, (np.array([0.7, 1.3, -0.8, 0.4]), 1.5), step=0.1, tol=1e-6)
    check(divisions, (np.array([0.31, 0.83, 0.47]), 4), step=0.001, tol=1e-5)
    check(extremes, (np.array([0.31, -0.83, 0.47]), np.array([0.9, 0.6, -1.2])), step=0.1)
    check(integer_branches, *((np.array([0.31, -0.83, 0.47, 0.9, -0.2, 0.6, -1.2]), k) for k in (0, 3, 9)), step=0.1)
    check(carried_tuple, (rng.normal(size=4),), (rng.normal(size=1),))


def test_float32_and_float64():
    x, y = rng.normal(size=4).astype(np.float32), rng.normal(size=4)
    expected, after = plain(mixed_types, (x, y, 3))
    compiled = adc.jit_grad(mixed_types)
    given = [x.copy(), y.copy()]
    close(compiled(*given, 3), expected, 1e-6, "value")
    close(given[0], after[0], 1e-6, "x after the call")
    gx, gy = adc.grad(compiled, argnums=(0, 1))(x, y, 3)
    assert gx.dtype == np.float32 and gy.dtype == np.float64
    close(gy, 2 * x.astype(float) ** 2 + 3 * x, 1e-5, "dy")
    close(gx, (4 * x * y + 3 * y + 1 / np.arange(1, 5) + np.trunc(y * 3)).astype(np.float32), 1e-4, "dx")


def test_not_finite():
    cases = []
    for special in (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308):
        for place in range(4):
            x = np.array([0.5, -0.3, 0.8, 1.2])
            x[place] = special
            cases.append((x,))
    check(not_finite, *cases, smooth=False)


def test_branches_not_taken():
    x = np.array([0.0, 0.5, -0.7])
    compiled = check(guarded, (x,), smooth=False)
    expected = [
        0.0,
        (math.cos(0.5) * 0.5 - math.sin(0.5)) / 0.25 + 0.5 / math.sqrt(0.5),
        (math.cos(0.7) * 0.7 - math.sin(0.7)) / -0.49,
    ]
    close(compiled.grad(x), np.array(expected), 1e-13, "gradient")


def test_powers_of_zero():
    compiled = adc.jit_grad(lambda x, p: x**p, argnums=(0, 1))
    for x, p, dx, dp in [
        (0.0, 2.0, 0.0, 0.0),
        (0.0, 1.0, 1.0, 0.0),
        (0.0, 0.0, 0.0, 0.0),
        (-2.0, 3.0, 12.0, math.nan),
        (-2.0, 2.0, -4.0, math.nan),
    ]:
        gx, gp = compiled.grad(x, p)
        assert gx == dx and (gp == dp or math.isnan(dp)), (x, p, gx, gp)


def test_alternating_signatures():
    """One function called with sizes, layouts, dtypes and numbers of all sorts in turn."""

    @adc.jit_grad
    def f(x, a):
        return np.sum(np.sin(a * x) * x)

    for turn in range(3):
        for x in (
            rng.normal(size=5),
            rng.normal(size=0),
            rng.normal(size=10)[::2],
            rng.normal(size=(3, 2)),
            rng.normal(size=(3, 2)).T,
            rng.normal(size=4).astype(np.float32),
            rng.normal(size=40)[:1],
            np.float64(0.3) * np.ones(7),
        ):
            for a in (2, 1.5, np.float64(0.5), True):
                close(float(f(x, a)), float(np.sum(np.sin(a * x) * x)), 1e-5, "value")
                close(f.grad(x, a), (np.cos(a * x) * a * x + np.sin(a * x)).astype(x.dtype), 1e-5, "gradient")
