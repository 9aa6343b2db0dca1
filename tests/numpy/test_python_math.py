"""Traced functions of Python's ``math``, for known and run-time numbers, compared with Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc


def of_integers(n: Any, k: Any) -> Any:
    return (
        math.comb(n, k), math.perm(n, k), math.perm(k), math.gcd(n, k, 4), math.gcd(-n), math.gcd(), math.lcm(n, k),
        math.lcm(n, 0), math.factorial(k), math.isqrt(n * n + 3), math.comb(k, n), math.prod([k, n]), math.comb(5, 2),
    )  # fmt: skip


def of_floats(x: Any, k: Any) -> Any:
    return (
        math.isclose(x, x + 1e-12), math.isclose(x, 1.01 * x), math.isclose(x, 1.01 * x, rel_tol=0.1),
        math.isclose(0.0, x, abs_tol=1.0), math.isclose(math.inf, x), math.prod([x, 2.0, 3]),
        math.prod((x, k), start=2), math.ldexp(x, k), math.frexp(x), math.modf(10 * x), math.nextafter(x, 2.0),
    )  # fmt: skip


def test_integers() -> None:
    compiled = adc.jit_grad(of_integers)
    for n, k in ((7, 3), (12, 18), (1, 1), (0, 0), (20, 10)):
        got = compiled(n, k)
        assert got == of_integers(n, k) and all(type(v) is int for v in got)
    assert compiled(np.int32(7), np.int64(3)) == of_integers(7, 3)
    assert adc.jit_grad(lambda n: math.isqrt(n))(2**63 - 1) == math.isqrt(2**63 - 1)


def test_floats() -> None:
    compiled = adc.jit_grad(of_floats)
    for x, k in ((0.3, 3), (-1.7, 1), (1e10, -4)):
        assert compiled(x, k) == of_floats(x, k)


def test_derivatives() -> None:
    def program(x: float, n: int) -> float:
        part, whole = math.modf(x)
        terms = sum(math.comb(n, k) * x**k for k in range(n + 1))
        return terms + math.prod([x, part, x]) * whole + math.ldexp(x, 2) + math.frexp(x)[0]

    x, h = 1.3, 1e-6
    gradient = adc.grad(program)(x, 4)
    assert gradient == pytest.approx((program(x + h, 4) - program(x - h, 4)) / (2 * h), rel=1e-7)
    assert adc.jvp(program, (x, 4), (1.0, None))[1] == pytest.approx(gradient, rel=1e-12)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda n: math.comb(n, -1), "k must be a non-negative integer"),
        (lambda n: math.perm(-n, 1), "n must be a non-negative integer"),
        (lambda n: math.factorial(-n), "not defined for negative values"),
        (lambda n: math.isqrt(-n), "must be nonnegative"),
        (lambda n: math.isclose(n, n, rel_tol=-1.0), "tolerances must be non-negative"),
    ],
)
def test_errors_are_pythons(function: Any, error: str) -> None:
    for call in (function, adc.jit_grad(function)):
        with pytest.raises(ValueError, match=error):
            call(3)


def test_integers_have_64_bits() -> None:
    with pytest.raises(OverflowError):
        adc.jit_grad(lambda n: math.factorial(n))(21)
    with pytest.raises(adc.AdcError, match="takes integers"):
        adc.jit_grad(lambda x: math.gcd(x, 3))(1.5)
