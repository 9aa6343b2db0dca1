"""Several nests in one step of a time loop with swapped buffers: zeroing that is postponed to the next step affects
only elements that nothing was added to yet. The gradient is that of forward mode, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.forward_mode import check_gradients


def two_sweeps(x: Any) -> Any:
    u, v = 0.5 * x, x * 1.0
    for _ in range(3):
        for i in range(1, len(x) - 1):
            u[i] = 0.4 * np.sin(v[i + 1]) + 0.3 * v[i]
        for i in range(2, len(x) - 1):  # of another range: the two are not fused
            u[i] = 0.4 * v[i + 1] * v[i - 1] + 0.3 * u[i]
        u, v = v, u
    return np.sum(u * u) + np.sum(v * x)


def linear_sweep_first(x: Any) -> Any:
    u, v = 0.5 * x, x * 1.0
    for _ in range(4):
        for i in range(1, len(x) - 1):
            v[i] = 0.4 * u[i] + 0.3 * u[i - 1]
        for i in range(1, len(x) - 1):
            v[i] += 0.2 * u[i - 1] * u[i + 1]
        u, v = v, u
    return np.sum(u * u) + np.sum(v * x)


def sweep_and_single_elements(x: Any) -> Any:
    u, v = 0.5 * x, x * 1.0
    for _ in range(3):
        for i in range(1, len(x) - 1):
            v[i] = 0.4 * u[i + 1] * u[i - 1]
        v[0] = u[1] * u[2]
        v[2] += 0.5 * u[3]
        u, v = v, u
    return np.sum(u * u) + np.sum(v * x)


def one_sweep(x: Any) -> Any:
    u, v = 0.5 * x, x * 1.0
    for _ in range(3):
        for i in range(1, len(x) - 1):
            v[i] = 0.4 * u[i + 1] * u[i - 1]
        u, v = v, u
    return np.sum(u * u) + np.sum(v * x)


@pytest.mark.parametrize("kind", ["auto", "gather", "rows", "blocks"])
@pytest.mark.parametrize("function", [two_sweeps, linear_sweep_first, sweep_and_single_elements, one_sweep])
def test_gradient_is_that_of_forward_mode(function: Any, kind: Any) -> None:
    x = np.random.default_rng(1).random(11)
    compiled = jit_grad(function, accumulate=kind)
    value, gradient = compiled.value_and_grad(x)
    assert value == pytest.approx(function(x), rel=1e-14)
    check_gradients(compiled, (x,), {0: gradient})


def test_zeroing_is_left_to_the_next_step_where_one_nest_does_all() -> None:
    for function, left in ((one_sweep, True), (two_sweeps, False)):
        compiled = jit_grad(function)
        compiled.grad(np.ones(11))
        assert ("known to be zero" in str(compiled.report())) is left
