"""Second derivatives through calls whose reverse sweep is a separate function: what is stored in an array that a call
returns is also in the record of the call."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import adc
from adc import jit_grad


def made(a, k):
    """A new array; never inlined, for it calls itself."""
    u = np.zeros(4)
    for i in range(4):
        u[i] = np.sin(a[k % 3] + i)
    return u * made(a, k - 1) if k > 0 else u * u


def pair(a, k):
    if k == 0:
        return a * a, np.sin(a)
    u, v = pair(a * 0.5, k - 1)
    return u * v, np.cos(v * a)


def onto(a, w, k):
    """Changes an array that it is given, and returns another one."""
    if k == 0:
        w *= a
        return w * a
    w += onto(a, w, k - 1)
    return np.exp(-w * w)


def of_the_array(a, n):
    return np.sum(np.sin(made(a, n)))


def of_an_element(a, n):
    return np.exp(made(a, n)[1])


def of_several(a, n):
    u, v = pair(a, n)
    w = u * v
    w += u
    return np.sum(w * w)


def in_a_loop(a, n):
    s = 0.3
    for k in range(n + 1):
        u = made(a, k)
        u *= s
        s = 0.5 * s + np.sum(np.sin(u))
    return s


def in_a_call(a, n):
    w = a.copy()
    u = onto(a, w, n)
    return np.sum(u * w * np.sin(a))


A, D = np.array([0.4, 1.1, -0.7]), np.array([0.3, -0.8, 0.5])


@pytest.mark.parametrize("function", [of_the_array, of_an_element, of_several, in_a_loop, in_a_call])
@pytest.mark.parametrize("n", [2])
def test_forward_over_reverse(function, n: int) -> None:  # type: ignore[no-untyped-def]
    """Against complex steps of plain Python's own derivative along ``D``, by differences of fourth order."""
    h = 1e-3

    def along(t: float) -> float:
        """The derivative by complex step."""
        moved = A + t * D + 1e-30j * D
        return float(np.imag(plain(function, moved, n)) / 1e-30)

    truth = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    np.testing.assert_allclose(compiled(function).grad(A.copy(), n) @ D, along(0.0), rtol=1e-12)
    found = forward_over_reverse(function, n)
    np.testing.assert_allclose(found @ D, truth, rtol=1e-8)
    hessian = adc.hessian(compiled(function))(A.copy(), n)
    np.testing.assert_allclose(hessian @ D, found, rtol=1e-12)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-11, atol=1e-13)


def of_a_number(x, n):
    return np.sin(alone(x, n)[0])


def alone(x, k):
    u = np.zeros(1)
    u[0] = x
    return u if k == 0 else alone(x, k - 1)


def summed(function, n):
    def along(d, a):
        return np.sum(d * adc.grad(function)(a, n))

    return along


@functools.cache
def forward_over_reverse(function, n):
    return adc.hvp(compiled(function), (A.copy(), n), (D, None))


@functools.cache
def compiled(function):
    return jit_grad(function)


@functools.cache
def reverse_over_reverse(function, engine):
    """By the array, for any ``n``."""

    def along(d, a, n):
        return np.sum(d * adc.grad(function)(a, n))

    return adc.grad(jit_grad(along, _engine=engine), argnums=1)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("function", [of_the_array, of_an_element, of_several, in_a_loop])
@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_reverse_over_reverse(function, n, engine):
    """The shadow that the first sweep adds to is in the record that the second one reads."""
    found = reverse_over_reverse(function, engine)(D, A.copy(), n)
    np.testing.assert_allclose(found, forward_over_reverse(function, n), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("function", [of_the_array, of_an_element, of_several, in_a_loop])
def test_reverse_over_reverse_with_a_constant(function):
    """The depth is known when it is compiled."""
    found = adc.grad(jit_grad(summed(function, 1)), argnums=1)(D, A.copy())
    np.testing.assert_allclose(found, forward_over_reverse(function, 1), rtol=1e-11, atol=1e-14)


def test_reverse_over_reverse_through_a_recursion() -> None:
    assert adc.grad(adc.grad(of_a_number))(0.7, 2) == pytest.approx(-np.sin(0.7), rel=1e-14)
    assert adc.grad(adc.grad(adc.grad(of_a_number)))(0.7, 2) == pytest.approx(-np.cos(0.7), rel=1e-14)


def plain(function, a, n):  # type: ignore[no-untyped-def]
    """The Python function on complex numbers."""
    zeros = np.zeros
    try:
        np.zeros = lambda shape: zeros(shape, complex)  # type: ignore[assignment]
        return function(a, n)
    finally:
        np.zeros = zeros
