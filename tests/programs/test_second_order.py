"""Second derivatives against differences of gradients: loops of known and unknown length, swaps, calls, tapes of tapes.

Reverse over reverse, and forward over reverse, which also supports programs that the former refuses.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import adc


def in_a_loop(x, n):
    y = 1.0
    for _ in range(n):
        y = math.sin(x * y) + x * y * y * 0.1 if y > 0.5 else y * x + 0.3
    return y


def swapped(x, n):
    u = np.zeros(8)
    v = np.zeros(8)
    for i in range(8):
        u[i] = math.sin(x * i) + x
    for _ in range(n):
        for i in range(1, 7):
            v[i] = u[i] * u[i - 1] + x * u[i + 1]
        u, v = v, u
    return np.sum(u * u) * x


def heron(x, n):
    """The root of x, in as many steps as it takes."""
    y = x
    steps = 0
    while abs(y * y - x) > 1e-3 and steps < n:
        y = 0.5 * (y + x / y)
        steps += 1
    return y * y * y


def on_an_array(x, n):
    a = np.zeros(4)
    for i in range(4):
        a[i] = x + i
    k = 0
    while k < n and a[0] < 100.0:
        for i in range(4):
            a[i] = a[i] * math.sin(a[i - 1]) + x
        k += 1
    return np.sum(a * a)


def half(a, b):
    w = np.zeros(3)
    w[0] = a * b
    w[1] = w[0] * a
    w[2] = math.exp(-w[1])
    return w[2] * w[0]


def with_calls(x, n):
    total = x
    for i in range(n):
        total += half(x, i + 1.0) * half(total, x)
        total += half(x, x)
    return total


def while_calls(x, n):
    total = x
    k = 0
    while k < n:
        total = half(total, x) + x
        k += 1
    return total


def recursive(x, n):
    return x if n <= 0 else math.sin(x * n) * recursive(0.5 * x * x, n - 1) + recursive(x, n - 2)


def differences(first, x, n):
    """The derivative of a gradient, infinite where steps of two lengths disagree; and its scale."""

    def difference(h):
        return (8 * (first(x + h, n) - first(x - h, n)) - (first(x + 2 * h, n) - first(x - 2 * h, n))) / (12 * h)

    truth, other = difference(1e-5), difference(2e-5)
    scale = max(1.0, abs(truth), abs(first(x, n)))
    return truth if abs(truth - other) <= 1e-7 * scale else math.inf, scale


POINTS = [(x, n) for x in (0.4, 1.3, 2.3) for n in (0, 1, 2, 6)]
PROGRAMS = [in_a_loop, swapped, heron, with_calls, while_calls, on_an_array, recursive]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(program):
    """Of both kinds: that of the gradient along a direction, and the gradient's own gradient."""
    first, reverse = adc.grad(program), adc.grad(adc.grad(program))
    checked = 0
    for x, n in POINTS:
        gradient, second = first.jvp((x, n), (1.0, None))
        truth, scale = differences(first, x, n)
        assert gradient == pytest.approx(first(x, n), rel=1e-9)
        assert reverse(x, n) == pytest.approx(second, rel=1e-9, abs=1e-12 * scale), (x, n)
        if not math.isfinite(truth):
            continue
        checked += 1
        assert second == pytest.approx(truth, abs=1e-7 * scale), (x, n)
        assert adc.hvp(program, (x, n), (-2.0, None)) == pytest.approx(-2.0 * second)
    assert checked >= 9


def burgers(u, nu, steps):
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            b[i] = a[i] - 0.1 * a[i] * (a[i] - a[i - 1]) + nu * (a[i + 1] - 2.0 * a[i] + a[i - 1])
        a, b = b, a
    return np.sum(a * a * a)


def in_place(u, nu, steps):
    """Changes its argument, by calls that keep records, until it is small enough."""
    k = 0
    while k < steps and np.sum(u * u) > 0.01:
        for i in range(len(u)):
            u[i] = half(u[i], nu) + 0.5 * u[i - 1] * half(nu, u[i - 2])
        k += 1
    return np.sum(u * u) * nu


@pytest.mark.parametrize("program", [burgers, in_place], ids=lambda f: f.__name__)
@pytest.mark.parametrize("checkpoint", [None, "sqrt", adc.revolve(2)], ids=str)
def test_hessians_of_arrays(program, checkpoint):
    if checkpoint == "sqrt" and program is in_place:  # whose number of steps is not known before
        checkpoint = "recompute-all"
    f = adc.jit_grad(checkpoint=checkpoint)(program)
    rng = np.random.default_rng(3)
    u, v = rng.uniform(0.5, 1.5, 6), rng.uniform(-1.0, 1.0, 6)
    first = adc.grad(f, argnums=(0, 1))
    h = 1e-5
    pairs = [(first(u + k * h * v, 0.2 + k * h, 5), first(u - k * h * v, 0.2 - k * h, 5)) for k in (1, 2)]
    truth = [(8 * (p[k] - m[k]) - (q[k] - n[k])) / (12 * h) for k in (0, 1) for (p, m), (q, n) in [pairs]]
    before = u.copy()
    gradient, second = first.jvp((u, 0.2, 5), (v, 1.0, None))
    np.testing.assert_array_equal(u, before)
    np.testing.assert_allclose(gradient[0], first(u, 0.2, 5)[0], rtol=1e-12)
    np.testing.assert_allclose(second[0], truth[0], rtol=1e-6, atol=1e-8)
    assert second[1] == pytest.approx(truth[1], rel=1e-6)
    hessian = adc.hessian(f, argnums=(0, 1))(u, 0.2, 5)
    np.testing.assert_allclose(hessian[0][0], hessian[0][0].T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(hessian[0][1], hessian[1][0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(hessian[0][0] @ v + hessian[0][1], second[0], rtol=1e-10, atol=1e-12)
