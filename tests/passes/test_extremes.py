"""Gradients through least and greatest elements go to where the first of them is, and keep nothing of the loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

RNG = np.random.default_rng(8)
A = RNG.normal(size=(5, 7))


@jit_grad
def of_all(a: Any, low: float) -> float:
    return np.max(a, initial=low) * 2.0 + np.min(a * a)


@jit_grad
def of_rows(a: Any) -> float:
    return np.sum(np.max(a, axis=1) * np.min(np.sin(a), axis=1)) + np.sum(np.max(np.abs(a), axis=0) ** 2)


@jit_grad
def of_products(a: Any, b: Any) -> float:
    return np.max(a @ b) - np.min(np.sum(a, axis=1))


@jit_grad
def shifted(a: Any) -> Any:
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return np.sum(np.log(np.sum(e, axis=1)) * np.arange(a.shape[0]))


@jit_grad
def overwritten(a: Any) -> float:
    """The elements are no longer there when the gradient is taken."""
    x = a * 1.0
    total = 0.0
    for _ in range(4):
        m = np.max(x)
        x[:] = np.sin(x * 3.0) * m
        total += m * m
    return total


def checked(function: Any, *args: Any) -> None:
    """The gradient is what differences and forward mode give."""
    compiled = adc.grad(function)(*args)
    direction = RNG.normal(size=args[0].shape)
    zeros = [None if not isinstance(x, np.ndarray) else np.zeros_like(x) for x in args[1:]]
    tangents = (direction, *(0.0 if z is None else z for z in zeros))
    _, along = adc.jvp(function, args, tangents)
    h = 1e-6
    ahead, behind = (function(args[0] + s * h * direction, *args[1:]) for s in (1, -1))
    assert along == pytest.approx(np.sum(compiled * direction), rel=1e-10)
    assert along == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


def test_derivatives() -> None:
    for low in (-9.0, 9.0):
        checked(of_all, A, low)
    checked(of_rows, A)
    checked(of_products, A, RNG.normal(size=(7, 3)))
    checked(shifted, A)
    checked(overwritten, A)
    checked(overwritten, A[0])


def test_the_first_of_equal_ones_counts() -> None:
    v = np.array([1.0, 3.0, 3.0, 2.0, 3.0])
    greatest, least = jit_grad(lambda v: np.max(v)), jit_grad(lambda v: np.min(-v))
    np.testing.assert_array_equal(greatest.grad(v), [0, 1, 0, 0, 0])
    np.testing.assert_array_equal(least.grad(v), [0, -1, 0, 0, 0])
    np.testing.assert_array_equal(greatest.grad(np.array([-np.inf, -np.inf])), [1, 0])
    zeros = np.array([-1.0, -0.0, 0.0, -0.0])
    assert greatest.grad(zeros).sum() == 1.0 and greatest.grad(zeros)[0] == 0.0
    np.testing.assert_array_equal(greatest.grad(np.array([1.0, np.nan, 5.0, np.nan])), [0, 1, 0, 0])


def test_values_are_those_of_a_plain_call() -> None:
    for v in (A[0], np.array([0.0, -0.0, -1.0]), np.array([-0.0, 0.0]), np.array([np.nan, 1.0])):
        greatest = jit_grad(lambda v: np.max(v))
        value, _ = greatest.value_and_grad(v)
        assert np.float64(value).tobytes() == np.float64(greatest(v)).tobytes() or np.isnan(value)


def test_of_nothing_what_is_given_counts() -> None:
    initial = jit_grad(lambda v, x: np.max(v, initial=x) * 3.0, argnums=(0, 1))
    g, at = initial.grad(np.zeros(0), 4.0)
    assert g.shape == (0,) and at == 3.0
    g, at = initial.grad(np.array([1.0, 7.0]), 4.0)
    np.testing.assert_array_equal(g, [0, 3])
    assert at == 0.0


def test_second_derivatives() -> None:
    curved = jit_grad(lambda v: np.max(v * v * v))
    v = np.array([1.0, 4.0, 3.0])
    np.testing.assert_allclose(adc.hessian(curved)(v), np.diag([0.0, 24.0, 0.0]))


def test_nothing_is_kept_of_the_loop() -> None:
    for function in (of_rows, shifted):
        function.grad(A)
        ir = function.dump_ir("adjoint")
        assert "scf.for" not in ir
    of_all.grad(A, 1.0)
    assert "adc.tape" not in of_all.dump_ir("adjoint")
