"""Sums that move to their own nest read what the old nest has not changed yet, also in sequential inner loops. The
gradient is that of forward mode, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.forward_mode import check_gradients


def chain_inside(x: Any) -> Any:
    u = np.zeros_like(x)
    for i in range(1, 6):
        for j in range(1, 3):
            for k in range(1, 3):
                u[i, j, k] = (u[i, j, k] if u[i + 1, j - 1, k + 1] < 2.0 else 0.0) * x[i, j, k]
                u[i, j, k] = 0.25 * (x[i - 1, j, k - 1] + u[i, j - 1, k - 1])
    return np.sum(u)


def chain_of_rows(x: Any) -> Any:
    u = x * 1.0
    for i in adc.prange(7):
        for j in range(1, 4):
            for k in range(4):
                u[i, j, k] = 0.5 * x[(i + 1) % 7, j, k] * x[i, j, 3 - k] + 0.75 * u[i, j - 1, k]
    return np.sum(u * u)


def chain_under_while(x: Any) -> Any:
    u = x * 1.0
    for i in adc.prange(1, 6):
        j = 1
        while j < 4:
            for k in range(3):
                u[i, j, k] = 0.5 * x[i - 1, j, k + 1] * x[i + 1, j, k] + 0.75 * u[i, j - 1, k]
            j += 1
    return np.sum(u * u)


def chain_in_a_branch(x: Any) -> Any:
    u = np.zeros_like(x)
    for i in range(1, 6):
        for j in range(1, 4):
            for k in range(1, 4):
                if x[i, j, k] > 0.3:
                    u[i, j, k] = x[i - 1, j - 1, k] * x[i + 1, j, k - 1] + 0.5 * u[i, j - 1, k]
    return np.sum(u * x)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("function", [chain_inside, chain_of_rows, chain_under_while, chain_in_a_branch])
def test_gradient_is_that_of_forward_mode(function: Any, order: Any) -> None:
    x = np.asarray(np.random.default_rng(3).random((7, 4, 4)), order=order)
    compiled = adc.jit_grad(function)
    value, gradient = compiled.value_and_grad(x)
    assert value == pytest.approx(function(x), rel=1e-14)
    check_gradients(compiled, (x,), {0: gradient})
