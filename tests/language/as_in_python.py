"""A function of six numbers, compiled: its value to the bit as in Python, its gradient against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad

NUMBERS = np.random.default_rng(0).random(6)
_STEP = 1e-6


def check(function: Any) -> Any:
    """The compiled function."""
    w, compiled = NUMBERS.copy(), jit_grad(function)
    assert compiled(w) == function(w)
    slopes = [(function(w + _STEP * row) - function(w - _STEP * row)) / (2 * _STEP) for row in np.eye(6)]
    assert compiled.grad(w) == pytest.approx(np.array(slopes), rel=1e-6, abs=1e-7)
    return compiled
