"""distribute-products: products of matrices that programs write as loops; gradients, and where the kernel is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad

pytestmark = pytest.mark.usefixtures("stages")


def added_up(a: Any, b: Any) -> Any:
    n, k = a.shape
    m = b.shape[1]
    c = np.zeros((n, m), dtype=a.dtype)
    for i in range(n):
        for j in range(m):
            for q in range(k):
                c[i, j] += a[i, q] * b[q, j]
    return np.sum(c * c)


def numbers(a: Any, b: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for q in range(a.shape[1]):
                s += a[i, q] * b[q, j]
            total += s * s * s
    return total


def scaled(a: Any, b: Any) -> Any:
    n, k = a.shape
    m = b.shape[1]
    c = np.ones((n, m), dtype=a.dtype)
    for i in range(n):
        for j in range(m):
            c[i, j] *= 0.5
            for q in range(k):
                c[i, j] += n * a[i, q] * b[q, j]
    return np.sum(c * c)


def in_steps(a: Any, b: Any) -> Any:
    n, k = a.shape
    m = b.shape[1]
    c = np.zeros((n, m), dtype=a.dtype)
    total = 0.0
    for _ in range(3):
        for i in range(n):
            for j in range(m):
                s = c[i, j] * 0.25
                for q in range(k):
                    s += a[i, q] * b[q, j]
                c[i, j] = s * 0.5
        total += np.sum(c * c)
    return total


def by_elements(a: Any, b: Any) -> Any:
    n, k = a.shape
    m = b.shape[1]
    w = np.linspace(0.5, 1.5, n + 2)
    x = np.full((n, m), 0.25, dtype=a.dtype)
    for t in range(3):
        for i in range(n):
            for j in range(m):
                s = x[i, j]
                for q in range(k):
                    s += a[i, q] * w[t] * b[q, j]
                x[i, j] = np.sin(s)
    return np.sum(x)


def in_two_loops(a: Any, b: Any) -> Any:
    n, k = a.shape
    x = np.full((n, b.shape[1]), 0.25, dtype=a.dtype)
    for t in range(3):
        for u in range(2):
            for i in range(n):
                for j in range(b.shape[1]):
                    s = x[i, j] * (t - 0.5)
                    for q in range(k):
                        s += a[i, q] * b[q, j]
                    x[i, j] = np.sin(s) + 0.1 * u
    return np.sum(x)


def not_in_each(a: Any, b: Any) -> Any:
    n, k = a.shape
    x = np.full((n, b.shape[1]), 0.25, dtype=a.dtype)
    for t in range(4):
        if t % 2 == 1:
            for i in range(n):
                for j in range(b.shape[1]):
                    s = x[i, j]
                    for q in range(k):
                        s += a[i, q] * b[q, j]
                    x[i, j] = np.sin(s)
        x *= 0.75
    return np.sum(x)


def moving(a: Any, b: Any) -> Any:
    x = b.copy()
    total = 0.0
    for _ in range(3):
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = 0.0
                for q in range(a.shape[1]):
                    s += a[i, q] * x[q, j]
                total += s * s
        for q in range(a.shape[1]):
            for j in range(b.shape[1]):
                x[q, j] = x[q, j] * 0.5 + 0.1
    return total


def with_itself(a: Any, b: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            s = 0.0
            for q in range(a.shape[1]):
                s += a[i, q] * a[j, q]
            total += s * s
    return total + np.sum(b)


def changes_factors(a: Any, b: Any) -> Any:
    x = a.copy()
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for q in range(x.shape[1]):
                s += x[i, q] * b[q, j]
            x[i, j % x.shape[1]] = s * 0.1
            total += s * s
    return total + np.sum(x)


PROGRAMS = [
    *(added_up, numbers, scaled, in_steps, by_elements, in_two_loops, not_in_each),
    *(moving, with_itself, changes_factors),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    g = jit_grad(argnums=(0, 1), threads=2)(f)
    for n, k, m in ((5, 40, 6), (4, 25, 4), (3, 39, 5), (1, 25, 1), (4, 6, 4), (6, 7, 4), (0, 30, 2)):
        a, da, b, db = rng.random((n, k)), rng.random((n, k)), rng.random((k, m)), rng.random((k, m))
        to_a, to_b = g.grad(a, b)
        along = f(a + 1e-30j * da, b + 1e-30j * db).imag / 1e-30
        assert np.sum(to_a * da) + np.sum(to_b * db) == pytest.approx(along, rel=1e-10, abs=1e-10)
        if k == 40:
            assert ("linalg.matmul" in str(g.dump_ir("lowered"))) is (f is not changes_factors)


def test_zeros_are_strong() -> None:
    """What no result depends on adds nothing to gradients, even if it is infinite."""

    def first_column(a: Any, b: Any) -> Any:
        c = np.zeros((a.shape[0], b.shape[1]))
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                for q in range(a.shape[1]):
                    c[i, j] += a[i, q] * b[q, j]
        return np.sum(c[:, 0] ** 2)

    rng = np.random.default_rng(2)
    a, b = rng.random((5, 40)), rng.random((40, 4))
    b[2, 1], b[3, 2] = np.inf, np.nan
    to_a, to_b = jit_grad(argnums=(0, 1))(first_column).grad(a, b)
    sums = a @ b[:, 0]
    np.testing.assert_allclose(to_a, 2 * sums[:, None] * b[:, 0])
    np.testing.assert_allclose(to_b, np.outer(2 * a.T @ sums, [1.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_products_of_what_steps_sum(steps: int) -> None:
    """What no step reads adds nothing, even if it is infinite or is not there."""

    def stepped(a: Any, b: Any, steps: int) -> Any:
        x = np.ones((a.shape[0], a.shape[0]))
        for _ in range(steps):
            for i in range(a.shape[0]):
                for j in range(a.shape[0]):
                    s = 0.5 * x[i, j]
                    for q in range(a.shape[1]):
                        s += a[i, q] * b[q, j]
                    x[i, j] = s * x[i, j]
        return np.sum(x[:, :2])

    rng = np.random.default_rng(3)
    a, b = rng.random((6, 8)), rng.random((8, 6))
    b[3, 4], b[1, 2] = np.inf, np.nan
    f = jit_grad(argnums=(0, 1), threads=2)(stepped)
    to_a, to_b = f.grad(a, b, steps)
    part = b[:, :2]
    da, db = rng.random(a.shape), rng.random(part.shape)
    x, dx = np.ones((6, 2)), np.zeros((6, 2))
    for _ in range(steps):
        s, ds = 0.5 * x + a @ part, 0.5 * dx + da @ part + a @ db
        x, dx = s * x, ds * x + s * dx
    np.testing.assert_allclose(np.sum(to_a * da) + np.sum(to_b[:, :2] * db), np.sum(dx), rtol=1e-12)
    np.testing.assert_array_equal(to_b[:, 2:], 0.0)
    again = jit_grad(argnums=(0, 1), threads=1)(stepped).grad(a, b, steps)
    assert all(np.array_equal(one, other) for one, other in zip(again, (to_a, to_b), strict=True))
    if steps == 0:
        assert not f.grad(a, np.zeros((0, 0)), 0)[0].any()


@pytest.mark.parametrize("k", [6, 25])
def test_scales_are_multiplied_in_their_order_if_they_are_not_moderate(k: int) -> None:
    def by_argument(a: Any, b: Any, w: Any, alpha: Any) -> Any:
        total = np.float32(0.0)
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = np.float32(0.0)
                for q in range(a.shape[1]):
                    s += alpha * a[i, q] * b[q, j]
                total += s * w[i, j]
        return total

    def by_constant(a: Any, b: Any, w: Any, alpha: Any) -> Any:
        total = np.float32(0.0)
        for i in range(a.shape[0]):
            for j in range(b.shape[1]):
                s = np.float32(0.0)
                for q in range(a.shape[1]):
                    s += np.float32(1e-25) * a[i, q] * b[q, j]
                total += s * w[i, j]
        return total * alpha

    ones = np.ones((4, k), np.float32)
    b, w = ones.T * np.float32(1e25), ones[:, :4] * np.float32(1e-25)
    to_a, _ = jit_grad(argnums=(0, 1))(by_argument).grad(ones, b, w, np.float32(1e-25))
    np.testing.assert_allclose(to_a, np.full((4, k), 4e-25), rtol=1e-5)
    to_a, _ = jit_grad(argnums=(0, 1))(by_constant).grad(ones, b, w, np.float32(1.0))
    np.testing.assert_allclose(to_a, np.full((4, k), 4e-25), rtol=1e-5)
    g = jit_grad(argnums=(0, 1))(by_argument)
    to_a, to_b = g.grad(ones, ones.T, ones[:, :4], np.float32(-3.0))
    np.testing.assert_array_equal(to_a, np.full((4, k), -12.0))
    np.testing.assert_array_equal(to_b, np.full((k, 4), -12.0))
    assert "linalg.matmul" in str(g.dump_ir("lowered"))
