"""narrow-rows: sums over short rows are done in order, SIMD across rows, with unchanged results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad

RNG = np.random.default_rng(8)


def squares(a: Any, b: Any) -> Any:
    return np.sqrt(np.sum((a - b) ** 2, axis=1) + 0.1)


def nearest(a: Any, b: Any) -> Any:
    away = a[:, None, :] - b[None, :, :]
    return np.min(np.sum(away**2, axis=2), axis=1)


def largest(a: Any, b: Any) -> Any:
    return np.max(a * b[0], axis=1) - np.prod(1.0 + 0.1 * a, axis=1)


def shares(a: Any, b: Any) -> Any:
    weights = np.exp(a - np.max(a, axis=1)[:, None])
    return np.sum(a * weights / np.sum(weights, axis=1)[:, None], axis=1) * np.sum(b)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [squares, nearest, largest, shares], ids=lambda f: f.__name__)
def test_values_and_gradients(function: Any, threads: int) -> None:
    made = jit_grad(argnums=(0, 1), threads=threads)(lambda a, b, c: np.dot(function(a, b), c))
    values = jit_grad(threads=threads)(function)
    for rows, columns in ((1, 3), (47, 1), (48, 2), (101, 4), (130, 8), (60, 24), (60, 25), (53, 70), (0, 3)):
        a, b = RNG.normal(size=(rows, columns)), RNG.normal(size=(rows if function is squares else 5, columns))
        np.testing.assert_allclose(values(a, b), function(a, b), rtol=1e-12, atol=1e-13)
        c, da, db = RNG.normal(size=rows), RNG.normal(size=a.shape), RNG.normal(size=b.shape)
        _, (by_a, by_b) = made.value_and_grad(a, b, c)
        _, tangent = made.jvp((a, b, c), (da, db, None))
        assert np.sum(by_a * da) + np.sum(by_b * db) == pytest.approx(tangent, rel=1e-9, abs=1e-12)
    a, b = RNG.normal(size=(90, 3)).astype(np.float32), RNG.normal(size=(90, 3)).astype(np.float32)
    np.testing.assert_allclose(values(a, b), function(a, b), rtol=2e-5)
    assert values(a, b).dtype == np.float32


def test_views_and_nan() -> None:
    made = jit_grad(squares)
    a, b = RNG.normal(size=(200, 8))[::-2, 1:7:2], RNG.normal(size=(3, 100)).T
    np.testing.assert_allclose(made(a, b), squares(a, b), rtol=1e-13)
    a = a.copy()
    a[17, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(made(a, b)), np.isnan(squares(a, b)))
    np.testing.assert_array_equal(np.isnan(jit_grad(nearest)(a, b[:5])), np.isnan(nearest(a, b[:5])))


def test_an_array_that_sums_store_to_is_read_as_it_was() -> None:
    def running(a):  # type: ignore[no-untyped-def]
        for _ in range(3):
            a[:, 0] = np.sum(a * a, axis=1)
        return a

    a = RNG.normal(size=(75, 4)) / 3
    expected = running(a.copy())
    np.testing.assert_allclose(jit_grad(running)(a.copy()), expected, rtol=1e-13)
