"""Steps of many particles, forward and back in one iteration: their tapes are rows of an iteration (contract-arrays),
or columns (vectorise-outer). Values are those of plain Python, gradients those of forward mode."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.ir.types import MemRefType


def predator(a: Any, z: Any, h: Any) -> float:
    """Two states, of which each step needs both."""
    total = 0.0
    for p in prange(a.shape[0]):
        x, y = a[p], 1.0 + 0.5 * a[p]
        for _ in range(z.shape[0]):
            dx, dy = h * (x - x * y), h * (x * y - y)
            x += dx
            y += dy
        total += x * y
    return total


def deviations(a: Any, z: Any, h: Any) -> float:
    """Running mean and variance of columns."""
    total = 0.0
    for p in prange(a.shape[0]):
        mean, var = a[p], 0.0
        for t in range(z.shape[0]):
            d = z[t, p] - mean
            mean += h * d
            var = (1.0 - h) * (var + h * d * d)
            total += math.sqrt(var + 1e-3)
    return total


def rows(a: Any, z: Any, h: Any) -> float:
    """Data that iterations have far apart, and weights that all share."""
    total = 0.0
    w = z[:, 0].copy()
    y = z.T.copy()
    for p in prange(a.shape[0]):
        q, sum_ = a[p], 0.0
        for t in range(z.shape[0]):
            q *= math.exp(-h * w[t] * y[p, t])
            sum_ += q * w[t]
        total += sum_ * sum_
    return total


def chosen(a: Any, z: Any, h: Any) -> float:
    """Steps on a condition, and an inner loop that ends early."""
    total = 0.0
    for p in prange(a.shape[0]):
        x = a[p]
        for t in range(z.shape[0]):
            if z[t, p] > 0.0:
                x = x * x * h + z[t, p]
            else:
                x = np.sin(x)
        for t in range(z.shape[0]):
            x = x * (1.0 + h * z[t, p])
            if x > 2.0:
                break
        total += x
    return total


def products(a: Any, z: Any, h: Any) -> float:
    """Two loops over the same rows."""
    return np.sum(np.prod(1.0 + h * z, axis=0) ** 2) + np.sum(a)


def leftovers(a: Any, z: Any, h: Any) -> float:
    """A local array of each iteration's, which is written in two ways and summed later."""
    d = np.zeros((a.shape[0], z.shape[0] + 1))
    for p in prange(a.shape[0]):
        d[p, 0] = a[p]
        for t in range(z.shape[0]):
            d[p, t + 1] = d[p, t] * (1.0 + h * z[t, p])
    return np.sum(d[:, -1] ** 2)


PROGRAMS = [predator, deviations, rows, chosen, products, leftovers]
SIZES = (0, 3), (1, 4), (7, 0), (8, 5), (50, 6), (101, 3)


def inputs(n: int, steps: int, dtype: Any = np.float64) -> tuple[Any, ...]:
    rng = np.random.default_rng(n + steps)
    return rng.random(n).astype(dtype), rng.standard_normal((steps, max(n, 1))).astype(dtype), dtype(0.1)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Any) -> None:
    one, two = (jit_grad(argnums=(0, 1, 2), threads=t)(function) for t in (1, 2))
    for n, steps in SIZES:
        args = inputs(n, steps)
        value, gradient = one.value_and_grad(*args)
        assert value == pytest.approx(function(*args), rel=1e-12, abs=1e-13)
        rng = np.random.default_rng(1)
        along = tuple(rng.standard_normal(np.shape(a)) for a in args[:2]), 0.7
        _, slope = adc.jvp(one, args, (*along[0], along[1]))
        found = sum(np.sum(g * t) for g, t in zip(gradient, (*along[0], along[1]), strict=True))
        assert found == pytest.approx(slope, rel=1e-10, abs=1e-12)
        same, others = two.value_and_grad(*args)
        assert same == value
        for a, b in zip(gradient[:2], others[:2], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", [predator, deviations, chosen], ids=lambda f: f.__name__)
def test_single_precision_and_repeated_calls(function: Any) -> None:
    compiled = jit_grad(argnums=(0, 1))(function)
    narrow, wide = inputs(50, 6, np.float32), inputs(50, 6)
    first = compiled.grad(*narrow)
    for found, expected in zip(first, compiled.grad(*wide), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)
    for found, expected in zip(compiled.grad(*narrow), first, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [predator, deviations], ids=lambda f: f.__name__)
def test_tapes_are_made_in_the_loop(function: Any) -> None:
    """So they take the memory of the iterations that run at a time, not of all."""
    compiled = jit_grad(argnums=(0, 1))(function)
    compiled.value_and_grad(*inputs(50, 6))
    funcs = parse_module(compiled.dump_ir("lowered")).funcs.values()
    made = [op for func in funcs if "cold" not in func.name for op in func.walk() if op.opdef is ops.alloc]
    tables = [op for op in made if isinstance(t := op.result.type, MemRefType) and t.rank == 2]
    assert tables
    assert all(op.parent is not None and op.parent.parent_op is not None for op in tables)
