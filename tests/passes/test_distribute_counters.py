"""Loops that count through rows of varying lengths: values and gradients as in plain Python, for all counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import hessian, jit_grad

X = np.random.default_rng(11).random(14)


def rows(v, last, x, steps):
    y = np.zeros(len(last))
    total = 0.0
    for _ in range(steps):
        e = 0
        for i in range(len(last)):
            s = 0.0
            while e < last[i]:
                s += v[e] * x[e % 3]
                e += 1
            y[i] = np.tanh(s) + y[i]
            total += s * s
    return np.sum(y * y) + total + e


def two_counters(v, last, x, steps):
    e, skipped = 2, 0
    s = 0.0
    for i in range(0, len(last), 2):
        for k in range(e, max(e, last[i])):
            s += v[k] * np.sin(x[i % 3]) * (1 + skipped)
        e = max(e, last[i])
        skipped = (skipped + last[i]) % 5
    return s * e + skipped


def by_lengths(v, lengths, x, steps):
    y = np.zeros(len(lengths))
    e = 0
    for i in range(len(lengths)):
        for _ in range(lengths[i] % 4):
            y[i] += v[e] * np.exp(x[e % 3])
            e += 1
    return np.sum(y * y)


COMPILED = {f: jit_grad(argnums=(0, 2))(f) for f in (rows, two_counters, by_lengths)}
CASES = [
    (rows, [3, 3, 8, 14]),
    (rows, [5, 2, 12, 3]),
    (rows, [0, -4, 0, 0]),
    (rows, []),
    (two_counters, [3, 0, 8, 0, 5, 0, 14]),
    (by_lengths, [3, 0, 2, 1, 3]),
]


@pytest.mark.parametrize(("f", "last"), CASES)
def test_values_and_gradients(f: Callable[..., Any], last: list[int]) -> None:
    given, x = np.array(last, dtype=np.int64), X[:3]
    for steps in (1, 3):
        assert COMPILED[f](X, given, x, steps) == pytest.approx(f(X, given, x, steps), rel=1e-13)
        by_v, by_x = COMPILED[f].grad(X, given, x, steps)
        differences = [(f(X + e, given, x, steps) - f(X - e, given, x, steps)) / 2e-6 for e in 1e-6 * np.eye(14)]
        np.testing.assert_allclose(by_v, differences, rtol=1e-6, atol=1e-7)
        differences = [(f(X, given, x + e, steps) - f(X, given, x - e, steps)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(by_x, differences, rtol=1e-6, atol=1e-7)


def test_threads() -> None:
    given = X, np.array([3, 3, 8, 14]), X[:3], 2
    one, two = (jit_grad(argnums=(0, 2), threads=threads)(rows).grad(*given) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_no_steps_read_nothing() -> None:
    def f(v, last, n, steps):
        s = 0.0
        for _ in range(steps):
            e = 0
            for i in range(n):
                while e < last[i]:
                    s += v[e] * v[e]
                    e += 1
        return s

    compiled = jit_grad(f)
    assert compiled(X, np.array([2, 5]), 10**6, 0) == 0.0
    assert compiled(X, np.array([2, 5]), 2, 2) == pytest.approx(2 * np.sum(X[:5] ** 2))
    with pytest.raises(IndexError):
        compiled(X, np.array([2, 5]), 3, 2)


def test_second_derivatives() -> None:
    def f(v):
        return rows(v, np.array([3, 3, 8, 14]), X[:3], 2)

    found = hessian(f)(X)
    gradient = jit_grad(f).grad
    differences = [(gradient(X + e) - gradient(X - e)) / 2e-5 for e in 1e-5 * np.eye(14)]
    np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-7)
