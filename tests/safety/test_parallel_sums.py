"""Arrays into which the iterations of a parallel loop sum: Python's values, the same bits on any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.backend.runtime import on_threads
from adc.border.signature import abstracts_of
from adc.driver.compiler import Staged
from adc.errors import CompileError
from adc.ir import ops

pytestmark = pytest.mark.usefixtures("stages")


def by_name(x):
    r = np.zeros(3)
    for i in prange(len(x)):
        r += x[i] * np.ones(3)
    return r


def rebound(x):
    r = np.ones(3)
    for i in prange(len(x)):
        r = r + x[i] * np.array((0.0, 1.0, 2.0))
    return r


def rebound_the_other_way(x):
    r = np.ones(3)
    for i in prange(len(x)):
        r = x[i] * np.array((0.0, 1.0, 2.0)) + r
    return r


def subtracted(x):
    r = np.ones(2)
    for i in prange(len(x)):
        r = r - np.sin(x[i])
    return r


def of_two_dimensions(x):
    r = np.zeros((2, 3))
    for i in prange(len(x)):
        r += x[i] * x[i]
    return r


def of_a_slice(x):
    r = np.zeros(5)
    for i in prange(len(x)):
        r[:] += x[i] * np.ones(5)
        r[1:3] -= x[i] * x[:2]
    return r


def of_a_row(x):
    r = np.zeros((3, len(x)))
    for i in prange(len(x)):
        r[1] += x[i] * x
        r[::2, 0] += x[i]
    return r


def of_elements(x):
    r = np.zeros(3)
    for i in prange(len(x)):
        r[0] += x[i]
        r[-1] += x[i] * x[i]
        r[0] -= np.cos(x[i])
    return r


def by_an_inner_loop(x):
    r = np.zeros(4)
    for i in prange(len(x)):
        for k in range(4):
            r[k] += x[i] * (k + 1)
    return r


def by_inner_loops_of_unknown_length(x):
    n = len(x) // 2
    r = np.zeros((n, n))
    for i in prange(len(x)):
        for j in range(n):
            for k in range(j):
                r[j, k] += x[i] * x[j] - x[k]
    return r


def under_a_condition(x):
    r = np.zeros(2)
    for i in prange(len(x)):
        if x[i] > 0.5:
            r[1] += x[i]
        else:
            r += x[i] * x[i]
    return r


def in_a_callee(x):
    r = np.zeros(2)
    for i in prange(len(x)):
        add(r, x[i])
    return r


def add(r, v):
    r += v


def beside_other_stores(x):
    r, out = np.zeros(2), np.zeros(len(x))
    for i in prange(len(x)):
        y = np.sin(x[i])
        out[i] = y * y
        r += y
    return np.sum(out) * r


def in_a_nest(x):
    r = np.zeros(2)
    for i in prange(len(x)):
        for j in prange(len(x)):
            r += x[i] * x[j]
    return r


def in_a_time_loop(x):
    r = np.zeros(2)
    for _ in range(3):
        for i in prange(len(x)):
            r += x[i] * np.ones(2)
        r *= 0.5
    return r


def averaged(x):
    """What is summed is used, and summed into once more."""
    r = np.zeros(2)
    for i in prange(len(x)):
        r[0] += x[i]
    m = r[0] / len(x)
    for i in prange(len(x)):
        r[1] += (x[i] - m) ** 2
    return r


def again_under_a_condition(x):
    r = np.zeros(3)
    for i in prange(len(x)):
        for k in range(3):
            r[k] += x[i] * k
            if x[i] > 0.5:
                r[k] -= x[i] * x[i]
            else:
                r[k] += 1.0
    return r


SUMS = [
    by_name, rebound, rebound_the_other_way, subtracted, of_two_dimensions, of_a_slice, of_a_row, of_elements,
    by_an_inner_loop, by_inner_loops_of_unknown_length, under_a_condition, in_a_callee, beside_other_stores, in_a_nest,
    in_a_time_loop, averaged, again_under_a_condition,
]  # fmt: skip


@pytest.mark.parametrize("fn", SUMS, ids=lambda f: f.__name__)
def test_values_and_gradients(fn: Any) -> None:
    def weighed(x):
        return np.sum(np.sin(fn(x)))

    x = np.random.default_rng(1).random(17)
    assert np.allclose(jit_grad(fn)(x), fn(x), rtol=1e-13)
    value, gradient = adc.value_and_grad(weighed)(x)
    assert np.allclose(value, weighed(x), rtol=1e-12)
    h = 1e-6
    difference = [(weighed(x + h * e) - weighed(x - h * e)) / (2 * h) for e in np.eye(17)]
    assert np.allclose(gradient, difference, rtol=1e-6, atol=1e-6)
    forward = [adc.jvp(weighed, (x,), (e,))[1] for e in np.eye(17)]
    assert np.allclose(gradient, forward, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "fn", [by_name, rebound, by_an_inner_loop, under_a_condition, in_a_nest], ids=lambda f: f.__name__
)
def test_second_derivatives(fn: Any) -> None:
    def weighed(x):
        return np.sum(np.sin(fn(x)))

    x, h = np.random.default_rng(2).random(5), 1e-5
    hessian = adc.hessian(weighed)(x)
    g = adc.grad(weighed)
    difference = [(g(x + h * e) - g(x - h * e)) / (2 * h) for e in np.eye(5)]
    assert np.allclose(hessian, difference, rtol=1e-6, atol=1e-6)
    assert np.allclose(hessian, hessian.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("fn", SUMS, ids=lambda f: f.__name__)
def test_the_same_bits_on_any_number_of_threads(fn: Any) -> None:
    def weighed(x):
        return np.sum(np.sin(fn(x)))

    length = 300 if fn in (of_a_row, in_a_nest) else 40 if fn is by_inner_loops_of_unknown_length else 20_000
    x = np.random.default_rng(1).random(length)
    found, value_of, gradient_of = [], jit_grad(fn), adc.grad(weighed)
    for threads in (1, 2, 3):
        with on_threads(threads):
            found.append((value_of(x), gradient_of(x)))
    for value, gradient in found[1:]:
        assert np.array_equal(value, found[0][0]) and np.array_equal(gradient, found[0][1])
    assert np.allclose(found[0][0], fn(x), rtol=1e-10)


@pytest.mark.parametrize("fn", [by_name, of_elements, by_an_inner_loop, beside_other_stores], ids=lambda f: f.__name__)
def test_the_loop_stays_parallel(fn: Any) -> None:
    compiled = jit_grad(fn)
    staged = Staged(compiled._subject, abstracts_of(compiled._subject.parameters.names, (np.ones(9),)))
    traced = staged.traced()
    loops = [op for op in staged.simplified(traced).funcs[traced.entry].walk() if op.opdef is ops.parallel]
    assert any(op.opdef is ops.accumulate for loop in loops for op in loop.regions[0].walk())


def test_without_iterations_it_is_the_array_from_before() -> None:
    def f(x, n):
        r = np.zeros(2)
        first = r
        for i in prange(n):
            r = r + x[i]
        r[0] = 7.0
        return first[0]

    x = np.ones(3)
    assert jit_grad(f)(x, 0) == f(x, 0) == 7.0
    assert jit_grad(f)(x, 2) == f(x, 2) == 0.0


def test_a_sum_made_anew_leaves_the_array_from_before() -> None:
    def f(x, a):
        r = a
        for i in prange(len(x)):
            r = r + x[i] * a[0]
        return r

    x, a = np.array([1.0, 2.0]), np.array([1.0, 10.0])
    assert np.array_equal(jit_grad(f)(x, a), [4.0, 13.0]) and np.array_equal(a, [1.0, 10.0])
    assert np.allclose(jit_grad(f).pullback(x, a)[1](np.ones(2))[1], [1 + 2 * 3, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.float64])
def test_dtypes(dtype: Any) -> None:
    def f(x, r):
        for i in prange(len(x)):
            r[0] += x[i]
            r[1] -= x[i]
            for k in range(2, 4):
                r[k] += x[i] * x[i]

    x = np.arange(1, 40).astype(dtype)
    r, expected = np.zeros(4, dtype), np.zeros(4, dtype)
    jit_grad(f)(x, r)
    f(x, expected)
    assert np.array_equal(r, expected)


@pytest.mark.parametrize("n", [0, 1, 3000])
def test_float32_sums_of_float64_terms_are_rounded_in_order(n: int) -> None:
    def f(x):
        r = np.zeros(2, np.float32)
        for i in prange(len(x)):
            r += x[i]
        return r

    x = np.random.default_rng(3).normal(size=n) * 1e3
    assert np.array_equal(jit_grad(f)(x), f(x)) and jit_grad(f)(x).dtype == np.float32
    assert np.array_equal(adc.grad(lambda x: np.sum(f(x)))(x), np.full(n, 2.0))


# What is not a sum stays refused -------------------------------------------------------------------------------------


def read_in_between(out, v):
    for i in prange(len(v)):
        out[0] += v[i]
        v[i] = out[0]


def read_elsewhere(out, v):
    for i in prange(len(v)):
        out[0] += v[i] * out[1]
        out[1] += v[i]


def of_itself(out, v):
    for i in prange(len(v)):
        out[0] += v[i] * out[0]


def from_the_other_side(out, v):
    for i in prange(len(v)):
        out[0] = v[i] - out[0]


def of_its_neighbour(out, v):
    for i in prange(len(v)):
        out[0] = out[1] + v[i]


def product(out, v):
    for i in prange(len(v)):
        out[0] *= v[i]


def mixed(out, v):
    for i in prange(len(v)):
        out[0] = (out[0] + v[i]) * 0.5


def of_itself_under_a_condition(out, v):
    for i in prange(len(v)):
        out[0] += v[i]
        if v[i] > 0.5:
            out[0] += out[0]


def lost(out, v):
    for i in prange(len(v)):
        before = out[0]
        out[0] += 1.0
        out[0] = before + v[i]


@pytest.mark.parametrize(
    "fn",
    [
        read_in_between,
        read_elsewhere,
        of_itself,
        from_the_other_side,
        mixed,
        product,
        of_its_neighbour,
        of_itself_under_a_condition,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_no_sum_is_refused(fn: Any) -> None:
    with pytest.raises(CompileError, match="parallel loop"):
        jit_grad(fn)(np.zeros(2), np.ones(20))


def test_overwritten_in_one_iteration() -> None:
    """The second store is an update of what was there before the first: that is a sum again, of the second alone."""
    out, expected = np.zeros(2), np.zeros(2)
    v = np.arange(20.0)
    jit_grad(lost)(out, v)
    lost(expected, v)
    assert np.array_equal(out, expected)


def test_the_value_beside_a_gradient_is_summed_in_the_same_blocks() -> None:
    """Its loop does much more, and had smaller blocks for that."""

    def roots(x, y, c):
        return np.sum(np.sqrt(np.abs(np.maximum(y, c) + np.sqrt(np.abs(x) + 0.25)) + 0.25) + x)

    numbers = np.random.default_rng(0)
    function = jit_grad(argnums=(0, 1), _level=0)(roots)
    for n in (852, 1024, 1500, 5000):
        x, y = numbers.random(n), numbers.random(n)
        assert function(x, y, 0.37) == function.value_and_grad(x, y, 0.37)[0]
