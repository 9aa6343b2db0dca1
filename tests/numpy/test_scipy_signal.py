"""SciPy's convolutions, filters, interpolating curves and their integrals, compared with SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check

pytest.importorskip("scipy")
HEAD = "from scipy import integrate as ig, interpolate as ip, ndimage as nd, signal as sg"
RNG = np.random.default_rng(3)
A, W3, W4 = RNG.normal(size=7), RNG.normal(size=3), RNG.normal(size=4)
M, K = RNG.normal(size=(5, 6)), RNG.normal(size=(2, 3))
X, Y, Q = np.sort(RNG.uniform(0, 5, 6)), RNG.normal(size=6), RNG.uniform(-1, 6, (2, 4))


def near(body: str, **inputs: Any) -> None:
    check(body, exact=False, rtol=1e-10, head=HEAD, **inputs)


def value(body: str, **inputs: Any) -> None:
    check(body, exact=False, rtol=1e-10, head=HEAD, derivatives=False, **inputs)


def test_convolutions_of_vectors() -> None:
    for name in ("convolve", "correlate", "fftconvolve"):
        value(f"sg.{name}(a, w, 'same'), sg.{name}(w, a, 'same'), sg.{name}(w, a, mode='valid')", a=A, w=W4)
    near("sg.correlate(a, w)", a=A, w=W4)
    near("sg.fftconvolve(a, w)", a=A, w=W4)


def test_convolutions_of_matrices() -> None:
    value("sg.correlate2d(m, k), sg.correlate2d(m, k, 'same'), sg.correlate2d(k, m, 'valid')", m=M, k=K)
    value("sg.convolve2d(m, k, 'same'), sg.convolve2d(m, k, 'valid'), sg.correlate(m, k, 'same')", m=M, k=K)
    value("sg.convolve2d(m, k, 'same', 'symm'), sg.convolve2d(m, k, 'full', 'fill', 2.0)", m=M, k=K)
    value("sg.fftconvolve(m, k, 'same')", m=M, k=K)
    near("sg.convolve2d(m, k, 'same', 'wrap')", m=M, k=K)


def test_filters() -> None:
    near("sg.lfilter(b, [1.0, 0.3, -0.2], a, zi=z)", a=A, b=W3, z=W3[:2])
    value("sg.lfilter([0.5], [1.0, -0.5], m, axis=0), sg.lfilter(b, [2.0], a)", a=A, b=W3, m=M)


@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "wrap"])
def test_windows_of_images(mode: str) -> None:
    value(f"nd.correlate(m, k, mode='{mode}', cval=0.5), nd.convolve1d(m, w, mode='{mode}')", m=M, k=K, w=W4)


def test_filters_of_images() -> None:
    near("nd.gaussian_filter(m, s)", m=M, s=0.8)
    near("nd.convolve(m, k)", m=M, k=K)
    value("nd.correlate(m, m[:3, :3], origin=1), nd.convolve(m, m[:3, :3], origin=(0, 1))", m=M)
    value("nd.uniform_filter(m, (2, 3)), nd.uniform_filter1d(a, 4), nd.correlate1d(a, w, origin=1)", m=M, a=A, w=W4)
    value("nd.gaussian_filter(m, (0.7, 1.2), mode='nearest'), nd.gaussian_filter1d(a, 1.5, mode='wrap')", m=M, a=A)


_MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-constant", "grid-wrap", "grid-mirror"]


@pytest.mark.parametrize("mode", _MODES)
def test_values_between_points(mode: str) -> None:
    c = RNG.uniform(-7, 13, (2, 20))
    value(f"nd.map_coordinates(m, c, order=1, mode='{mode}', cval=0.3)", m=M, c=c)
    value(f"nd.map_coordinates(m, c, order=0, mode='{mode}', cval=0.3)", m=M, c=c)


def test_values_between_points_have_derivatives() -> None:
    near("nd.map_coordinates(m, c, order=1, mode='reflect')", m=M, c=RNG.uniform(-7, 13, (2, 3, 2)))


def test_cubic_splines() -> None:
    near("s = ip.CubicSpline(x, y)\nreturn s(q), s(q, 1), s(2.0)", x=X, y=Y, q=Q)
    value("ip.CubicSpline(x, y, bc_type='natural')(q, 2), ip.CubicSpline(x, y, bc_type='clamped')(q)", x=X, y=Y, q=Q)
    value("ip.CubicSpline(x, y, bc_type=((1, 0.5), (2, 0.3)))(q)", x=X, y=Y, q=Q)
    value("ip.CubicSpline(x[:3], y[:3])(q), ip.CubicSpline(x[:2], y[:2])(q)", x=X, y=Y, q=Q)
    outside = f"{HEAD}\nimport numpy as np\ns = ip.CubicSpline(np.arange(5.0), np.sin(np.arange(5.0)))"
    check("s(q), s(q, 1)", exact=False, head=outside, q=Q)


def test_lines_through_points() -> None:
    near("ip.interp1d(x, y, fill_value='extrapolate')(q), ip.interp1d(x, y)(x[1:3] + 0.01)", x=X, y=Y, q=Q)
    value("ip.interp1d(x[::-1], y, bounds_error=False, fill_value=(1.0, 2.0))(q)", x=X, y=Y, q=Q)
    for kind in ("nearest", "previous", "next"):
        value(f"ip.interp1d(x, y, '{kind}', bounds_error=False, fill_value=0.0)(q)", x=X, y=Y, q=Q)


def test_integrals() -> None:
    near("ig.simpson(y, x=x), ig.cumulative_trapezoid(y, x, initial=0)", x=X, y=Y)
    value("ig.simpson(m, axis=0), ig.simpson(y[:2]), ig.cumulative_trapezoid(m, dx=0.3, axis=0)", m=M, y=Y)


# Ways out of refusals -------------------------------------------------------------------------------------------------


def test_an_integral_by_a_rule() -> None:
    """What a refusal of ``quad`` names."""
    x, w = np.polynomial.legendre.leggauss(12)
    f = adc.jit_grad(lambda k: np.sum(w * np.exp(k * x)))
    assert f(0.7) == pytest.approx((np.exp(0.7) - np.exp(-0.7)) / 0.7, rel=1e-12)


def test_an_equation_by_steps() -> None:
    """What a refusal of ``solve_ivp`` names: a loop, with steps as small as the error wants them."""

    def decay(k: float, tolerance: float) -> float:
        t, y, h = 0.0, 1.0, 0.1
        while t < 1.0:
            h = min(h, 1.0 - t)
            p = -k * y
            q = -k * (y + h * p)
            error = abs(h * (q - p) / 2)
            if error <= tolerance:
                t, y = t + h, y + h * (p + q) / 2
            h = h * min(2.0, max(0.3, 0.9 * np.sqrt(tolerance / (error + 1e-300))))
        return y

    value, slope = adc.value_and_grad(decay)(1.3, 1e-7)
    assert value == pytest.approx(np.exp(-1.3), abs=1e-4)
    assert slope == pytest.approx(-np.exp(-1.3), abs=1e-3)


def test_a_root_by_newton() -> None:
    """What a refusal of ``np.roots`` names."""

    def root(p: Any) -> Any:
        dp = np.polyder(p)
        x = 2.0
        for _ in range(30):
            x -= np.polyval(p, x) / np.polyval(dp, x)
        return x

    value, slope = adc.value_and_grad(root)(np.array([1.0, 0.0, -2.0]))
    assert value == pytest.approx(np.sqrt(2.0))
    np.testing.assert_allclose(slope, [-np.sqrt(2) / 2, -0.5, -1 / np.sqrt(8)], rtol=1e-9)
