"""Costly expressions that broadcasting repeats are computed once: values, derivatives, and the place of the code."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(7)
X, V, C = RNG.random((4, 3)) + 0.5, RNG.random(3) + 0.5, RNG.random((4, 1)) + 0.5


@pytest.mark.parametrize(
    "body",
    [
        "X / np.sqrt(v + 1)",
        "np.log(v) - X ** 2 ** (v * v + v)",
        "np.maximum(X, np.exp(-v)) + np.hypot(c, 1 / v)",
        "np.power(X, np.sin(v)) * np.cos(c)",
        "X * np.exp(v)[None, :] + np.exp(c) * v",
        "X[:, ::2] / np.tanh(v[::-2]) ** 2",
        "np.where(X > 1, X, np.log(v)) / np.sum(np.exp(v) / v)",
        "X[:0] / np.sqrt(v)",
        "X[:, :0] / np.sqrt(v[:0])",
    ],
)
def test_values_and_derivatives(body: str) -> None:
    check(body, X=X, v=V, c=C, exact=False, rtol=1e-14)


def test_single_precision() -> None:
    check("X / np.sqrt(v)", X=X.astype(np.float32), v=V.astype(np.float32), exact=False, rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "X *= np.exp(v) / v\nreturn X",
        "X[...] = np.exp(v)\nX[1:, 0] += 1\nreturn X * v",
        "v[...] = np.sin(v) * 2\nY = X / (np.cos(v) + 2)\nv[...] = 1.0\nreturn Y + v",
        "X[:] = X[0] / np.sqrt(X[1] + 1)\nreturn X",
    ],
)
def test_in_place(body: str) -> None:
    check(body, X=X, v=V, exact=False, rtol=1e-14)


def test_extents_that_are_not_known_to_be_one() -> None:
    f = function_of("return X / np.sqrt(v)", "X", "v")
    compiled = adc.jit_grad(f)
    for rows, columns in ((4, 3), (1, 3), (4, 1), (1, 1), (0, 2)):
        x, v = RNG.random((rows, columns)), RNG.random(columns) + 0.5
        np.testing.assert_array_equal(compiled(x, v), f(x, v))
    np.testing.assert_array_equal(compiled(x := RNG.random((4, 3)), V[:1]), f(x, V[:1]))
    with pytest.raises(ValueError, match="broadcast"):
        compiled(X, V[:2])


def test_a_zero_that_is_masked_contributes_nothing() -> None:
    f = adc.jit_grad(function_of("return np.sum(np.where(X > 5, X / np.sqrt(v), X))", "X", "v"), argnums=(0, 1))
    by_x, by_v = f.grad(X, np.zeros(3))
    np.testing.assert_array_equal(by_x, np.ones_like(X))
    np.testing.assert_array_equal(by_v, np.zeros(3))


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ("return X / np.sqrt(v)", "math.sqrt"),
        ("return np.maximum(X, np.exp(v))", "math.exp"),
        ("X[...] = np.sin(v)\nreturn X", "math.sin"),
        ("return np.sum((X - np.log(v)) ** 2)", "math.log"),
    ],
)
def test_it_is_computed_in_a_loop_of_its_own(body: str, operation: str) -> None:
    compiled = adc.jit_grad(function_of(body, "X", "v"))
    compiled(X.copy(), V)
    (line,) = [text for text in compiled.dump_ir("simplified").splitlines() if operation in text]
    assert len(line) - len(line.lstrip()) == 4, "inside one loop"


def test_what_costs_little_is_not_kept() -> None:
    compiled = adc.jit_grad(function_of("return X * (2 * v)", "X", "v"))
    compiled(X, V)
    assert compiled.dump_ir("simplified").count("memref.alloc") == 1
