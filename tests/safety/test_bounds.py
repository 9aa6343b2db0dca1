"""Run-time errors and their effects: subscripts, shapes, divisions, unset variables; arrays without elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.backend.runtime import on_threads
from tests.programs.harness import check

FILE = "test_bounds.py"


def plain_loop(a, n):
    for i in range(n):
        a[i] = i * 2.0


def downwards(a, n):
    for i in range(n):
        a[a.shape[0] - 1 - 2 * i] = i * 2.0


def nested(a, n):
    for t in range(2):
        for i in range(n):
            a[i] += t + 1.0


def triangle(a, n):
    for i in range(n):
        for j in range(i + 1):
            a[j + i] += 1.0


def put(a, i, x):
    a[i] = x


def in_callee(a, n):
    for i in range(n):
        put(a, i, i * 2.0)


def behind_branch(a, n):
    for i in range(n):
        if i % 2 == 1 or i > 6:
            a[i] = 5.0


def while_loop(a, n):
    k = 0
    while k < n:
        a[k] = k * 3.0
        k += 1


def of_view(a, n):
    w = a[1:-1]
    for i in range(n):
        w[i] = 4.0


def stencil(a, n):
    for i in range(1, n):
        a[i] = a[i] + a[i + 1]


OUT_OF_BOUNDS = [plain_loop, downwards, nested, triangle, in_callee, behind_branch, while_loop, of_view, stencil]


@pytest.mark.parametrize("fn", OUT_OF_BOUNDS, ids=lambda f: f.__name__)
def test_out_of_bounds_leaves_arrays_as_python_does(fn: Any) -> None:
    """In a window on a larger array, which shows stray writes."""
    compiled = jit_grad(fn)
    whole = np.arange(30.0)
    for window, n in ((slice(10, 18), 9), (slice(10, 18), 40), (slice(26, 10, -2), 9)):
        mine, theirs = whole.copy(), whole.copy()
        with pytest.raises(IndexError) as truth:
            fn(theirs[window], n)
        with pytest.raises(IndexError, match="out of bounds for axis with size") as caught:
            compiled(mine[window], n)
        assert np.array_equal(mine, theirs)
        index = str(truth.value).split()[1]
        said = str(caught.value)
        assert f"index {index} is out of bounds" in said and FILE in said
        assert isinstance(caught.value, adc.errors.AdcError)
        mine = whole.copy()
        with pytest.raises(IndexError):
            compiled.pullback(mine[window], n)
        assert np.array_equal(mine, theirs)
        compiled(mine[window], 3)  # the next call works


def parallel(a, n):
    for i in prange(n):
        a[i] = i * 2.0


def parallel_rows(a, n):
    for i in prange(n):
        for j in range(5):
            a[i] += j


@pytest.mark.parametrize("fn", [parallel, parallel_rows], ids=lambda f: f.__name__)
def test_out_of_bounds_in_parallel_loops_never_writes_elsewhere(fn: Any) -> None:
    compiled = jit_grad(fn)
    for size, n in ((8, 9), (8, 40), (60_000, 60_001), (60_000, 200_000)):
        for threads in (1, 2):
            with on_threads(threads):
                whole = np.full(size + 20, -1.0)
                with pytest.raises(IndexError, match=f"is out of bounds for axis with size {size}"):
                    compiled(whole[10:-10], n)
                assert np.all(whole[:10] == -1.0) and np.all(whole[-10:] == -1.0)


def gathered(a, idx):
    total = 0.0
    for i in prange(idx.shape[0]):
        total += a[idx[i]] * a[idx[i]]
    return total


def test_loaded_subscripts() -> None:
    f, a = jit_grad(gathered), np.linspace(1.0, 2.0, 8)
    idx = np.array([0, 7, -1, -8, 3])
    assert np.isclose(f(a, idx), gathered(a, idx), rtol=1e-14)
    assert np.allclose(f.grad(a, idx), np.bincount(idx % 8, weights=2 * a[idx], minlength=8))
    for wrong in (8, -9, 2**40, -(2**40), 2**62, -(2**63), 2**63 - 1):
        for call in (f, f.grad, f.pullback):
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis with size 8"):
                call(a, np.array([0, 1, wrong, 2]))


# Shapes ---------------------------------------------------------------------------------------------------------------


def add(a, b):
    return a + b


def store(a, b):
    a[:] = b


@pytest.mark.parametrize("x, y", [((3,), (4,)), ((2, 3), (3, 2)), ((4, 2, 3), (4, 5, 3)), ((0,), (2,))])
def test_shapes_that_do_not_fit(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    for fn in (add, store):
        a, before = np.ones(x), np.ones(x)
        with pytest.raises(ValueError, match=r"could not .*broadcast") as caught:
            jit_grad(fn)(a, np.zeros(y))
        said = str(caught.value).replace(" ", "").replace(",)", ")")
        for shape in (x, y):
            assert str(shape).replace(" ", "").replace(",)", ")") in said, said
        assert FILE in said and np.array_equal(a, before)


# Integers and variables -----------------------------------------------------------------------------------------------


def divided(a, n):
    total = 0.0
    for i in range(3):
        a[i] = 7.0
        total += a[6 // (n - i)] + 6 % (n - i)
    return total


def unset(x, n):
    for i in range(n):
        y = x * i
    return y


def test_divisions_by_zero_and_unset_variables() -> None:
    f, g = jit_grad(divided), jit_grad(unset)
    for call in (f, f.grad, f.pullback):
        a = np.zeros(8)
        with pytest.raises(ZeroDivisionError) as caught:
            call(a, 1)
        assert FILE in str(caught.value)
    assert np.array_equal(a, [7.0, 7.0, *[0.0] * 6])  # by the pullback: what Python had stored
    assert f(np.zeros(8), 4) == divided(np.zeros(8), 4)
    for call in (g, g.grad, g.pullback):
        with pytest.raises(UnboundLocalError, match="'y'") as unbound:
            call(1.5, 0)
        assert FILE in str(unbound.value)
    assert g(1.5, 3) == 3.0 and g.grad(1.5, 3) == 2.0


# No elements ----------------------------------------------------------------------------------------------------------


def loops(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    for i in range(1, a.shape[0] - 1):
        total += a[i - 1] * b[i + 1]
    return total


def whole(a, b):
    return np.sum(a * b) + np.dot(a, b) + np.sum(a[1:] * b[:-1])


def rows(a, b):
    total = 0.0
    for i in prange(a.shape[0]):
        total += a[i] * a[i]
    c = np.zeros(a.shape[0])
    c[:] = a * 2.0
    return total + np.sum(c) + np.sum(np.zeros((0, 3)))


def planes(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * b[i, j]
    return total + np.sum(a @ b.T)


@pytest.mark.parametrize("fn", [loops, whole, rows], ids=lambda f: f.__name__)
def test_arrays_without_elements(fn: Any) -> None:
    cases = [(np.linspace(0.5, 1.0, n), np.linspace(-1.0, 1.0, n)) for n in (0, 1, 2, 3)]
    check(fn, *cases, layouts=True, pullback=True)


def test_planes_without_elements() -> None:
    check(planes, *[(np.full(s, 0.5), np.full(s, 2.0)) for s in ((0, 3), (3, 0), (0, 0), (1, 1))], pullback=True)


def recurrence(x, lower, upper, step):
    total = 0.0
    for i in range(lower, upper):
        total = total * 0.5 + np.sin(x[i - lower]) * (total + 1.0)
    return total


def in_place(x, lower, upper, step):
    for i in range(lower, upper, step):
        x[i - lower] += x[i - lower] * 2.0
    return np.sum(x)


def threaded(x, lower, upper, step):
    total = 0.0
    for i in prange(lower, upper):
        total += np.sin(x[i - lower])
    return total


@pytest.mark.parametrize("fn", [recurrence, in_place, threaded])
def test_ranges_between_numbers_so_far_apart_that_their_difference_wraps(fn: Any) -> None:
    limits = (-(2**63), -(2**63) + 5, -3, 0, 3, 2**63 - 6, 2**63 - 2, 2**63 - 1)
    pairs = [(lower, upper) for lower in limits for upper in limits if upper - lower < 12]
    assert sum(lower - upper > 2**63 for lower, upper in pairs) > 5
    compiled = jit_grad(fn, argnums=0)
    for lower, upper in pairs:
        for step in (1, 2, 2**62):
            x = np.linspace(0.1, 1.2, 12)
            value, gradient = compiled.value_and_grad(x.copy(), lower, upper, step)
            assert value == pytest.approx(fn(x.copy(), lower, upper, step), abs=1e-13)
            near_zero = compiled.grad(x.copy(), 0, len(range(lower, upper)), step)
            np.testing.assert_allclose(gradient, near_zero, rtol=1e-14, err_msg=str((lower, upper, step)))


def test_ranges_that_span_more_than_can_be_counted() -> None:
    """An OverflowError, in the value as in the gradient: nothing is counted that 64 bits do not hold."""

    def steps(x, lower, upper):
        total = x
        for _ in range(lower, upper, 2**61):
            total = np.sin(total) * x
        return total

    compiled = jit_grad(steps, argnums=0)
    for call in (compiled, compiled.value_and_grad):
        with pytest.raises(OverflowError, match="a range from -9223372036854775808 to 9223372036854775807 is too long"):
            call(0.7, -(2**63), 2**63 - 1)
    value, slope = compiled.value_and_grad(0.7, -(2**62), 2**62 - 1)
    assert value == pytest.approx(steps(0.7, -(2**62), 2**62 - 1), rel=1e-14)
    assert slope == pytest.approx((steps(0.7 + 1e-6, 0, 2**63 - 1) - steps(0.7 - 1e-6, 0, 2**63 - 1)) / 2e-6, rel=1e-8)
