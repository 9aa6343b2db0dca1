"""Base cases of recursive functions are inlined at calls: the same values, derivatives, errors and effects."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.ir import ops
from adc.ir.text.parser import parse_module
from benchmarks.gradbench.programs.det import minor
from tests.forward_mode import check_gradients


def tree(x, i, depth):
    if depth == 0:
        return math.sin(x[i % len(x)])
    return tree(x, 2 * i, depth - 1) * tree(x, 2 * i + 1, depth - 1) + x[depth]


def of_tree(x):
    return tree(x, 1, 4)


def squares(x, lo, hi):
    """In place, and nothing comes back."""
    if hi - lo < 2:
        if hi > lo:
            x[lo] = x[lo] * x[lo]
        return
    middle = (lo + hi) // 2
    squares(x, lo, middle)
    squares(x, middle, hi)
    x[lo] = x[lo] + x[middle]


def of_squares(x):
    y = x.copy()
    squares(y, 0, len(y))
    return np.sum(y * x)


def even(x, n):
    if n == 0:
        return x[0]
    return odd(x, n - 1) * x[1]


def odd(x, n):
    if n < 1:
        return x[2] * x[2]
    total = 0.0
    for k in range(n):
        total += even(x, n - 1 - k) * x[k % len(x)]
    return total


def marked(x, seen, lo, hi):
    """A branch in front of the one with the base case changes what it is asked about."""
    if seen[lo] < 2:
        seen[lo] += 1
        x[lo] *= 1.5
    if hi - lo < 2:
        return math.sin(x[lo])
    middle = (lo + hi) // 2
    return marked(x, seen, lo, middle) * marked(x, seen, middle, hi)


def of_marked(x):
    y = x.copy()
    return marked(y, np.zeros(len(x), np.int64), 0, len(x)) + np.sum(y)


def of_both(x):
    return even(x, 5)


def of_minor(a):
    """What is read in front of the branch has just been changed by the caller, and its sign alternates."""
    n = 3
    links = np.arange(1, n + 2)
    links[n] = 0
    return minor(a, n, n, links.copy(), links.copy())


PROGRAMS = [(of_tree, 7), (of_squares, 9), (of_both, 4), (of_minor, 9), (of_marked, 5)]


@pytest.mark.parametrize(("f", "count"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_values_and_derivatives(f: Callable[..., Any], count: int) -> None:
    x = np.random.default_rng(3).random(count) + 0.5
    compiled = jit_grad(f)
    assert compiled(x) == pytest.approx(f(x), rel=1e-14)
    gradient = compiled.grad(x)
    check_gradients(compiled, [x], {0: gradient}, rel=1e-11)
    np.testing.assert_array_equal(compiled.grad(x), gradient)
    step = 1e-6
    for k, e in enumerate(np.eye(count)):
        by_difference = (f(x + step * e) - f(x - step * e)) / (2.0 * step)
        assert gradient[k] == pytest.approx(by_difference, rel=1e-6, abs=1e-8)


def test_second_derivatives() -> None:
    x = np.random.default_rng(4).random(4) + 0.5
    hessian = adc.hessian(of_both)(x)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-11)


def test_leaves_take_no_record() -> None:
    """There is one record for each inner node, and the reverse of a leaf is where its caller is reversed."""
    module = parse_module(jit_grad(of_tree).dump_ir("adjoint", "f64[::1]"))
    reverse = next(func for name, func in module.funcs.items() if name.startswith("tree.rev"))
    calls = [op for op in reverse.walk() if op.opdef is ops.call]
    assert calls
    assert all(op.parent is not None and op.parent.parent_op is not None for op in calls)


def test_an_error_of_the_base_case_is_that_of_python() -> None:
    def down(x, i):
        if i > 4:
            return x[i]
        return down(x, i + 1) * 2.0

    compiled = jit_grad(lambda x: down(x, 0))
    assert compiled(np.ones(6)) == 32.0
    with pytest.raises(IndexError, match="5"):
        compiled(np.ones(5))
