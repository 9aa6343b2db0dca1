"""Products of a vector and a matrix with contiguous rows become one operation; others stay loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import function_of

RNG = np.random.default_rng(6)
SHAPES = [(1, 1), (3, 5), (8, 8), (9, 16), (30, 71), (257, 19), (5, 530), (600, 1100)]
WAYS = {"v @ a": "v @ a", "np.dot(v, a)": "v @ a", "a.T @ v": "v @ a", "np.einsum('i,ij->j', v, a)": "v @ a"}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("way", WAYS)
def test_values_and_gradients(way: str, dtype: Any) -> None:
    f = adc.jit_grad(function_of(way, "v", "a"))
    g = adc.grad(function_of(f"np.sum(({way}) * c)", "v", "a", "c"), argnums=(0, 1))
    near = {"rtol": 1e-12, "atol": 1e-12} if dtype == np.float64 else {"rtol": 3e-4, "atol": 2e-4}
    for k, n in SHAPES:
        a, v, c = (RNG.normal(size=s).astype(dtype) for s in ((k, n), k, n))
        for b in (a, np.vstack([a, a])[::2], np.hstack([a, a])[:, :n], np.asfortranarray(a)):
            w = v if b.shape[0] == k else v[: b.shape[0]]
            np.testing.assert_allclose(f(w, b), w @ b, **near)
        by_v, by_a = g(v, a, c)
        np.testing.assert_allclose(by_v, a @ c, **near)
        np.testing.assert_allclose(by_a, np.outer(v, c), **near)


def test_a_row_has_the_bits_of_a_matrix_of_more() -> None:
    for k, n in SHAPES[-3:]:
        a, x = RNG.normal(size=(k, n)), RNG.normal(size=(2, k))
        one, more = adc.jit_grad(function_of("x @ a", "x", "a")), adc.jit_grad(function_of("x @ a", "x", "a"))
        np.testing.assert_array_equal(one(x[0], a), more(x, a)[0])


def test_bits_do_not_depend_on_threads() -> None:
    a, v = RNG.normal(size=(901, 1207)), RNG.normal(size=901)
    f = function_of("v @ a", "v", "a")
    one, *others = (adc.jit_grad(threads=threads)(f)(v, a) for threads in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(one, other)


def test_gradients_of_products_with_columns() -> None:
    """What the reverse sweep of ``a @ v`` adds to the vector is a product of a row, if that is a loop of its own."""
    a, v, w = RNG.normal(size=(40, 31)), RNG.normal(size=31), RNG.normal(size=40)
    apart = adc.jit_grad(argnums=1)(function_of("np.sum(w * np.tanh((a @ v)[::-1]))", "a", "v", "w"))
    joined = adc.jit_grad(argnums=1)(function_of("np.sum(w * np.tanh(a @ v))", "a", "v", "w"))
    slope = 1 - np.tanh(a @ v) ** 2
    np.testing.assert_allclose(apart.grad(a, v, w), (w[::-1] * slope) @ a, rtol=1e-12)
    np.testing.assert_allclose(joined.grad(a, v, w), (w * slope) @ a, rtol=1e-12)
    assert "linalg.matmul" in apart.dump_ir("lowered")


def test_zeros_that_are_nothing() -> None:
    for zeros in (slice(2, 3), slice(2, 12), slice(0, 20)):
        a, keep = RNG.normal(size=(20, 21)), np.ones(20)
        a[2, 4], a[2, 5] = np.inf, np.nan
        keep[zeros] = 0.0
        body = "c = a @ v\nreturn np.sum(np.where(keep > 0, c, 0.0))"
        found = adc.grad(function_of(body, "v", "a", "keep"))(RNG.normal(size=21), a, keep)
        np.testing.assert_allclose(found, keep @ np.where(np.isfinite(a), a, 0.0), rtol=1e-12, atol=1e-13)


def test_in_loops() -> None:
    body = """
    x = v
    for t in range(len(m)):
        x = np.tanh(x @ m[t])
    return np.sum(x)
    """
    m, v = RNG.normal(size=(3, 9, 9)), RNG.normal(size=9)
    f = function_of(body, "v", "m")
    g = adc.grad(f, argnums=(0, 1))(v, m)
    d, e = RNG.normal(size=9), RNG.normal(size=(3, 9, 9))
    _, along = adc.jvp(f, (v, m), (d, e))
    assert along == pytest.approx(np.sum(g[0] * d) + np.sum(g[1] * e), rel=1e-11)
