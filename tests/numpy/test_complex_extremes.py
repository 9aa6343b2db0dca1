"""Complex functions beside their poles, of very small and large numbers, and at infinities, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import function_of

BESIDE = {
    "log1p": [-1 + 1e-8j, -1 + 1e-4j, -1 + 1e-6 + 1e-6j, 1e200j, -1 + 1e-200j, -1.6 + 0.3j],
    "arctanh": [1 + 1e-200j, -1 - 1e-200j, 1 + 5e-324j, 1e200 + 1e200j, -1e200 + 2j, 0.95 + 0.01j, 1e-200 - 1e-200j],
    "arctan": [1e200j, 1e-200 + 1j, -1e200 + 1e200j],
    "arcsin": [1 + 5e-324j, 1e300 + 1e300j],
    "sqrt": [5e-324j, -5e-324 + 0j, 1e-310 - 2e-310j, 1.5e308 + 1.5e308j, -1e308 + 1j],
    "exp": [800 + 0j, -800 + 1j, 1e200 - 0.0j, complex(-np.inf, np.inf)],
    "exp2": [1e200 + 0j],
    "sinh": [800 + 0j, -800 + 0j],
    "cosh": [800 + 0j, -800 + 0j],
    "sin": [800j],
    "cos": [-800j],
}


@pytest.mark.parametrize("name", BESIDE)
def test_beside_poles_and_far_out(name: str) -> None:
    plain = function_of(f"np.{name}(z)", "z")
    z = np.array(BESIDE[name], complex)
    with np.errstate(all="ignore"):
        wanted = plain(z)
    found = adc.jit_grad(plain)(z)
    np.testing.assert_allclose(found.real, wanted.real, rtol=1e-14)
    np.testing.assert_allclose(found.imag, wanted.imag, rtol=1e-14)


def test_exponential_that_overflows_in_part() -> None:
    assert adc.jit_grad(lambda z: np.exp(z))(710 + 1e-5j).imag == pytest.approx(2.2339947661244782e303, rel=1e-13)


@pytest.mark.parametrize("name", "log log1p sqrt arcsin arccos arctan arcsinh arccosh arctanh".split())
def test_infinities(name: str) -> None:
    plain = function_of(f"np.{name}(z)", "z")
    parts = [0.0, -0.0, 2.0, -1.0, np.inf, -np.inf]
    z = np.array([complex(a, b) for a in parts for b in parts if np.isinf(a) or np.isinf(b)])
    z = np.append(z, [complex(np.inf, np.nan), complex(np.nan, -np.inf)])
    with np.errstate(all="ignore"):
        wanted = plain(z)
    found = adc.jit_grad(plain)(z)
    for a, b in ((found.real, wanted.real), (found.imag, wanted.imag)):
        np.testing.assert_allclose(a, b, rtol=1e-15)
        np.testing.assert_array_equal(np.signbit(a[~np.isnan(b)]), np.signbit(b[~np.isnan(b)]))


@pytest.mark.parametrize("name", ["log1p", "arctanh", "arctan", "arccosh", "sqrt", "exp"])
def test_derivatives_beside_poles_and_far_out(name: str) -> None:
    by: dict[str, Any] = {
        "log1p": lambda z: 1 / (1 + z),
        "arctanh": lambda z: 1 / ((1 - z) * (1 + z)),
        "arctan": lambda z: 1 / ((1 - 1j * z) * (1 + 1j * z)),
        "arccosh": lambda z: 1 / (np.sqrt(z - 1) * np.sqrt(z + 1)),
        "sqrt": lambda z: 0.5 / np.sqrt(z),
        "exp": np.exp,
    }
    plain = function_of(f"np.{name}(complex(x, y))", "x", "y")
    near = (-1 + 1e-6j, 1 - 1e-6j, 1e-5 + 1.00001j, 20 - 30j, 3 + 0j, 0.3 + 0j, 0.4j)
    for z in (*near, 1e100j, 1e-300 + 2e-300j, -1e-250 + 1e-250j):
        wanted = by[name](z)
        _, along_x = adc.jvp(plain, (z.real, z.imag), (1.0, 0.0))
        assert along_x == pytest.approx(wanted, rel=1e-9, abs=1e-190), z
        _, back = adc.pullback(plain, z.real, z.imag)
        assert back(1.0 + 0j) == pytest.approx((wanted.real, -wanted.imag), rel=1e-9, abs=1e-9 * abs(wanted)), z
