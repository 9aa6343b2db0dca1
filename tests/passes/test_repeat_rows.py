"""repeat-rows: nests that combine all rows of an array with the same row give the same, whatever the shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange

SHAPES = [(1, 1), (1, 5), (7, 3), (0, 3), (3, 0), (129, 4), (300, 2), (90, 3), (256, 1), (40, 15), (3, 127), (5, 300)]


def scaled(x, b):
    return (x - b) * b


def summed(x, b):
    return np.sum(np.tanh(x * b + b))


def twice(x, b):
    y = x * b
    y *= np.sin(b) + y
    return np.mean(y * y)


def by_loops(x, b):
    total = 0.0
    for i in prange(x.shape[0]):
        for j in prange(x.shape[1]):
            total += x[i, j] * b[j] if x[i, j] > 0.0 else b[j]
    return total


def down(x, b):
    """Each row depends on the one before: they stay in order."""
    y = x * 1.0
    z = y[1:]
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] += y[i, j] * b[j]
    return y


def changed(x, b):
    """The row that all are combined with is one of them."""
    y = x + b
    y[:] = y * y[0] if len(y) else y
    return y


PROGRAMS = [scaled, summed, twice, by_loops, down, changed]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values(function: Callable[..., Any]) -> None:
    compiled = jit_grad(function, threads=2)
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        if not np.prod(shape) and function in (twice, changed):
            continue
        x, b = rng.standard_normal(shape), rng.standard_normal(shape[1])
        np.testing.assert_allclose(compiled(x, b), function(x, b), rtol=1e-12, atol=1e-14)
        every = np.repeat(b, 3)[1::3]
        np.testing.assert_allclose(compiled(x, every), function(x, every), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(function: Callable[..., Any]) -> None:
    """Against tangents; the same bits on one thread and two."""
    loss = (lambda x, b: np.sum(function(x, b) ** 2)) if function in (scaled, down, changed) else function
    compiled, alone = jit_grad(loss, threads=2), jit_grad(loss, threads=1)
    rng = np.random.default_rng(2)
    for shape in SHAPES:
        if not np.prod(shape):
            continue
        x, b, dx, db = (rng.standard_normal(s) for s in (shape, shape[1:], shape, shape[1:]))
        gx, gb = adc.grad(compiled, argnums=(0, 1))(x, b)
        along = adc.jvp(compiled, (x, b), (dx, db))[1]
        assert np.sum(gx * dx) + np.sum(gb * db) == pytest.approx(along, rel=1e-9, abs=1e-9)
        for one, other in zip(adc.grad(alone, argnums=(0, 1))(x, b), (gx, gb), strict=True):
            np.testing.assert_array_equal(one, other)


def test_rows_are_several_at_a_time() -> None:
    """One loop over the elements of all rows of a period, for values and gradients."""
    compiled = jit_grad(twice, argnums=(0, 1))
    compiled.value_and_grad(np.ones((5, 3)), np.ones(3))
    assert "arith.ceildivsi %c64" in compiled.dump_ir("lowered")
