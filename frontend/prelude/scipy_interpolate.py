"""SciPy's curves through points. A function that makes a curve returns a function of the position."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.splines import slopes
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import flat

_COLUMNS = "pass one column: a vector of values"


@stands_for("scipy.interpolate.CubicSpline")
def cubic_spline(x: Any, y: Any, axis: Any = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> Any:
    knots, values = np.asarray(x) * 1.0, np.asarray(y) * 1.0
    if knots.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if values.ndim != 1:
        unsupported("CubicSpline() of values of several dimensions is not supported", _COLUMNS)
    if len(knots) < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if len(knots) != len(values):
        raise ValueError("The length of `y` along `axis`=0 doesn't match the length of `x`")
    if np.any(knots[1:] <= knots[:-1]):
        raise ValueError("`x` must be strictly increasing sequence.")
    if extrapolate is not None and constant(extrapolate) is not True:
        unsupported("CubicSpline() with this extrapolate is not supported", "leave it out, and choose with np.where")
    first, last = _conditions(constant(bc_type))
    s = slopes(knots, values, *first, *last)
    h = knots[1:] - knots[:-1]
    slope = (values[1:] - values[:-1]) / h
    t = (s[:-1] + s[1:] - 2 * slope) / h
    coefficients = np.stack((t / h, (slope - s[:-1]) / h - t, s[:-1], values[:-1]))

    def spline(x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
        return piecewise_polynomial(coefficients, knots, x, nu, extrapolate)

    return spline


def _conditions(kind: Any) -> Any:
    """The condition at each end: the order of a derivative, 3 for not-a-knot, and its value."""
    if not isinstance(kind, tuple):
        return _condition(kind), _condition(kind)
    if len(kind) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    return _condition(kind[0]), _condition(kind[1])


def _condition(kind: Any) -> Any:
    if isinstance(kind, tuple):
        return kind[0], kind[1] * 1.0
    if kind == "clamped":
        return 1, 0.0
    if kind == "natural":
        return 2, 0.0
    if kind != "not-a-knot":
        unsupported("CubicSpline() with this bc_type is not supported", "there are not-a-knot, clamped and natural")
    return 3, 0.0


def piecewise_polynomial(c: Any, knots: Any, x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
    """Polynomials in the distance from the previous knot, highest power first; or their derivative of order ``nu``."""
    if extrapolate is not None and constant(extrapolate) is not True:
        unsupported("a spline that does not extrapolate is not supported", "choose with np.where")
    if np.ndim(c) != 2:
        unsupported("a piecewise polynomial of several dimensions is not supported", _COLUMNS)
    powers = c
    for _ in range(constant(nu)):
        n = powers.shape[0]
        powers = np.arange(n - 1.0, 0.0, -1.0)[:, None] * powers[:-1] if n > 1 else powers * 0.0
    if isinstance(x, np.ndarray):
        points = flat(x)
        out = np.zeros(len(points))
        for k in range(len(points)):
            out[k] = _at(powers, knots, points[k])
        return out.reshape(x.shape)
    return np.asarray(_at(powers, knots, x))


def _at(c: Any, knots: Any, x: Any) -> Any:
    k = min(max(np.searchsorted(knots, x, side="right") - 1, 0), len(knots) - 2)
    d = x - knots[k]
    total = 0.0
    for j in range(c.shape[0]):
        total = total * d + c[j, k]
    return total


@stands_for("scipy.interpolate.interp1d")
def interp1d(
    x: Any, y: Any, kind: Any = "linear", axis: Any = -1, copy: Any = True, bounds_error: Any = None,
    fill_value: Any = np.nan, assume_sorted: Any = False,
) -> Any:  # fmt: skip
    knots, values = np.asarray(x) * 1.0, np.asarray(y) * 1.0
    if values.ndim != 1:
        unsupported("interp1d() of values of several dimensions is not supported", _COLUMNS)
    if constant(kind) not in ("linear", "nearest", "previous", "next"):
        unsupported("interp1d() of this kind is not supported", "use scipy.interpolate.CubicSpline(x, y)")
    if not constant(assume_sorted):
        order = np.argsort(knots, kind="stable")
        knots, values = knots[order], values[order]
    beyond = isinstance(fill_value, str)
    strict = not beyond and (bounds_error is None or constant(bounds_error))

    def line(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            points = flat(x)
            out = np.zeros(len(points))
            for k in range(len(points)):
                out[k] = _on_line(knots, values, points[k], kind, beyond, strict, fill_value)
            return out.reshape(x.shape)
        return np.asarray(_on_line(knots, values, x, kind, beyond, strict, fill_value))

    return line


def _on_line(knots: Any, values: Any, x: Any, kind: Any, beyond: Any, strict: Any, fill: Any) -> Any:
    n = len(knots)
    if strict and x < knots[0]:
        raise ValueError("A value is below the interpolation range's minimum value.")
    if strict and x > knots[n - 1]:
        raise ValueError("A value is above the interpolation range's maximum value.")
    if not beyond and (x < knots[0] or x > knots[n - 1]):
        if isinstance(fill, tuple):
            return fill[0] * 1.0 if x < knots[0] else fill[1] * 1.0
        return fill * 1.0
    k = min(max(np.searchsorted(knots, x) - 1, 0), n - 2)
    if kind == "linear":
        return (values[k + 1] - values[k]) / (knots[k + 1] - knots[k]) * (x - knots[k]) + values[k]
    if kind == "nearest":
        return values[k + 1] if x > (knots[k] + knots[k + 1]) / 2.0 else values[k]
    if kind == "previous":
        return values[min(max(np.searchsorted(knots, x, side="right") - 1, 0), n - 1)]
    return values[min(np.searchsorted(knots, x), n - 1)]
