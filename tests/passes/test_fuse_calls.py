"""Recursive functions whose two sweeps are one, and those whose sweeps stay apart: the same values and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import adc
from adc import jit_grad

pytestmark = pytest.mark.usefixtures("stages")

Function = Callable[..., float]


def straight(w, node, depth):
    if depth == 0:
        return w[node] * w[node]
    return w[node] * (straight(w, 2 * node + 1, depth - 1) + straight(w, 2 * node + 2, depth - 1))


def with_a_number(w, node, depth, x):
    if depth == 0:
        return x * x + w[node]
    total = 0.0
    for k in range(2):
        total += (w[2 * node + k + 1] - 0.25) * with_a_number(w, 2 * node + k + 1, depth - 1, x * w[node])
    return total


def pairs(w, node, depth):
    if depth == 0:
        return w[node], w[node] * w[node]
    a, b = pairs(w, 2 * node + 1, depth - 1)
    c, d = pairs(w, 2 * node + 2, depth - 1)
    return a + w[node] * d, b - c * 0.5


def even(w, node, depth):
    if depth == 0:
        return w[node]
    total = 0.0
    for k in range(2):
        total += w[node] * odd(w, 2 * node + 1 + k, depth - 1)
    return total


def odd(w, node, depth):
    if depth == 0:
        return w[node] * w[node]
    total = w[node]
    for k in range(2):
        total -= even(w, 2 * node + 1 + k, depth - 1) * 0.3
    return total


def permanent(w, used, n, k):
    if k == n:
        return 1.0
    total = 0.0
    for j in range(n):
        if not used[j]:
            used[j] = True
            total += w[k * n + j] * permanent(w, used, n, k + 1)
            used[j] = False
    return total


def counted(w, visits, node, depth):
    """Numbers from memory that changes during the calls."""
    visits[node] += 1
    if depth == 0:
        return w[node]
    share = w[node] * float(visits[node])
    return share * (counted(w, visits, (node + 1) % 7, depth - 1) + counted(w, visits, (node + 3) % 7, depth - 1))


def parted(w, low, high):
    if high - low == 1:
        return w[low]
    total = 0.0
    for m in range(low + 1, high):
        total += w[m] * parted(w, low, m) + parted(w, m, high)
    return total


def in_nested_loops(w, n, x):
    if n == 0:
        return x * w[0]
    total = 0.0
    for i in range(n):
        for j in range(i):
            total += w[i] * w[j] * in_nested_loops(w, n - 2 if n > 2 else 0, x + w[j])
    return total


def by_sign(w, node, depth):
    if depth == 0:
        return w[node]
    if w[node] > 0.0:
        return 2.0 * by_sign(w, 2 * node + 1, depth - 1) + w[node]
    return w[node] * by_sign(w, 2 * node + 2, depth - 1)


def product(w, node, depth):
    """Each cotangent depends on the value of the other call."""
    if depth == 0:
        return w[node]
    return product(w, 2 * node + 1, depth - 1) * product(w, 2 * node + 2, depth - 1) + w[node]


def sine(w, node, depth):
    if depth == 0:
        return w[node]
    total = 0.0
    for k in range(2):
        total += sine(w, 2 * node + 1 + k, depth - 1)
    return math.sin(total) + w[node]


def scratch(w, s, node, depth):
    """Memory that is differentiated is written to."""
    if depth == 0:
        s[0] += w[node]
        return s[0] * w[node]
    return scratch(w, s, 2 * node + 1, depth - 1) + w[node] * scratch(w, s, 2 * node + 2, depth - 1)


def recurrence(w, n):
    """The iterations of the reverse sweep depend on each other."""
    if n == 0:
        return w[0]
    t = 1.0
    for _ in range(2):
        t = t * w[n] + recurrence(w, n - 1)
    return t


def of_straight(w):
    return straight(w, 0, 4)


def of_number(w):
    return with_a_number(w, 0, 4, 1.5)


def of_pairs(w):
    a, b = pairs(w, 0, 4)
    return a + 2.0 * b


def of_two(w):
    return even(w, 0, 4)


def of_permanent(w):
    return permanent(w, np.zeros(4, dtype=np.bool_), 4, 0)


def of_counted(w):
    return counted(w, np.zeros(7, np.int64), 0, 4)


def of_parted(w):
    return parted(w, 0, 6)


def of_nested(w):
    return in_nested_loops(w, 5, 0.5)


def of_sign(w):
    return by_sign(w, 0, 4)


def of_product(w):
    return product(w, 0, 3)


def of_sine(w):
    return sine(w, 0, 3)


def of_scratch(w):
    return scratch(w, np.zeros(2), 0, 3)


def of_recurrence(w):
    return recurrence(w, 4)


FUSED = (of_straight, of_number, of_pairs, of_two, of_permanent, of_counted, of_parted, of_nested, of_sign)
APART = (of_product, of_sine, of_scratch, of_recurrence)
LENGTH = 40


@pytest.mark.parametrize("function", [*FUSED, *APART], ids=lambda f: f.__name__)
def test_values_and_gradients(function: Function) -> None:
    rng = np.random.default_rng(3)
    w, along = rng.standard_normal((2, LENGTH))
    compiled = jit_grad(threads=1)(function)
    value, gradient = compiled.value_and_grad(w)
    expected = function(w)
    assert value == expected or (function is of_sine and value == pytest.approx(expected, rel=1e-14))
    _, back = compiled.pullback(w)  # its sweeps are apart
    (apart,) = back(1.0)
    np.testing.assert_allclose(gradient, apart, rtol=1e-11, atol=1e-13 * np.max(np.abs(apart)))
    _, tangent = compiled.jvp((w,), (along,))
    assert gradient @ along == pytest.approx(tangent, rel=1e-9, abs=1e-12)
    step = 1e-6
    slope = (function(w + step * along) - function(w - step * along)) / (2.0 * step)
    assert tangent == pytest.approx(slope, rel=1e-4, abs=1e-6)
    np.testing.assert_array_equal(compiled.grad(w), gradient)
    assert (".both" in str(compiled.dump_ir("lowered"))) == (function in FUSED)


def test_a_subscript_that_is_checked_after_the_calls() -> None:
    """The reverse sweep needs ``w[node]`` before the call; the forward sweep finds afterwards that there is none."""

    def total(w, node, depth):
        if depth == 0:
            return 2.0
        below = total(w, node + 1, depth - 1)
        return below * w[10 * node]

    def outer(w, depth):
        return total(w, 0, depth)

    w = np.arange(1.0, 32.0)
    compiled = jit_grad(outer)
    np.testing.assert_allclose(compiled.grad(w, 3)[[0, 10, 20]], [2.0 * 11 * 21, 2.0 * 1 * 21, 2.0 * 1 * 11])
    for depth in (5, 40):
        with pytest.raises(IndexError) as expected:
            outer(w, depth)
        with pytest.raises(IndexError) as found:
            compiled.grad(w, depth)
        assert str(expected.value).split()[0] == str(found.value).split()[0]
    np.testing.assert_allclose(compiled.grad(w, 2)[[0, 10]], [2.0 * 11, 2.0 * 1])


def test_zeros_are_strong() -> None:
    """A branch with weight zero contributes nothing, even where its derivative is infinite."""

    def total(w, k):
        if k == 3:
            return math.sqrt(w[3])
        return w[k] * total(w, k + 1)

    def outer(w):
        return total(w, 0)

    w = np.array([0.0, 1.0, 2.0, 0.0])
    compiled = jit_grad(outer)
    fused = compiled.grad(w)
    (apart,) = compiled.pullback(w)[1](1.0)
    np.testing.assert_array_equal(fused, apart)
    assert fused[3] == 0.0
    np.testing.assert_array_equal(np.isnan(compiled.grad(np.array([1.0, np.nan, 1.0, 1.0]))), [True, False, True, True])


def test_numbers_of_other_precision_and_second_derivatives() -> None:
    w = np.random.default_rng(5).standard_normal(LENGTH)
    small = w.astype(np.float32)
    found = jit_grad(of_permanent).grad(small)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, jit_grad(of_permanent).grad(w), rtol=1e-4, atol=1e-4)
    along = np.random.default_rng(6).standard_normal(LENGTH)
    gradient = jit_grad(of_straight).grad
    expected = (gradient(w + 1e-6 * along) - gradient(w - 1e-6 * along)) / 2e-6
    np.testing.assert_allclose(adc.hvp(of_straight, (w,), (along,)), expected, rtol=1e-5, atol=1e-6)


def test_many_samples_on_threads() -> None:
    def loss(w, roots):
        total = 0.0
        for i in adc.prange(len(roots)):
            total += straight(w, roots[i], 3)
        return total

    w, roots = np.random.default_rng(7).standard_normal(200), np.arange(12)
    one, two = (jit_grad(threads=k)(loss).grad(w, roots) for k in (1, 2))
    np.testing.assert_allclose(two, one, rtol=1e-12)
    np.testing.assert_allclose(one, sum(jit_grad(straight).grad(w, k, 3) for k in roots), rtol=1e-11)


def test_a_recursive_function_that_is_differentiated_itself() -> None:
    """Its sweeps are also called from outside."""
    w = np.random.default_rng(8).standard_normal(LENGTH)
    compiled = jit_grad(straight)
    expected = compiled.grad(w, 0, 4)
    value, back = compiled.pullback(w, 0, 4)
    assert value == straight(w, 0, 4)
    np.testing.assert_allclose(back(2.0)[0], 2.0 * expected, rtol=1e-11)
    np.testing.assert_array_equal(compiled.grad(w, 0, 4), expected)
