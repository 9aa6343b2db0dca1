"""Calls that run again in the reverse sweep: the same numbers as without, in every mode, in less memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import adc
from adc import prange

Again = Callable[[Any], Any]
Program = tuple[Any, tuple[Any, ...], tuple[int, ...]]
RNG = np.random.default_rng(7)
A, B = RNG.random(5) + 0.5, RNG.random(5) + 0.5


def plain(fn: Any) -> Any:
    return fn


# Functions that are called, and programs that call them: each is made with adc.checkpoint and without ----------------


def power(x, n):
    y = x
    for _ in range(n):
        y = math.sin(y) * x + y
    return y


def floats(again: Again) -> Program:
    inner = again(power)

    def f(x, y, n):
        return inner(x * y, n) * inner(y, n=n + 1) + inner(x, 0)

    return f, (0.7, 1.3, 4), (0, 1)


def pair(x, u):
    if x > 10.0:
        return x, u[0]
    for i in range(u.shape[0]):
        if u[i] > 100.0:
            return u[i], x
        x = math.sin(x * u[i])
    return x * x, u[1] * x


def tuples_and_early_returns(again: Again) -> Program:
    inner = again(pair)

    def f(x, u):
        a, b = inner(x, u)
        c, _ = inner(20.0 * x, u)
        u[2] = 200.0 * a
        d, e = inner(x, u)
        return a * b + c * d + e

    return f, (0.7, A), (0, 1)


def fresh(u, c):
    v = np.sin(u) * c
    w = np.exp(-v) + u
    return v * w, w + 1.0


def arrays(again: Again) -> Program:
    inner = again(fresh)

    def f(u, c):
        v, w = inner(u, c)
        v, _ = inner(v, 2.0 * c)
        v *= w
        w, x = inner(v + w, c)
        return np.sum(v * w * x)

    return f, (A, 0.3), (0, 1)


def block(u, n):
    for _ in range(n):
        u = np.sin(u) * u + 0.1
    return u


def carried(n: int) -> Callable[[Again], Program]:
    """The array that is returned may be the argument, or one that was made."""

    def make(again: Again) -> Program:
        inner = again(block)

        def f(u, n):
            v = inner(u, n)
            v[0] = v[0] * v[1]
            w = inner(v, 2)
            w[1] *= 3.0
            return np.sum(w * w) + np.sum(u * v)

        return f, (A, n), (0,)

    return make


def smooth(u, c):
    for _ in range(3):
        u[1:-1] += c * (u[:-2] - 2.0 * u[1:-1] * u[1:-1] + u[2:])


def in_place(again: Again) -> Program:
    inner = again(smooth)

    def f(u, c):
        v = u.copy()
        inner(v, c)
        inner(u, c * c)
        v[2] *= u[1]
        inner(v, c)
        return np.sum(u * v) + np.max(v)

    return f, (A, 0.1), (0, 1)


def weighted(out, u, w):
    for i in range(u.shape[0]):
        out[i] = u[i] * u[i] * math.exp(w[i])


def outputs_and_later_changes(again: Again) -> Program:
    """``out`` need not be kept, ``u`` is kept as it is, ``w`` is changed later."""
    inner = again(weighted)

    def f(u, w):
        out = np.zeros_like(u)
        inner(out, u, w)
        w *= out
        inner(w, 0.1 * u, w)
        total = np.sum(out * w)
        inner(out, 0.1 * w, u)
        w[:] = 1.0
        return total + np.sum(out)

    return f, (A, B), (0, 1)


def views(u, first):
    u[1:] = u[:-1] * u[1:]
    if first:
        return u[:3]
    return np.sin(u[2:])


def views_of_arguments(again: Again) -> Program:
    inner = again(views)

    def f(u):
        a = inner(u, True)
        a[0] = a[1] * a[2]
        b = inner(u[::-1], False)
        b[0] *= a[0]
        return np.sum(a * b) * u[4]

    return f, (A,), (0,)


def closures(again: Again) -> Program:
    def f(u, x, n):
        scale = np.exp(x)

        @again
        def step(v):
            for i in range(v.shape[0]):
                v[i] = math.sin(v[i] * scale) + u[i]
            return scale * v[0]

        w = u * x
        total = 0.0
        for _ in range(n):
            total += step(w)
            scale = scale * 0.9
        g = again(lambda y, k=2.0: y**k * scale)
        return total + g(x) + g(x, k=3.0) + np.sum(w)

    return f, (A, 0.4, 3), (0, 1)


class Layer(NamedTuple):
    w: Any
    b: float

    def apply(self, u):
        return np.tanh(self.w @ u + self.b)


class Checked:
    def __init__(self, k: float) -> None:
        self.k = k

    @adc.checkpoint
    def always(self, u):
        return self.k * u * u


def methods(again: Again) -> Program:
    def f(w, u, b):
        layer = Layer(w, b)
        v = again(layer.apply)(u)
        v = again(Layer.apply)(Layer(2.0 * w, b), v)
        return np.sum(Checked(b).always(v))

    return f, (np.outer(A, B), A, 0.2), (0, 1, 2)


@adc.rrule
def cube(x):
    def pullback(g):
        return (g * 3.0 * x * x,)

    return x * x * x, pullback


def with_rules(again: Again) -> Program:
    def inside(u, x):
        total = 0.0
        for i in range(u.shape[0]):
            total += _cubed(u[i] * x)
        return total

    inner, ruled = again(inside), again(_cubed)

    def f(u, x):
        return inner(u, x) * inner(u, x * x) + ruled(x)

    return f, (A, 0.6), (0, 1)


def mixed(a, b):
    for i in range(1, a.shape[0]):
        a[i] = a[i] * b[i - 1] + b[0]
    return a[1] * b[2]


def looked_at(a, b):
    return np.sum(np.sin(a) * b)


def overlapping(again: Again) -> Program:
    writes, reads = again(mixed), again(looked_at)

    def f(u):
        x = reads(u, u) + reads(u[1:], u[:-1])
        y = writes(u, u) + writes(u[1:], u[:-1])
        u[0] = x * y
        return reads(u, u[::-1]) * y

    return f, (A,), (0,)


def nested(again: Again) -> Program:
    inside = again(block)

    @again
    def middle(u, x):
        u *= x
        v = inside(u, 2)
        w = inside(v * u, 3)
        u[0] = w[1]
        return w * inside(u, 0)

    def f(u, x):
        return np.sum(middle(u, x) * middle(u, x * x)) + np.sum(u)

    return f, (A, 0.8), (0, 1)


def wave_step(u, v, c):
    for i in range(1, u.shape[0] - 1):
        v[i] = 2.0 * u[i] - v[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
    return v[1]


def time_loop(schedule: Any) -> Callable[[Again], Program]:
    """Buffers that change places, and a number that is carried."""

    def make(again: Again) -> Program:
        inner = again(wave_step)

        def swapping(u, c, n):
            v = u.copy()
            total = 0.0
            for _ in adc.steps(n, checkpoint=schedule):
                total += inner(u, v, c) * total + 0.1
                u, v = v, u
            return total + np.sum(u * v)

        return swapping, (A, 0.1, 7), (0, 1)

    return make


def open_loop(again: Again) -> Program:
    inner = again(smooth)

    def f(u, c):
        k = 0
        while u[2] > 0.3 and k < 9:
            inner(u, c)
            u *= 0.9
            k += 1
        return np.sum(u) * k

    return f, (A, 0.1), (0, 1)


def row(out, u, i, c):
    t = 0.0
    for j in range(u.shape[0]):
        t += math.sin(u[j] * c + i)
    out[i] = t * u[i]


def in_parallel(again: Again) -> Program:
    inner, other = again(row), again(power)

    def f(u, c):
        out = np.zeros_like(u)
        for i in prange(u.shape[0]):
            inner(out, u, i, c)
            out[i] *= other(c * u[i], 2)
        return np.sum(out)

    return f, (A, 0.4), (0, 1)


def branches(again: Again) -> Program:
    inner, arrays_ = again(smooth), again(block)

    def f(u, c):
        for k in range(4):
            if u[k] > 0.8:
                inner(u, c)
            else:
                u = arrays_(u, k)
        return np.sum(u)

    return f, (A, 0.1), (0, 1)


def recursion(again: Again) -> Program:
    def tree(u, lo, hi, x):
        if hi - lo == 1:
            u[lo] *= x
            return math.sin(u[lo])
        mid = (lo + hi) // 2
        return again(tree)(u, lo, mid, x) * x + again(tree)(u, mid, hi, x * 1.1)

    def f(u, x):
        return tree(u, 0, u.shape[0], x) + np.sum(u)

    return f, (A, 0.8), (0, 1)


def sqrt_of_some(u):
    v = np.sqrt(u)
    return v, v[0] + v[1]


def strong_zeros(again: Again) -> Program:
    """Where the cotangent is zero and the derivative infinite, nothing comes back."""
    inner = again(sqrt_of_some)

    def f(u, x):
        w = u * np.array([1.0, 1.0, 0.0, 1.0, 1.0])
        v, s = inner(w)
        return v[3] * x + (s if x > 0.0 else 0.0)

    return f, (A, 0.8), (0, 1)


def _cubed(x):
    return x * x * x


PROGRAMS: dict[str, Callable[[Again], Program]] = {
    f.__name__: f
    for f in (
        *(floats, tuples_and_early_returns, arrays, in_place, outputs_and_later_changes, views_of_arguments),
        *(closures, methods, with_rules, overlapping, nested, open_loop, in_parallel, branches, recursion),
        strong_zeros,
    )
}
PROGRAMS |= {f"carried-{n}": carried(n) for n in (0, 1, 4)}
PROGRAMS |= {f"loop-{s}": time_loop(s) for s in (None, "sqrt", "recompute-all", "revolve:2", "every:3")}
