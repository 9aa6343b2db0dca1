"""Functions of one number: value and derivative at a point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import adc


def check_at(f: Callable[..., Any], x: float) -> None:
    """``f`` compiled has the value of plain Python at ``x``, and the derivative of its differences."""
    value, gradient = adc.value_and_grad(f)(x)
    assert value == pytest.approx(f(x), rel=1e-15)
    assert gradient == pytest.approx((f(x + 1e-5) - f(x - 1e-5)) / 2e-5, rel=1e-8)
