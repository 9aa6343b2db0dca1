"""Steps that call the function of their own loop: what calls keep for the reverse sweep is found for both together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad

A = np.array([0.3, 1.5, 0.9])


def early(a, i, depth):
    if depth == 0:
        return a[i] * 0.5
    for k in range(3):
        s = early(a, (i + k) % 3, depth - 1)
        if s > 0.6:
            return s * a[i]
    return a[i] * a[i]


def summed(a, i, depth):
    if depth == 0:
        return math.sin(a[i])
    total = a[i]
    for k in range(2):
        total = total * summed(a, (i + k) % 3, depth - 1) + a[k]
    return total


def other(a, i, depth):
    total = 1.0
    for k in range(2):
        total += summed(a, k, depth) * one(a, i, depth)
    return total


def one(a, i, depth):
    if depth == 0:
        return a[i] * a[i]
    total = 0.0
    while total < 2.0 * depth:
        total = total * 0.9 + other(a, i, depth - 1) ** 2
    return total


def in_place(a, u, depth):
    if depth == 0:
        u[0] = u[0] * a[0]
        return
    for k in range(3):
        in_place(a, u, depth - 1)
        u[k] = math.sin(u[k]) + u[(k + 1) % 3] * a[k]


def written(a, i, depth):
    u = np.ones(3)
    in_place(a, u, depth - 1)
    return u[0] * u[1] + u[2] * a[i]


@pytest.mark.parametrize("inner", [early, summed, one, written], ids=lambda f: f.__name__)
def test_gradients_by_schedules_are_those_without(inner: Any) -> None:
    def whole(a, n):
        total = 0.0
        for t in range(n):
            total += inner(a, t % 3, 2) * (t + 1)
        return total

    stored = jit_grad(whole)
    assert stored(A, 4) == whole(A, 4)
    expected = stored.grad(A, 4)
    step = 1e-6
    by_differences = [(whole(A + step * e, 4) - whole(A - step * e, 4)) / (2.0 * step) for e in np.eye(3)]
    np.testing.assert_allclose(expected, by_differences, rtol=1e-6)
    for schedule in ("sqrt", adc.revolve(2), "recompute-all"):
        found = jit_grad(whole, checkpoint=schedule)
        for _ in range(2):
            np.testing.assert_allclose(found.grad(A, 4), expected, rtol=1e-12)


def test_a_budget_for_recursion_is_refused() -> None:
    def whole(a, n):
        total = 0.0
        for t in range(n):
            total += early(a, t % 3, 3) * (t + 1)
        return total

    with pytest.raises(errors.AdcError, match="a recursive function allocates memory") as caught:
        jit_grad(whole, memory="1MB").grad(A, 5)
    assert caught.value.kind == "unknown-size"
