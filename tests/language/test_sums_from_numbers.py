"""Variables that are a number before a loop and an array in it, such as ``total = 0`` with ``total = total + x[i]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check_function

X = np.random.default_rng(3).random((4, 3))


def in_place(x: Any) -> Any:
    total = 0
    for row in x:
        total += row**2
    return total


def in_two_loops(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        for j in range(2):
            total = total - x[i] * j
    return total / len(x), total.shape[0]


def product(x: Any) -> Any:
    found, history = 1, []
    for row in x:
        found = row * found
        history.append(found)
    return found, np.array(history)


def of_matrices(x: Any) -> Any:
    total = 0
    for k in range(len(x)):
        total = (total + x @ x.T) * 0.5 - k
    return total


def of_complex_numbers(x: Any) -> Any:
    total = 0
    for k in range(len(x)):
        total = total + x[k, 0] * np.exp(1j * np.arange(3))
    return abs(total)


PROGRAMS = [in_place, in_two_loops, product, of_matrices, of_complex_numbers]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_is_numpys(program: Callable[..., Any]) -> None:
    check_function(program, (X,), by=(0,), rtol=1e-12)


def test_dtypes_are_numpys() -> None:
    compiled = adc.jit_grad(in_place)
    for dtype in (np.float32, np.int64, np.int8, np.complex64):
        x = (10 * X).astype(dtype)
        got, expected = compiled(x), in_place(x)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_a_loop_that_does_not_run() -> None:
    with pytest.raises(ValueError, match="'total' is an array after this loop, and a number if it does not run at all"):
        adc.jit_grad(in_place)(X[:0])


def under_a_condition(x: Any) -> Any:
    total = 0
    for row in x:
        if row[0] > 0.5:
            total = total + row
    return total


def left_out(x: Any) -> Any:
    total = 0
    for row in x:
        if row[0] < 0.5:
            continue
        total = total + row
    return total


def ended_before(x: Any) -> Any:
    total = 0
    for row in x:
        for value in row:
            if value > 0.5:
                break
            total = total + row
    return total


def read_before(x: Any) -> Any:
    total = 0
    for row in x:
        factor = np.sum(total)
        total = total + row * factor
    return total


def read_by_a_function(x: Any) -> Any:
    total = 0

    def size() -> Any:
        return np.size(total)

    sizes = 0
    for row in x:
        sizes += size()
        total = total + row
    return total, sizes


def by_another_function(x: Any) -> Any:
    total = 0
    for row in x:
        total = np.append(total, row)
    return total


@pytest.mark.parametrize("program", [read_before, read_by_a_function, by_another_function], ids=lambda f: f.__name__)
def test_what_can_tell_has_a_first_iteration_of_its_own(program: Callable[..., Any]) -> None:
    for x in (X + 0.1, X[:1], X[:0]):
        got, expected = adc.jit_grad(program)(x), program(x)
        pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("program", [under_a_condition, left_out, ended_before], ids=lambda f: f.__name__)
def test_what_can_tell_is_refused(program: Callable[..., Any]) -> None:
    with pytest.raises(adc.AdcError):
        adc.jit_grad(program)(X)
