"""Variables that a loop's body reads before every iteration has set them: their types are found in all cases."""

# ruff: noqa: F821, F841
from __future__ import annotations

import numpy as np
import pytest

import adc
from adc.errors import CompileIndexError
from tests.programs.harness import check

A = np.linspace(0.5, 1.5, 5)


def subscript_in_a_target(x, a, n):
    for i in range(n):
        for k in range(4, -1, -2):
            x = x * 0.5
        a[(k * 1 + i) % 5] = x
    return x + np.sum(a * a)


def computed(x, a, n):
    for i in range(n):
        if i % 2 == 0:
            k = n - 1 + i
        a[k] = a[k - 1] * x
    return x * np.sum(a)


def length(x, a, n):
    for i in range(n):
        if i % 3 == 0:
            k = len(a) - 1 - i // 2
        x = x * a[k]
    return x


def read_further_up(x, a, n):
    s = 0.0
    for i in range(n):
        if i > 0:
            s += x * a[k]
        k = (2 * i + 1) % 5
    return s


def read_further_up_inside(x, a, n):
    for i in range(n):
        for j in range(n):
            if j > 0:
                x = x * a[k]
            k = (i + j) // 2
    return x


def an_array(x, a, n):
    s = 0.0
    for i in range(n):
        if i % 2 == 0:
            u = a * (x + i)
        s += u[1] * x
        u[1] += s
    return s


def a_tuple(x, a, n):
    s = 0.0
    k = 0
    while k < n:
        if k % 2 == 0:
            t = (x * k, a)
        s += t[0] * t[1][k]
        k += 1
    return s


@pytest.mark.parametrize(
    "fn",
    [subscript_in_a_target, computed, length, read_further_up, read_further_up_inside, an_array, a_tuple],
)
def test_type_is_found(fn):
    check(fn, (0.7, A, 3), (0.7, A, 1), (0.7, A, 0))


def test_unset_when_it_runs():
    def f(x, a, n):
        for i in range(n):
            if i > 0:
                k = i - 1
            x = x * a[k]
        return x

    with pytest.raises(UnboundLocalError, match="'k'"):
        adc.jit_grad(f)(0.7, A, 2)


def test_wrong_whatever_it_is():
    def f(x, a, n):
        for i in range(n):
            if i > 0:
                x = x * a[k]
            k = 0.5 * x
        return x

    with pytest.raises(CompileIndexError, match="not a float"):
        adc.jit_grad(f)(0.7, A, 2)


def never_set(x, mode):
    """In mode "b" no path sets v, and some paths read it."""
    if mode == "a":
        v = x * 2
    for _ in range(3):
        if x > 5.0:
            return v
        elif x > 4.0:
            if v > x:
                x = 1.0
        elif x > 3:
            for _k in range(int(v)):
                x += 1
        x += 1
    return x


def test_a_path_that_reads_what_nothing_set_raises_if_it_is_taken():
    function = adc.jit_grad(never_set)
    for mode in ("a", "b"):
        for x in (-4.0, 0.5, 1.5, 2.5, 4.5, 5.5):
            try:
                expected = never_set(x, mode)
            except UnboundLocalError:
                for call in (function, function.grad):
                    with pytest.raises(UnboundLocalError, match="'v'"):
                        call(x, mode)
            else:
                assert function(x, mode) == pytest.approx(expected, rel=1e-15)
    assert function.grad(0.5, "b") == 1.0


def test_what_surely_reads_it_is_refused():
    def f(x, mode):
        if mode == "a":
            v = x * 2
        return v + x

    with pytest.raises(UnboundLocalError, match="'v' is read before it is assigned"):
        adc.jit_grad(f)(0.7, "b")
