"""Convolutions, interpolation, and phases."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.places import picked
from adc.frontend.kernels.sorting import order_of_vector, place_in, places_in
from adc.frontend.kernels.windows import convolved, interpolated
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import axis_of, flat, no_nest, part, promoted


@stands_for("numpy.convolve")
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    x, y = np.asarray(a), np.asarray(v)
    if len(x) == 0:
        raise ValueError("a cannot be empty")
    if len(y) == 0:
        raise ValueError("v cannot be empty")
    return _window(x, y, _mode(mode), False, promoted(x.dtype, y.dtype))


@stands_for("numpy.correlate")
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    x, y = np.asarray(a), np.asarray(v)
    if len(x) == 0 or len(y) == 0:
        raise ValueError("array arguments cannot be empty")
    if np.iscomplexobj(y):
        y = np.conj(y)
    return _window(x, y[::-1].copy(), _mode(mode), True, promoted(x.dtype, y.dtype))


def _mode(mode: Any) -> Any:
    how = constant(mode)
    if how not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {how!r})")
    return how


def _window(x: Any, y: Any, how: Any, late: Any, kind: Any) -> Any:
    """A part of a convolution. ``late``: the middle of an even number of weights is the later one if there are more
    weights than elements."""
    if kind == np.float16:  # summed in single precision
        return _window(x.astype(np.float32), y.astype(np.float32), how, late, np.float32).astype(np.float16)
    n, m = max(len(x), len(y)), min(len(x), len(y))
    if how == "full":
        return convolved(x, y, 0, n + m - 1, kind)
    if how == "valid":
        return convolved(x, y, m - 1, n - m + 1, kind)
    return convolved(x, y, m // 2 if late and len(y) > len(x) else (m - 1) // 2, n, kind)


@stands_for("numpy.interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    at = np.asarray(xp).astype(np.float64)
    values = np.asarray(fp).astype(np.float64)
    if at.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if len(at) == 0:
        raise ValueError("array of sample points is empty")
    if len(at) != len(values):
        raise ValueError("fp and xp are not of the same length.")
    points = no_nest(x)
    if period is None:
        below = values[0] if left is None else left * 1.0
        above = values[-1] if right is None else right * 1.0
        return _interp(points, at, values, below, above)
    if period == 0:
        raise ValueError("period must be a non-zero value")
    length = abs(period)
    at = at % length
    order = order_of_vector(at)
    n = len(at)
    around = np.empty(n + 2)
    inside = np.empty(n + 2)
    around[1:-1] = picked(at, order)
    inside[1:-1] = picked(values, order)
    around[0] = around[n] - length
    around[n + 1] = around[1] + length
    inside[0] = inside[n]
    inside[n + 1] = inside[1]
    return _interp(points % length, around, inside, inside[0], inside[-1])


def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    if np.ndim(x) == 0:
        number = np.float64(x)
        return np.float64(interpolated(number, xp, fp, left, right, place_in(xp, number, True)))
    values = flat(x).astype(np.float64)
    places = places_in(xp, values, True)
    out = np.empty(len(values))
    for k in range(len(values)):
        out[k] = interpolated(values[k], xp, fp, left, right, places[k])
    return out.reshape(x.shape)


@stands_for("numpy.unwrap")
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 6.283185307179586) -> Any:
    x = np.asarray(p)
    if x.dtype.kind != "f":
        unsupported("np.unwrap() of integers is not supported", "convert with astype(float)")
    k = axis_of(x, axis)
    steps = part(x, k, 1, None) - part(x, k, None, -1)
    limit = period / 2 if discont is None else discont
    low, high = -period / 2, period / 2
    wrapped = np.mod(steps - low, period) + low
    wrapped = np.where((wrapped == low) & (steps > 0), high, wrapped)
    turns = np.where(np.abs(steps) < limit, 0.0, wrapped - steps)
    out = x.copy()
    part(out, k, 1, None)[...] = part(x, k, 1, None) + np.cumsum(turns, axis=k)
    return out
