"""Conditions on integer arguments, one side of which is not for the arrays of the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc


def by_dimensions(x: Any, dimensions: Any) -> Any:
    if dimensions == 1:
        return np.sum(x**2)
    n, m = x.shape
    return n * m * x[0, 0] ** 2


def test_the_side_that_is_run_is_enough() -> None:
    f = adc.jit_grad(by_dimensions)
    row, table = np.array([1.0, 2.0]), np.array([[3.0, 1.0], [1.0, 1.0]])
    assert f(row, 1) == 5.0
    assert f(table, 2) == 36.0
    assert f(table, 3) == 36.0
    np.testing.assert_array_equal(f.grad(row, 1), 2.0 * row)
    np.testing.assert_array_equal(f.grad(table, 2), [[24.0, 0.0], [0.0, 0.0]])


def test_the_other_side_raises_as_in_python() -> None:
    with pytest.raises(ValueError, match=r"not enough values to unpack \(expected 2, got 1\)"):
        adc.jit_grad(by_dimensions)(np.array([1.0, 2.0]), 2)


ORDER = 1


class Options:
    def __init__(self, order: int) -> None:
        self.order = order


OPTIONS = Options(1)


def _sum(x: Any, dimensions: Any) -> Any:
    if dimensions == 1:
        return np.sum(x**2)
    return np.sum(x[:, 0] ** 2)


def _chosen(x: Any, whole: Any) -> Any:
    return x if whole else x[:, 0]


def in_called(x: Any, n: Any) -> Any:
    return _sum(x, n)


def in_called_computed(x: Any, n: Any) -> Any:
    return _sum(_chosen(x, n - 1 == 0), int(n / 2) + 1)


def in_expression(x: Any, n: Any) -> Any:
    return np.sum((x if abs(n) == 1 else x[:, 0]) ** 2)


def in_lambda(x: Any, n: Any) -> Any:
    shape = lambda v: v if n == 1 else v[:, None]
    return np.sum(shape(x) ** 2)


def in_loop(x: Any, n: Any) -> Any:
    total, k = 0.0, 0
    while k < len(x):
        total += x[k] ** 2 if n < 2 else x[k, 0] ** 2
        k += 1
    return total


def in_comprehension(x: Any, n: Any) -> Any:
    return sum([np.sum(v**2) for v in (x, x[:1, None]) if n != 1 or v.ndim == 1])


def in_conjunction(x: Any, n: Any) -> Any:
    if n == 2 and x[0, 0] > 0.0:
        return x[0, 0]
    return np.sum(x**2)


def in_variable(x: Any, n: Any) -> Any:
    if n == 1:
        y = x
    elif n == 2:
        y = x[:, None]
    else:
        y = np.sum(x)
    return np.sum(y**2)


def by_captured(x: Any, n: Any) -> Any:
    return np.sum(x**2) if ORDER == n or ORDER == 1 else x[:, 0]


def by_attribute(x: Any, n: Any) -> Any:
    if OPTIONS.order == 2:
        x = x[:, 0]
    return np.sum(x**2)


PROGRAMS = (
    in_called,
    in_called_computed,
    in_expression,
    in_lambda,
    in_loop,
    in_comprehension,
    in_conjunction,
    in_variable,
    by_captured,
    by_attribute,
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_wherever_the_condition_stands(program: Any) -> None:
    f, row = adc.jit_grad(program), np.array([1.0, -2.0, 0.5])
    assert f(row, 1) == program(row, 1)
    np.testing.assert_allclose(f.grad(row, 1), 2.0 * row)


def test_other_values_are_traced_again() -> None:
    f, row, table = adc.jit_grad(in_called), np.array([1.0, 2.0]), np.array([[3.0, 1.0], [1.0, 1.0]])
    for x, n in ((row, 1), (table, 2), (row, 1), (table, 5)):
        assert f(x, n) == in_called(x, n)
    g = adc.jit_grad(by_attribute)
    assert g(row, 1) == 5.0
    OPTIONS.order = 2
    try:
        assert g(table, 1) == by_attribute(table, 1)
    finally:
        OPTIONS.order = 1


def test_axes_that_are_computed() -> None:
    def f(x: Any, k: Any) -> Any:
        return x.sum(axis=abs(k) - 1), x.sum(axis=min(k, 1)), np.moveaxis(x, k**2 // 4, k % 2), x.sum(axis=int(k / 2))

    x = np.arange(6.0).reshape(2, 3)
    for one, other in zip(adc.jit_grad(f)(x, 2), f(x, 2), strict=True):
        np.testing.assert_array_equal(one, other)
