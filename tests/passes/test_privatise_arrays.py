"""Work arrays outside loops are as fast as those made in each iteration, if iterations pass nothing through them;
values and gradients are those of plain Python in any case."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import hessian, jit_grad, vmap

Function = Callable[..., Any]


def distances(x, m):
    n, d = x.shape
    r = np.empty(d)
    out = np.empty(n)
    for p in range(n):
        for i in range(d):
            r[i] = x[p, i] - m[i]
        s = 0.0
        for i in range(d):
            s += r[i] * r[d - 1 - i]
        out[p] = math.sqrt(s * s + 1.0)
    return np.sum(out)


def rows_and_columns(x, m):
    n, d = x.shape
    w, v = np.zeros((d, d)), np.zeros(d)
    total = 0.0
    for p in range(n):
        for i in range(d):
            v[i] = 0.0
            for j in range(d):
                w[i, j] = x[p, i] * m[j]
        for i in range(d):
            for j in range(d):
                v[j] += w[i, j] * w[j, i]
        for i in range(d):
            total -= math.sin(v[i])
    return total


def fill(r, x, m):
    for i in range(len(r)):
        r[i] = math.exp(x[i] * m[i])


def in_a_function(x, m):
    r = np.empty(len(m))
    total = 0.0
    for p in range(len(x)):
        fill(r, x[p], m)
        for i in range(1, len(r)):
            total += r[i] * r[i - 1]
    for p in range(len(x)):
        fill(r, m, x[p])
        total += r[0] * r[-1]
    return total


def wholly(x, m):
    r, s = np.empty(len(m)), np.ones(len(m))
    total = 0.0
    for p in range(len(x)):
        r[:] = x[p]
        s[:] = 0.0
        for i in range(len(m)):
            s[i] += r[i] * m[i]
        for i in range(len(m)):
            total += s[i] * s[0]
    return total


def but_the_first(x, m):
    r = np.ones(len(m))
    total = 0.0
    for p in range(len(x)):
        for i in range(1, len(m)):
            r[i] = x[p, i] * m[i]
        for i in range(len(m)):
            total += r[i] * r[0]
        r[0] = total * 0.1
    return total


def neighbours(x, m):
    r = np.ones(len(m))
    total = 0.0
    for p in range(len(x)):
        for i in range(len(m)):
            r[i] = x[p, i] * m[i] + r[i - 1]
        total += r[0] * r[-1]
    return total


def now_and_then(x, m):
    r = np.ones(len(m))
    total = 0.0
    for p in range(len(x)):
        if x[p, 0] > 0.5:
            for i in range(len(m)):
                r[i] = x[p, i] * m[i]
        for i in range(len(m)):
            total += r[i] * r[i]
    return total


def perhaps_never(x, m):
    r = np.ones(len(m))
    total = 0.0
    for p in range(len(x)):
        for q in range(p - 1):
            for i in range(len(m)):
                r[i] = x[p, i] * m[i] + q
        for i in range(len(m)):
            total += r[i] * r[i] * x[p, i]
    return total


def read_at_the_end(x, m):
    r = np.ones(len(m))
    total = 0.0
    for p in range(len(x)):
        for i in range(len(m)):
            r[i] = x[p, i] * m[i]
        for i in range(len(m)):
            total += r[i] * r[i]
    return total + r[0] * r[-1]


OWN: tuple[Function, ...] = (distances, rows_and_columns, in_a_function, wholly)
SHARED: tuple[Function, ...] = (but_the_first, neighbours, now_and_then, perhaps_never, read_at_the_end)
COMPILED = {f: jit_grad(argnums=(0, 1))(f) for f in (*OWN, *SHARED)}


@pytest.mark.parametrize("f", [*OWN, *SHARED], ids=lambda f: f.__name__)
def test_values_and_gradients(f: Function) -> None:
    rng = np.random.default_rng(3)
    compiled = COMPILED[f]
    for n, d in ((7, 4), (3, 1), (1, 5), (0, 3)):
        x, m = rng.random((n, d)), rng.random(d) + 0.2
        value, (by_x, by_m) = compiled.value_and_grad(x, m)
        assert value == pytest.approx(f(x, m), rel=1e-13)
        u, v, h = rng.standard_normal((n, d)), rng.standard_normal(d), 1e-5
        slope = (f(x + h * u, m + h * v) - f(x - h * u, m - h * v)) / (2 * h)
        assert np.sum(by_x * u) + np.sum(by_m * v) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_whose_they_are() -> None:
    x, m = np.ones((4, 3)), np.ones(3)
    for f, compiled in COMPILED.items():
        compiled(x, m)
        assert ("adc.own" in compiled.dump_ir("simplified")) == (f in OWN), f.__name__


def test_threads() -> None:
    """Each thread has work arrays; sums are in Python's order on any number of them."""
    rng = np.random.default_rng(4)
    x, m = rng.random((20_000, 9)), rng.random(9)
    found = []
    for threads in (1, 2, 3):
        compiled = jit_grad(argnums=(0, 1), threads=threads)(distances)
        found.append((compiled(x, m), *compiled.grad(x, m)))
    for value, by_x, by_m in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(by_x, found[0][1])
        np.testing.assert_array_equal(by_m, found[0][2])
    assert found[0][0] == pytest.approx(distances(x[:, ::-1], m[::-1]), rel=1e-12)


def test_second_derivatives_and_vmap() -> None:
    rng = np.random.default_rng(5)
    x, m = rng.random((4, 3)), rng.random(3)
    found = hessian(rows_and_columns, argnums=1)(x, m)
    gradient, h = COMPILED[rows_and_columns].grad, 1e-5
    for k, along in enumerate(np.eye(3) * h):
        change = (gradient(x, m + along)[1] - gradient(x, m - along)[1]) / (2 * h)
        np.testing.assert_allclose(found[:, k], change, rtol=1e-5, atol=1e-7)
    many = rng.random((5, 4, 3))
    np.testing.assert_allclose(vmap(distances, in_axes=(0, None))(many, m), [distances(y, m) for y in many], rtol=1e-13)


def test_single_precision_and_strides() -> None:
    rng = np.random.default_rng(6)
    x, m = rng.random((6, 8)), rng.random(8)
    value, by_x = jit_grad(distances).value_and_grad(x[::2, ::-2], m[::2])
    assert value == pytest.approx(distances(x[::2, ::-2], m[::2]), rel=1e-13)
    np.testing.assert_allclose(by_x, COMPILED[distances].grad(x[::2, ::-2].copy(), m[::2].copy())[0], rtol=1e-13)
    single = COMPILED[distances].grad(x.astype(np.float32), m.astype(np.float32))
    np.testing.assert_allclose(single[0], COMPILED[distances].grad(x, m)[0], rtol=1e-4, atol=1e-5)
