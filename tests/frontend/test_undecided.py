"""Conditions on integer arguments, one side of which is not for the arrays of the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors


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


def test_what_is_run_is_refused_as_before() -> None:
    with pytest.raises(errors.CompileError, match="cannot unpack 1 values into 2 variables"):
        adc.jit_grad(by_dimensions)(np.array([1.0, 2.0]), 2)
