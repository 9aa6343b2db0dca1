"""The modified Bessel function of order zero, as in NumPy: Chebyshev series below eight and above it."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule

_SMALL = (
    *(-4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15),
    *(-1.16853328779934516808e-14, 7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12),
    *(-1.72682629144155570723e-11, 9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9),
    *(-1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7, 1.11738753912010371815e-6),
    *(-4.41673835845875056359e-6, 1.64484480707288970893e-5, -5.75419501008210370398e-5, 1.88502885095841655729e-4),
    *(-5.76375574538582365885e-4, 1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2),
    *(-2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2, 1.71620901522208775349e-1),
    *(-3.04682672343198398683e-1, 6.76795274409476084995e-1),
)
_LARGE = (
    *(-7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17, 3.46122286769746109310e-17),
    *(-2.82762398051658348494e-16, -3.42548561967721913462e-16, 1.77256013305652638360e-15, 3.81168066935262242075e-15),
    *(-9.55484669882830764870e-15, -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13),
    *(7.18012445138366623367e-13, -1.79417853150680611778e-12),
    *(-1.32158118404477131188e-11, -3.14991652796324136454e-11),
    *(1.18891471078464383424e-11, 4.94060238822496958910e-10, 3.39623202570838634515e-9, 2.26666899049817806459e-8),
    *(2.04891858946906374183e-7, 2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3),
    8.04490411014108831608e-1,
)


def bessel_i0(x: Any) -> Any:
    """The function, of a float or an array of floats."""
    t = np.abs(x)
    small, large = np.minimum(t, 8.0), np.maximum(t, 8.0)
    near = np.exp(small) * _series(small / 2.0 - 2.0, _SMALL)
    far = np.exp(large) * _series(32.0 / large - 2.0, _LARGE) / np.sqrt(large)
    return np.where(t <= 8.0, near, far)


def slope(x: Any) -> Any:
    """Its derivative: that of the series."""
    t = np.abs(x)
    small, large = np.minimum(t, 8.0), np.maximum(t, 8.0)
    value, by = _series_and_slope(small / 2.0 - 2.0, _SMALL)
    near = np.exp(small) * (value + 0.5 * by)
    value, by = _series_and_slope(32.0 / large - 2.0, _LARGE)
    far = np.exp(large) / np.sqrt(large) * (value - 0.5 * value / large - 32.0 * by / (large * large))
    return np.where(t < _NEAR_ZERO, x * _ratio(x), np.sign(x) * np.where(t <= 8.0, near, far))


def _curvature(x: Any) -> Any:
    """The second derivative, by Bessel's equation."""
    near = np.abs(x) < _NEAR_ZERO
    return bessel_i0(x) - np.where(near, _ratio(x), slope(x) / np.where(near, 1.0, x))


_NEAR_ZERO = 0.1  # below this the slope, a difference of terms, has too few digits to be divided


def _ratio(x: Any) -> Any:
    """The slope over ``x`` near zero, by its power series."""
    t = 0.25 * x * x
    return 0.5 + t * (1 / 4 + t * (1 / 24 + t * (1 / 288 + t * (1 / 5760 + t / 172800))))


def _series(x: Any, coefficients: Any) -> Any:
    """The sum of the series, by Clenshaw's algorithm."""
    b0, b1, b2 = coefficients[0] + 0.0 * x, 0.0 * x, 0.0 * x
    for c in coefficients[1:]:
        b2 = b1
        b1 = b0
        b0 = x * b1 - b2 + c
    return 0.5 * (b0 - b2)


def _series_and_slope(x: Any, coefficients: Any) -> Any:
    b0, b1, b2 = coefficients[0] + 0.0 * x, 0.0 * x, 0.0 * x
    d0, d1, d2 = 0.0 * x, 0.0 * x, 0.0 * x
    for c in coefficients[1:]:
        b2 = b1
        b1 = b0
        b0 = x * b1 - b2 + c
        d2 = d1
        d1 = d0
        d0 = b1 + x * d1 - d2
    return 0.5 * (b0 - b2), 0.5 * (d0 - d2)


@reverse_rule(bessel_i0)
def _i0_reverse(x: Any) -> Any:
    def back(g: Any) -> Any:
        return (g * slope(x),)

    return bessel_i0(x), back


@forward_rule(bessel_i0)
def _i0_forward(tangents: Any, x: Any) -> Any:
    return bessel_i0(x), tangents[0] * slope(x)


@reverse_rule(slope)
def _slope_reverse(x: Any) -> Any:
    def back(g: Any) -> Any:
        return (g * _curvature(x),)

    return slope(x), back


@forward_rule(slope)
def _slope_forward(tangents: Any, x: Any) -> Any:
    return slope(x), tangents[0] * _curvature(x)
