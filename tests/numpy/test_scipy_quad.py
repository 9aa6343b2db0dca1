"""``scipy.integrate.quad`` of functions of one number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import CompileError

quad = pytest.importorskip("scipy.integrate").quad


def polynomial(x, p):
    return quad(lambda t: p * t**5 - t, -1, x)[0]


def smooth(x, p):
    return quad(lambda t: np.exp(-t * t * p) * math.cos(t), 0, x)[0]


def upwards(x, p):
    return x * quad(lambda t, c: np.exp(-t * c), 0.5, np.inf, args=(p,))[0]


def downwards(x, p):
    return quad(lambda t, c: np.exp(t * c), -math.inf, x, args=p)[0]


def everywhere(x, p):
    return quad(lambda t: np.exp(-t * t * p), -np.inf, np.inf)[0] * x


def waves(x, p):
    return quad(lambda t: np.sin(100 * t * p), 0, x)[0]


def peak(x, p):
    return quad(lambda t: 1 / ((t - 0.3) ** 2 + 1e-4 * p), 0, x, epsabs=1e-12, epsrel=1e-12, limit=100)[0]


def singular(x, p):
    return quad(lambda t: p * math.log(t), 0, x)[0]


def nested(x, p):
    return quad(lambda s: quad(lambda t: t * p * s, 0, s)[0], 0, x)[0]


@pytest.mark.parametrize("program", [
    polynomial, smooth, upwards, downwards, everywhere, waves, peak, singular, nested,
])  # fmt: skip
def test_values_and_derivatives(program: Any) -> None:
    x, p = 1.7, 0.6
    made = adc.jit_grad(argnums=(0, 1))(program)
    value, found = made.value_and_grad(x, p)
    assert value == pytest.approx(program(x, p), rel=1e-10, abs=1e-10)
    h = 1e-5
    wanted = (
        (program(x + h, p) - program(x - h, p)) / (2 * h), (program(x, p + h) - program(x, p - h)) / (2 * h),
    )  # fmt: skip
    assert found == pytest.approx(wanted, rel=1e-5, abs=1e-8)
    forward = made.jvp((x, p), (0.5, 2.0))[1]
    assert forward == pytest.approx(0.5 * found[0] + 2 * found[1], rel=1e-12)


def test_error_estimates() -> None:
    def program(x: float) -> Any:
        return quad(np.sin, 0, x), quad(lambda t: abs(t - 0.1), x, -1)

    for found, wanted in zip(adc.jit_grad(program)(2.0), program(2.0), strict=True):
        assert found[0] == pytest.approx(wanted[0], rel=1e-9)
        assert found[1] <= 1.5e-8


def test_what_is_refused() -> None:
    with pytest.raises(CompileError, match="without points"):
        adc.jit_grad(lambda x: quad(np.sin, 0, x, points=[0.5])[0])(1.0)
