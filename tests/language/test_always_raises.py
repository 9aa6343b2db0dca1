"""Functions that end with an error on all paths, and so do their gradients."""

from __future__ import annotations

import pytest

import adc


def fails(x, limit=2):  # type: ignore[no-untyped-def]
    y = x * x
    if limit > 1:
        raise LookupError(f"no convergence after {limit} steps, {y:.2f}")
    return y


def always(x):  # type: ignore[no-untyped-def]
    return fails(x) + x


@pytest.mark.parametrize("function", [fails, always])
def test_gradient_raises_what_the_function_raises(function) -> None:  # type: ignore[no-untyped-def]
    for call in (adc.jit_grad(function), adc.grad(function), adc.value_and_grad(function)):
        with pytest.raises(LookupError, match=r"no convergence after 2 steps, 2\.25"):
            call(1.5)
    with pytest.raises(LookupError):
        adc.pullback(function, 1.5)
    assert adc.grad(fails)(1.5, 1) == 3.0
