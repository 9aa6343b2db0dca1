"""Loop-carried values of loops over elements, and buffers of rows, along an axis with several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.stencils import bits
from tests.ranks.table import on_ranks

X = np.random.default_rng(0).random((5, 9))


def one_before(u: Any) -> Any:
    v = np.zeros_like(u)
    for i in range(u.shape[0]):
        p = 0.0
        for j in range(u.shape[1]):
            v[i, j] = p + u[i, j]
            p = u[i, j] ** 2
    return np.sum(v**2)


def two_before(u: Any) -> Any:
    v = np.zeros_like(u)
    for i in range(u.shape[0]):
        p, q = 0.0, 1.0
        for j in range(u.shape[1]):
            v[i, j] = q * u[i, j]
            p, q = u[i, j], p
    return np.sum(v**2)


def rows(u: Any) -> Any:
    n, m = u.shape
    v = np.zeros_like(u)
    for i in range(n):
        w = np.empty(m + 2)
        w[0] = w[m + 1] = 0.5
        for j in range(m):
            w[j + 1] = u[i, j] ** 2
        for j in range(m):
            v[i, j] = w[j] - 2.0 * w[j + 2]
    return np.sum(v**2)


def rows_around(u: Any) -> Any:
    n, m = u.shape
    v = np.zeros_like(u)
    for i in range(n):
        w = np.empty(m)
        for j in range(m):
            w[j] = u[i, j] ** 2
        for j in range(m):
            v[i, j] = w[j - 1] + 2.0 * w[(j + 1) % m]
    return np.sum(v**2)


def kept(u: Any) -> Any:
    n, m = u.shape
    v = np.zeros_like(u)
    for i in range(n):
        w = np.empty(m + 2)
        w[0] = w[m + 1] = 0.5
        for j in range(m):
            w[j + 1] = u[i, j] ** 2
        for j in range(m):
            v[i, j] = w[j] * w[j + 2]
    return np.sum(v**2)


@pytest.mark.parametrize("f", [one_before, two_before, rows, rows_around, kept])
def test_values_of_other_iterations_are_fetched(f: Any) -> None:
    g = jit_grad(f)
    one = on_ranks((1, 1), jit_grad(argnums=(0,))(f), X.shape, (X,))[0]
    truth = g.grad(X)
    assert abs(one[0] - f(X)) <= 1e-13 * f(X)
    np.testing.assert_allclose(one[1][0], truth, rtol=1e-12)
    h = 1e-6 * np.cos(np.arange(X.size)).reshape(X.shape)
    np.testing.assert_allclose(np.sum(truth * h), (f(X + h) - f(X - h)) / 2, rtol=1e-6)
    for found in on_ranks((1, 3), jit_grad(argnums=(0,))(f), X.shape, (X,)):
        assert bits(found) == bits(one)


def smoothed(u: Any) -> Any:
    v = np.zeros_like(u)
    for i in range(u.shape[0]):
        p = 0.0
        for j in range(u.shape[1]):
            p = 0.5 * p + u[i, j]
            v[i, j] = p
    return np.sum(v**2)


def test_buffers_that_the_reverse_sweep_needs_are_refused() -> None:
    with pytest.raises((errors.CompileTypeError, ValueError), match="this buffer again"):
        on_ranks((2, 2), adc.jit_grad(argnums=(0,))(kept), X.shape, (X,))


@pytest.mark.parametrize("f", [smoothed, kept])
def test_rows_of_their_own(f: Any) -> None:
    """What depends on all before it, along an axis that is not distributed, is no matter of other ranks."""
    g = jit_grad(argnums=(0,))(f)
    one = on_ranks((1, 1), g, X.shape, (X,))[0]
    np.testing.assert_allclose(one[1][0], jit_grad(f).grad(X), rtol=1e-12)
    assert all(bits(found) == bits(one) for found in on_ranks((3, 1), g, X.shape, (X,)))


def test_what_depends_on_all_before_is_refused() -> None:
    with pytest.raises((errors.CompileTypeError, ValueError), match="each rank would need all of this array"):
        on_ranks((1, 2), adc.jit_grad(argnums=(0,))(smoothed), X.shape, (X,))


def overlapping(u: Any) -> Any:
    n, m = u.shape
    v = np.zeros_like(u)
    for i in range(n):
        w = np.zeros(m + 3)
        for j in range(m):
            for k in range(2):
                w[j + k + 1] = u[i, j] * (k + 1.0)
            v[i, j] = w[j] * u[i, j]
    return np.sum(v)


def test_elements_that_an_earlier_iteration_left_are_not_taken_for_those_of_this_one() -> None:
    """``w[j]`` is of the iteration before, as each writes other elements of ``w`` in front of it."""

    def run() -> Any:
        return adc.distribute(jit_grad(overlapping), adc.Grid(X.shape, (1, 2)))(X)

    with pytest.raises(ValueError, match="the same loop computes"):
        mpi.simulate(2, run)


def carried_sum(u: Any) -> Any:
    s = 0.0
    for i in range(len(u) - 1):
        s += u[i] * np.sin(u[i + 1])
    return s * u[2]


def test_sums_that_a_loop_carries_have_the_bits_of_python() -> None:
    g = jit_grad(argnums=(0,))(carried_sum)
    x = np.random.default_rng(0).random(23)
    (truth,) = g.grad(x)
    for n in (1, 2, 3, 6):
        for value, (bar,) in on_ranks((n,), g, x.shape, (x,)):
            assert value == carried_sum(x)
            np.testing.assert_allclose(bar, truth, rtol=1e-13)
