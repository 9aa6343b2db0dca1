"""narrow-columns: sums over rows have the same bits for any number of columns, and other loops stay in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad


def plain_sum(a, v):
    t = np.zeros(a.shape[1])
    for i in range(len(a)):
        t += a[i]
    return t


def gathered(a, v):
    """With a subscript that is loaded, a factor for each column, and a branch."""
    t, u = np.ones(a.shape[1]), np.zeros(a.shape[1])
    for i in range(len(a) - 1, 0, -2):
        k = (i * 7) % len(a)
        for j in range(a.shape[1]):
            x = a[k, j] * v[j] + i
            t[j] += x if x > 1 else -x
            u[j] = u[j] * 0.5 + t[j]
    return t * u


def one_after_the_other(a, v):
    """What a row adds to is what the next one reads beside it: the loops must not change places."""
    t = v.copy()
    for i in range(len(a)):
        t[1:] = t[1:] + a[i, 1:] * t[:-1]
    return t


def into_its_source(a, v):
    a = a.copy()
    for i in range(1, len(a)):
        for j in range(a.shape[1]):
            a[0, j] += a[i, j] * a[i - 1, j]
    return a


def two_views_of_one(a, v):
    t = np.zeros((2, a.shape[1]))
    p, q = t[0], t[len(a) % 2]
    for i in range(len(a)):
        for j in range(a.shape[1]):
            p[j] += a[i, j]
            q[j] *= 0.5
    return t


def columns_that_are_not_there(a, v):
    """Elements that no row comes to."""
    t = np.zeros(1)
    for i in range(len(a) - 5):
        for j in range(a.shape[1]):
            t[j] += a[i, j]
    return t


PROGRAMS = [
    plain_sum, gathered, one_after_the_other, into_its_source, two_views_of_one, columns_that_are_not_there,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_the_same_to_the_bit(function: Callable[..., Any], dtype: type) -> None:
    compiled = jit_grad(function)
    rng = np.random.default_rng(3)
    for n in (0, 1, 5) if function is columns_that_are_not_there else (1, 2, 7):
        for m in (0, 1, 2, 3, 7, 8, 9, 17):
            a, v = rng.standard_normal((n, m)).astype(dtype), rng.random(m).astype(dtype)
            np.testing.assert_array_equal(compiled(a, v), function(a, v), strict=True)
            wide = np.asfortranarray(rng.standard_normal((n, 2 * m + 1)).astype(dtype))[:, 1::2]
            np.testing.assert_array_equal(compiled(wide, v), function(wide, v), strict=True)


@pytest.mark.parametrize("function", PROGRAMS[:-1], ids=lambda f: f.__name__)
def test_gradients(function: Callable[..., Any]) -> None:
    compiled = jit_grad(lambda a, v: np.sum(function(a, v) ** 2))
    rng = np.random.default_rng(4)
    for m in (1, 3, 8, 9):
        a, v = rng.standard_normal((4, m)), rng.random(m)
        da, dv = rng.standard_normal((4, m)), rng.standard_normal(m)
        ga, gv = adc.grad(compiled, argnums=(0, 1))(a, v)
        forward = adc.jvp(compiled, (a, v), (da, dv))[1]
        assert np.sum(ga * da) + np.sum(gv * dv) == pytest.approx(forward, rel=1e-10)


def test_which_loops_change_places() -> None:
    taken = {function.__name__ for function in PROGRAMS if _taken(function)}
    assert taken == {"plain_sum", "gathered", "columns_that_are_not_there"}


def _taken(function: Callable[..., Any]) -> bool:
    compiled = jit_grad(function)
    compiled(np.ones((4, 3)), np.ones(3))
    functions = compiled.dump_ir("lowered").split("func.func @")
    return any("memref<8xf64>" in text for text in functions if ".rev" not in text.split("(")[0])


@pytest.mark.usefixtures("optimised")
def test_it_is_simd() -> None:
    compiled = jit_grad(plain_sum)
    compiled(np.ones((4, 3)), np.ones(3))
    assert "masked.load" in compiled.dump_ir("llvm")
