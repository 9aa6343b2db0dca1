"""Derivatives of kernels that are compiled separately, for their sizes and layouts, compared with plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check

RNG = np.random.default_rng(31)
V = RNG.normal(size=9)
W = RNG.normal(size=4)
M = RNG.normal(size=(4, 3, 5))


def test_windows_of_any_length() -> None:
    """The shorter one is moved along the longer one; both may be strided, of one element, and of other types."""
    check(
        "np.convolve(v[::2], w[::-1], 'same'), np.correlate(w, v, 'same'), np.convolve(v, w[:1], 'valid'), "
        "np.convolve(k, w), np.correlate(w[:1], v)",
        v=V, w=W, k=np.array([3, -1, 2]), exact=False,
    )
    z = V[:6] + 1j * V[3:]
    check("np.convolve(z, w), np.correlate(w, z, 'full')", z=z, w=W, exact=False, derivatives=False)


def test_long_windows() -> None:
    def f(a: Any, b: Any) -> Any:
        return np.sum(np.convolve(a, b, "valid") ** 2)

    a, b = RNG.normal(size=2100), RNG.normal(size=2081)
    of_a, of_b = adc.grad(f, argnums=(0, 1))(a, b)
    out = np.convolve(a, b, "valid")
    np.testing.assert_allclose(of_b, np.correlate(a, 2 * out, "valid")[::-1], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(of_a, np.convolve(2 * out, b[::-1]), rtol=1e-11, atol=1e-11)


def test_lanes_along_the_middle_axis() -> None:
    check(
        "np.sort(m, 1), np.sort(m[:, :, ::2], 0), np.median(m, 1), np.quantile(m, 0.3, axis=0), "
        "np.percentile(m, [10, 80], axis=1), np.partition(m, 1, axis=2)",
        m=M, by=("m",),
    )
    holes = np.where(M > 1.2, np.nan, M)
    check("np.nanmedian(m, 1), np.nanquantile(m, [0.2, 0.9], axis=0)", m=holes, derivatives=False)


def test_quantiles_by_their_levels() -> None:
    def f(x: Any, q: Any) -> Any:
        return np.sum(np.quantile(x, q) ** 2) + np.quantile(x, q[0])

    q = np.array([0.21, 0.68])
    expected = [(f(V, q + 1e-6 * (np.arange(2) == k)) - f(V, q - 1e-6 * (np.arange(2) == k))) / 2e-6 for k in range(2)]
    np.testing.assert_allclose(adc.grad(f, argnums=1)(V, q), expected, rtol=1e-7)


@pytest.mark.parametrize("x", [np.array([-20.0, -8.5, -3.0, 0.0, 1e-9, 2.0, 7.9, 8.1, 30.0]), 2.5])
def test_the_bessel_function(x: Any) -> None:
    """I0' = I1, by its integral, and Bessel's equation."""
    at = np.linspace(0.0, np.pi, 4001)
    grid = np.exp(np.multiply.outer(x, np.cos(at)))

    def integral(values: Any) -> Any:
        return np.trapezoid(values, at) / np.pi

    def f(x: Any) -> Any:
        return np.sum(np.i0(x))

    np.testing.assert_allclose(adc.grad(f)(x), integral(grid * np.cos(at)), rtol=1e-12, atol=1e-15)
    twice = adc.hvp(f, (x,), (np.ones_like(x) if np.ndim(x) else 1.0,))
    np.testing.assert_allclose(twice, integral(grid * np.cos(at) ** 2), rtol=1e-12)
