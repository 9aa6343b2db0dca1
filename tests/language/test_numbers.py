"""Numbers as in Python and NumPy: integer and float division, powers, bools, float32, literals in loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import adc
from adc import jit_grad
from tests.programs.harness import check

INTEGERS = [-7, -3, -2, -1, 0, 1, 2, 3, 8]
FLOATS = [-7.5, -3.0, -0.5, 0.0, 0.25, 2.0, 3.5, 1e300, math.inf]
V32 = np.array([0.1, -0.7, 1.3], np.float32)


def floor_divide(a, b):
    return a // b


def remainder(a, b):
    return a % b


def divide(a, b):
    return a / b


def power(a, b):
    return a**b


def both(a, b):
    q, r = divmod(a, b)
    return q, r


def bools(a, b):
    return (a > 0) + (b > 1) * 2, (a > 0) * a, True + a, -(b > 0), (a > b) // True


OPERATIONS = [floor_divide, remainder, divide, power, both, bools]


@pytest.mark.parametrize("fn", OPERATIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kinds", ["ii", "if", "fi", "ff"])
def test_like_python(fn, kinds):
    """The same number of the same type, or the same exception. Floats divided by zero are IEEE's."""
    compiled = adc.jit_grad(fn)
    grids = [INTEGERS if k == "i" else FLOATS for k in kinds]
    for a, b in itertools.product(*grids):
        if fn is power and kinds == "ii" and b < 0:
            with pytest.raises(ValueError):
                compiled(a, b)
            continue
        try:
            expected = fn(a, b)
        except ZeroDivisionError:
            if "f" in kinds or fn is divide:
                continue
            with pytest.raises(ZeroDivisionError):
                compiled(a, b)
            continue
        except OverflowError:
            continue
        if fn is power and (isinstance(expected, complex) or (kinds == "ii" and abs(expected) >= 2**63)):
            continue
        found = compiled(a, b)
        for mine, theirs in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            assert mine == pytest.approx(theirs, rel=1e-13, nan_ok=True), (a, b, found, expected)
            assert math.copysign(1.0, mine) == math.copysign(1.0, theirs) or theirs == 0 or math.isnan(theirs), (a, b)
        assert isinstance(found, tuple) or type(found) is type(expected), (a, b, found, expected)


@pytest.mark.parametrize("fn", [remainder, divide, power], ids=lambda f: f.__name__)
def test_gradients(fn):
    for a, b in itertools.product([-2.25, 0.75, 3.25], [-1.5, 0.5, 2.0, 3]):
        if fn is power and a < 0:
            continue
        check(fn, (a, b))


def negative_powers(x, n):
    return x**-2 + x ** (-n) + (x + 2) ** -1 * 2**-1


def typed_in_loop(x, n):
    s = 0
    for k in range(n):
        s = s + k * x if k % 2 else s
    return s


def nested(v, n):
    s = 0.0
    for k in range(n):
        for i in range(len(v)):
            s += v[i]
    return s


def nested_in_branch(v, n):
    s = 0.0
    for k in range(n):
        if k % 2 == 0:
            for i in range(len(v)):
                if v[i] > 0.0:
                    s = s + v[i] * v[i]
        else:
            s *= 0.5
    return s


def in_while(v, n):
    s, k = 0.0, 0
    while k < n:
        i = 0
        while i < len(v):
            s -= v[i] * v[i]
            i += 1
        k += 1
    return s


def extremes(v, n):
    """Python's ``max`` and ``min``, and a choice by hand, where literals meet numbers of NumPy's."""
    total = 0.0
    for _ in range(n):
        high, low, last = 0.0, 5.0, 0.0
        for x in v:
            high = max(high, abs(x))
            low = min(x, low)
            last = x if x > last else last
        total += high * high - low * last
    return total


def extremes_in_parallel(v, n):
    high = 0.25
    for _ in range(n):
        low = 5.0
        for i in adc.prange(len(v)):
            high = max(high, v[i])
            low = min(low, v[i] * v[i])
        high = 0.9 * high + low
    return high


def integers32(v, n):
    s = 0
    for k in range(n):
        for i in range(len(v)):
            if v[i] > 1:
                s += v[i]
    return s


@pytest.mark.parametrize("fn", [negative_powers, typed_in_loop], ids=lambda f: f.__name__)
def test_numbers(fn):
    check(fn, (0.7, 3))


@pytest.mark.parametrize(
    "fn", [nested, nested_in_branch, in_while, extremes, extremes_in_parallel], ids=lambda f: f.__name__
)
def test_float32_accumulators(fn):
    found, expected = adc.jit_grad(fn)(V32, 3), fn(V32, 3)
    # Python's bits, but for contraction.
    assert type(found) is np.float32 and abs(found - expected) <= 2 * np.spacing(abs(expected))
    gradient = adc.grad(fn)(V32, 3)
    exact = adc.grad(fn)(V32.astype(np.float64), 3)
    assert gradient.dtype == np.float32 and np.allclose(gradient, exact, rtol=1e-5)


def test_int32_accumulator():
    v = np.array([1, 2, 3, -4], np.int32)
    found = adc.jit_grad(integers32)(v, 3)
    assert type(found) is np.int32 or found == integers32(v, 3)


def power_of_int(n, k):
    return n**k


def test_negative_power_of_an_integer():
    compiled = adc.jit_grad(power_of_int)
    assert compiled(2, 10) == 1024 and type(compiled(2, 10)) is int
    with pytest.raises(ValueError):
        compiled(2, -1)


def axis(a, k):
    return np.sum(np.sum(a * a, axis=k) ** 3)


def tuple_item(t, k):
    return np.sum(t[k] * 2.0)


def through_callee(a, k):
    return axis(a, k) + axis(a * 2.0, 1 - k)


A = np.arange(6.0).reshape(2, 3)


def test_integers_that_must_be_known():
    for fn in (axis, through_callee):
        compiled = adc.jit_grad(fn)
        for k in (0, 1, 0, 1):
            assert compiled(A, k) == pytest.approx(fn(A, k))
        gradients = [compiled.grad(A, k) for k in (0, 1)]
        for k in (0, 1):
            e = np.ones_like(A)
            h = 1e-6
            difference = (fn(A + h * e, k) - fn(A - h * e, k)) / (2 * h)
            assert np.sum(gradients[k]) == pytest.approx(difference, rel=1e-6)
        assert compiled.pullback(A, 1)[1](1.0)[1] is None
    mixed = (A[0].copy(), A)
    compiled = adc.jit_grad(tuple_item)
    assert compiled(mixed, 0) == 2 * A[0].sum()
    assert compiled(mixed, 1) == compiled(mixed, -1) == 2 * A.sum()
    assert np.all(compiled.grad(mixed, 0)[0] == 2.0) and np.all(compiled.grad(mixed, 0)[1] == 0.0)


def test_chained_comparisons_of_numpy_numbers_are_numpy_bools():
    """``~`` of Python's True is -2, of NumPy's it is False."""

    def count(a, lo, hi):
        n = 0
        for v in a:
            if ~(lo <= v <= hi):
                n += 1
        return n

    def both(a):
        return (0 < a[0] < 2) + (0 < a[0] < 2), ~(a[0] < a[1] < a[2]), ~(0.5 < 1.0 < a[0])

    def pythons(x):
        return ~(0.0 < x < 2.0), (0.0 < x < 2.0) + (0.0 < x < 3.0)

    a = np.array([1.5, 0.5, 2.0])
    assert jit_grad(count)(a, 0.0, 1.6) == count(a, 0.0, 1.6) == 1
    with np.errstate(all="ignore"):
        assert [bool(v) for v in jit_grad(both)(a)] == [bool(v) for v in both(a)]
    assert jit_grad(pythons)(1.0) == (-2, 2)
