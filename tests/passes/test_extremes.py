"""Gradients through smallest and largest elements go to the first of them, and keep nothing of the loop."""

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
        tapes = [line for line in function.dump_ir("adjoint").splitlines() if "adc.tape" in line and "f64" in line]
        whole = [line for line in tapes if "?x?x" in line]
        assert len(whole) == (function is shifted), tapes  # of each element, the exponentials only
    assert sum("memref.alloc(%0, %1)" in line for line in shifted.dump_ir("adjoint").splitlines()) == 1
    assert "scf.for" not in shifted.dump_ir("adjoint")
    of_all.grad(A, 1.0)
    ir = of_all.dump_ir("adjoint")
    assert "adc.tape" not in ir and "scf.for" not in ir


@jit_grad
def nearest(x: Any, y: Any) -> float:
    """Terms that are sums: value and place are found in one loop."""
    return np.sum(np.min(np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2), axis=1) ** 1.5)


@jit_grad
def farthest(x: Any, y: Any) -> float:
    total = 0.0
    for row in x:
        total += np.max(np.sum(row * y, axis=1), initial=-0.25)
    return total


def test_of_sums_in_a_loop() -> None:
    for rows, others, columns in ((1, 1, 1), (5, 3, 4), (60, 4, 3), (50, 30, 30)):
        x, y = RNG.normal(size=(rows, columns)), RNG.normal(size=(others, columns))
        for function in (nearest, farthest):
            assert function(x, y) == pytest.approx(function.__wrapped__(x, y), rel=1e-12)
            checked(function, x, y)
    assert "scf.for" in nearest.dump_ir("adjoint")


def test_of_sums_that_are_equal_or_no_numbers() -> None:
    by_y = adc.grad(nearest, argnums=1)
    np.testing.assert_array_equal(by_y(np.zeros((1, 2)), np.ones((3, 2)))[1:], 0.0)  # the first of three
    x, y = np.ones((50, 2)), np.array([[3.0, 3.0], [np.nan, 0.0], [1.0, 2.0]])
    assert np.isnan(nearest(x, y)) and np.isnan(adc.value_and_grad(nearest, argnums=1)(x, y)[0])
    found = by_y(x, y)
    assert np.isnan(found[1, 0]) and not found[[0, 2]].any()
    zeros = np.array([[-0.0, -0.0], [0.0, -0.0]])
    signed = jit_grad(lambda x, y: np.sum(1.0 / np.min(np.sum(x[:, None, :] * y, axis=2), axis=1)))
    for x in (np.ones((2, 2)), np.ones((50, 2))):
        assert signed(x, zeros) == adc.value_and_grad(signed)(x, zeros)[0]


def with_a_sum(a: Any, b: Any) -> float:
    """Two reductions: the loop that looks for one of them again is another loop."""
    m = -np.inf
    s = 0.0
    for i in adc.prange(a.shape[0]):
        e = np.exp(a[i]) * np.sin(b[i])
        m = max(m, e)
        s += e
    return m + 0.0 * s


def of_inner_sums(a: Any, b: Any) -> float:
    m = np.inf
    for i in adc.prange(a.shape[0]):
        s = 0.0
        for j in range(b.shape[0]):
            s += np.exp(a[i] * b[j])
        m = min(m, s)
    return m


@pytest.mark.parametrize("function", [with_a_sum, of_inner_sums])
def test_terms_that_are_computed_again_with_other_bits(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_LEVEL", "3")  # with SIMD
    compiled = jit_grad(function)
    rng = np.random.default_rng(5)
    for n in (*range(1, 30), *range(1, 30)):
        a, b, direction = rng.normal(size=(3, n))
        along = np.sum(compiled.grad(a, b) * direction)
        h = 1e-7
        ahead, behind = (function(a + s * h * direction, b) for s in (1, -1))
        assert along == pytest.approx((ahead - behind) / (2 * h), rel=1e-4, abs=1e-4)
        assert compiled.jvp((a, b), (direction, None))[1] == pytest.approx(along, rel=1e-9)


def test_second_derivatives_of_terms_of_library_functions() -> None:
    v = np.array([0.3, 1.7, -0.4, 1.2])
    hessian = adc.hessian(lambda v: np.max(np.exp(v) * v) + np.min(np.sin(v)))(v)
    expected = np.zeros((4, 4))
    expected[1, 1] = np.exp(1.7) * 3.7
    expected[2, 2] = np.sin(0.4)
    np.testing.assert_allclose(hessian, expected, rtol=1e-12)
    mapped = adc.vmap(adc.grad(lambda v: np.max(np.exp(v) * v)))(np.stack([v, v[::-1]]))
    np.testing.assert_allclose(mapped[0], [0.0, np.exp(1.7) * 2.7, 0.0, 0.0], rtol=1e-12)
    np.testing.assert_array_equal(mapped[1], mapped[0][::-1])


def test_values_have_the_bits_of_a_plain_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_LEVEL", "3")
    compiled = jit_grad(lambda a, b: np.max(np.exp(a) * np.sin(b) * np.tanh(a * b)))
    rng = np.random.default_rng(5)
    for n in (1, 2, 5, 8, 13, 16, 31, 40, 64, 67):
        a, b = rng.normal(size=(2, n))
        value = compiled(a, b)
        assert compiled.value_and_grad(a, b)[0] == value
        assert compiled.jvp((a, b), (a, b))[0] == value
