"""contract-arrays and expand-arrays: whole-array statements on points and other arrays, point by point; values and
gradients are those of plain Python, and arrays with other uses stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.ir.types import MemRefType

RNG = np.random.default_rng(8)


def log_density(x: Any, y: Any, h: Any) -> float:
    """The greatest of each row, other loops between those over points, a row that is needed again."""
    away = x[:, None, :] - y[None, :, :]
    scale = np.exp(h)
    scaled = np.empty(len(h))
    for j in range(len(h)):
        scaled[j] = scale[j] / (1.0 + j)
    terms = -0.5 * np.sum(away**2 * scaled, axis=2)
    most = terms.max(axis=1, keepdims=True)
    return np.sum(most[:, 0] + np.log(np.mean(np.exp(terms - most), axis=1)))


def soft_assignment(x: Any, y: Any, h: Any) -> float:
    """Rows that are read in several places, products of rows that the reverse sweep needs."""
    squares = np.sum((x[:, None, :] - y) ** 2, axis=-1)
    weights = np.exp(-squares * h[0])
    shares = weights / weights.sum(axis=1, keepdims=True)
    return np.sum(np.tanh(np.sum(shares * squares, axis=1)))


def filled(x: Any, y: Any, h: Any) -> float:
    """An array of zeros, of which not all is written to."""
    rows = np.zeros((len(x), len(y), 3))
    rows[:, :, 0] = x[:, None, 0] * y[None, :, 0]
    rows[:, :, 2] = x[:, None, 1] + y[None, :, 1]
    return np.sum(np.sum(np.sum(rows**2, axis=2), axis=1) ** 2 * h[0])


def looked_at(x: Any, y: Any, h: Any) -> float:
    """Another point's row is read, too."""
    squares = np.sum((x[:, None, :] - y) ** 2, axis=-1)
    sums = np.sum(squares, axis=1)
    return np.sum(sums[1:] * squares[:-1, 0]) * h[0]


def returned(x: Any, y: Any, h: Any) -> Any:
    squares = np.sum((x[:, None, :] - y) ** 2, axis=-1)
    total = np.sum(np.sqrt(1.0 + np.sum(squares, axis=1))) * h[0]
    return total, squares


FUNCTIONS = log_density, soft_assignment, filled, looked_at
COMPILED = {f: jit_grad(argnums=(0, 1, 2))(f) for f in FUNCTIONS}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    compiled = COMPILED[function]
    for n, k, d in ((50, 3, 2), (1, 4, 3), (0, 2, 2), (3, 60, 5), (97, 1, 2)):
        args = RNG.random((n, d)), RNG.random((k, d)), RNG.random(d)
        expected = function(*args)
        value, gradient = compiled.value_and_grad(*args)
        assert compiled(*args) == pytest.approx(expected, rel=1e-12)
        assert value == pytest.approx(expected, rel=1e-12)
        direction = tuple(RNG.random(g.shape) for g in gradient)
        moved = [[a + s * 1e-6 * t for a, t in zip(args, direction, strict=True)] for s in (1, -1)]
        slope = (function(*moved[0]) - function(*moved[1])) / 2e-6
        found = sum(np.sum(g * t) for g, t in zip(gradient, direction, strict=True))
        assert found == pytest.approx(slope, rel=1e-6, abs=1e-7)
        _, along = adc.jvp(compiled, args, direction)
        assert along == pytest.approx(found, rel=1e-10, abs=1e-12)


def _ranks(compiled: Any) -> list[int]:
    """Of the arrays that a function makes."""
    module = parse_module(compiled.dump_ir("simplified"))
    types = [op.result.type for func in module.funcs.values() for op in func.walk() if op.opdef is ops.alloc]
    return [t.rank for t in types if isinstance(t, MemRefType)]


@pytest.mark.parametrize(("function", "highest"), [(log_density, 1), (soft_assignment, 1), (filled, 2), (looked_at, 2)])
def test_what_arrays_are_left(function: Any, highest: int) -> None:
    fresh = jit_grad(function)
    fresh(RNG.random((5, 2)), RNG.random((3, 2)), RNG.random(2))
    assert max(_ranks(fresh)) == highest


def test_what_is_returned_is_whole() -> None:
    args = RNG.random((5, 2)), RNG.random((3, 2)), RNG.random(2)
    for found, expected in zip(jit_grad(returned)(*args), returned(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_threads_single_precision_and_second_derivatives() -> None:
    narrow = tuple(a.astype(np.float32) for a in (RNG.random((300, 3)), RNG.random((4, 3)), RNG.random(3)))
    one, two = (jit_grad(argnums=(0, 1), threads=t)(soft_assignment).value_and_grad(*narrow) for t in (1, 2))
    assert one[0] == two[0]
    for a, b in zip(one[1], two[1], strict=True):
        np.testing.assert_array_equal(a, b)
    args = RNG.random((60, 3)), RNG.random((4, 3)), RNG.random(3)
    direction = RNG.random((4, 3))
    (found,) = adc.hvp(soft_assignment, args, (None, direction, None), argnums=(1,))
    ahead, behind = (
        COMPILED[soft_assignment].grad(args[0], args[1] + s * 1e-5 * direction, args[2])[1] for s in (1, -1)
    )
    np.testing.assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-7)


def test_a_pullback_keeps_the_rows() -> None:
    args = RNG.random((40, 3)), RNG.random((4, 3)), RNG.random(3)
    _, back = COMPILED[soft_assignment].pullback(*args)
    for one, other in zip(back(2.0), COMPILED[soft_assignment].grad(*args), strict=True):
        np.testing.assert_allclose(one, 2.0 * other, rtol=1e-12)
