"""Gradients of gradients against differences of gradients: loops of known and unknown length, swaps, calls."""

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


@pytest.mark.parametrize(
    "program", [in_a_loop, swapped, heron, with_calls, while_calls], ids=lambda f: f.__name__
)
def test_against_differences(program):
    first, second = adc.grad(program), adc.grad(adc.grad(program))
    h = 1e-5
    for x in (0.4, 1.3, 2.3):
        for n in (0, 1, 2, 6):
            truth = (8 * (first(x + h, n) - first(x - h, n)) - (first(x + 2 * h, n) - first(x - 2 * h, n))) / (12 * h)
            scale = max(1.0, abs(truth), abs(first(x, n)))
            assert second(x, n) == pytest.approx(truth, abs=1e-7 * scale), (x, n)


def test_a_tape_of_tapes_is_refused():
    with pytest.raises(adc.errors.AdcError, match="array of arrays"):
        adc.grad(adc.grad(on_an_array))(0.4, 2)
