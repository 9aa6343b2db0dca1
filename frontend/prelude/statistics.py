"""Statistics of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.sorting import in_order, places_of_rank
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import (
    axis_of,
    flat,
    float_dtype,
    given,
    in_one_axis,
    laid,
    lanes,
    no_nest,
    of_lanes,
    promoted,
)


@stands_for("numpy.ptp")
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    return given(np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims), out)


@stands_for("numpy.median")
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> Any:
    x = np.asarray(a)
    return given(of_lanes(_median_lane, x, axis, keepdims, float_dtype(x)), out)


@stands_for("numpy.nanmedian")
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> Any:
    x = np.asarray(a)
    return given(of_lanes(_nan_median_lane, x, axis, keepdims, float_dtype(x)), out)


def _median_lane(lane: Any, out: Any) -> None:
    if len(lane) > 0 and _count(lane) == len(lane):
        out[0] = _middle(lane)
    else:
        out[0] = np.nan


def _nan_median_lane(lane: Any, out: Any) -> None:
    if _count(lane) > 0:
        out[0] = _middle(lane)
    else:
        out[0] = np.nan


def _middle(lane: Any) -> Any:
    """The mean of the middle one or two of the numbers."""
    n = _count(lane)
    i, j = places_of_rank(lane, (n - 1) // 2)
    if n % 2 == 1:
        return lane[i] / 1
    return (lane[i] + lane[j]) / 2


def _count(lane: Any) -> Any:
    """How many elements are numbers."""
    return np.count_nonzero(lane == lane)


@stands_for("numpy.quantile")
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    return given(_quantiles(np.asarray(a), no_nest(q), axis, method, keepdims, weights, 1, False), out)


@stands_for("numpy.percentile")
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    return given(_quantiles(np.asarray(a), no_nest(q), axis, method, keepdims, weights, 100, False), out)


@stands_for("numpy.nanquantile")
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    return given(_quantiles(np.asarray(a), no_nest(q), axis, method, keepdims, weights, 1, True), out)


@stands_for("numpy.nanpercentile")
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    return given(_quantiles(np.asarray(a), no_nest(q), axis, method, keepdims, weights, 100, True), out)


def _quantiles(
    a: Any, q: Any, axis: Any, method: Any, keepdims: Any, weights: Any, scale: Any, without_nan: Any
) -> Any:
    if weights is not None:
        unsupported("quantiles with weights are not supported", "sort with np.argsort, and add the weights up")
    if np.ndim(q) > 1:
        unsupported("quantiles take a number or a vector here", "pass q.ravel()")
    if np.ndim(q) == 0 and a.dtype.kind == "f":
        levels = np.asarray([q], a.dtype) / a.dtype.type(scale)
    elif np.ndim(q) == 0:
        levels = np.asarray([q], np.float64) / scale
    else:
        levels = np.asarray(q) / (a.dtype.type(scale) if a.dtype.kind == "f" else scale)
    for k in range(len(levels)):
        if not (levels[k] >= 0 and levels[k] <= 1):
            raise ValueError(f"{_NAMES[constant(scale)]} must be in the range [0, {scale}]")
    kind = a.dtype if constant(method) in _WHOLE else promoted(float_dtype(a), levels.dtype)

    def one_of(lane: Any, out: Any) -> None:
        n = _count(lane)
        if n == 0 or not (without_nan or n == len(lane)):
            out[0] = np.nan
        else:
            low, high, part = _place(n, levels[0], method)
            i, j = places_of_rank(lane, low)
            if high == low:
                j = i
            out[0] = lane[i] if method in _WHOLE else _between(lane[i], lane[j], part)

    def lane_of(lane: Any, out: Any) -> None:
        n = _count(lane)
        if n == 0 or not (without_nan or n == len(lane)):
            out[...] = np.nan
        else:
            s = in_order(lane)
            for k in range(len(levels)):
                low, high, part = _place(n, levels[k], method)
                out[k] = s[low] if method in _WHOLE else _between(s[low], s[high], part)

    if np.ndim(q) == 0:
        return of_lanes(one_of, a, axis, keepdims, kind)
    if constant(keepdims):
        unsupported("several quantiles with keepdims are not supported", "write [None] behind the axes of the result")
    if isinstance(axis, tuple):
        if len(axis) != a.ndim:
            return _quantiles(in_one_axis(a, axis), q, -1, method, keepdims, weights, scale, without_nan)
        axis = None
    if axis is None:
        x = flat(a)
        return lanes(lane_of, x, 0, len(levels), kind)
    k = axis_of(a, axis)
    found = lanes(lane_of, a, k, len(levels), kind)
    return np.transpose(found, (k, *range(k), *range(k + 1, a.ndim)))


_NAMES = {1: "Quantiles", 100: "Percentiles"}
_WHOLE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
_CORRECTIONS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}


def _between(a: Any, b: Any, part: Any) -> Any:
    """What is a part of the way from one number to the other, as NumPy rounds it."""
    step = b - a
    return b - step * (1 - part) if part >= 0.5 else a + step * part


def _place(n: Any, q: Any, method: Any) -> Any:
    """The two of ``n`` sorted elements that a quantile is between, and where; the ways are Hyndman and Fan's (1996)."""
    how = constant(method)
    if how in _WHOLE:
        k = _whole(n, q, how)
        return k, k, q * 0
    if how == "linear":
        place = (n - 1) * q
    elif how == "midpoint":
        place = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    elif how == "averaged_inverted_cdf":
        place = n * q - 1
    elif how in _CORRECTIONS:
        alpha, beta = _CORRECTIONS[how]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
    else:
        raise ValueError(f"{how!r} is not a valid method.")
    if place >= n - 1:
        low = n - 1
        high = n - 1
        below = -1.0
    elif place < 0:
        low = 0
        high = 0
        below = 0.0
    else:
        low = int(place)
        high = low + 1
        below = np.floor(place)
    part = place - below
    if how == "midpoint":
        part = part * 0 + (0.0 if place % 1 == 0 else 0.5)
    elif how == "averaged_inverted_cdf":
        part = part * 0 + (0.5 if part == 0 else 1.0)
    return low, high, part


def _whole(n: Any, q: Any, how: Any) -> Any:
    """The subscript of the element that is the quantile."""
    if how == "lower":
        return int(np.floor((n - 1) * q))
    if how == "higher":
        return int(np.ceil((n - 1) * q))
    if how == "nearest":
        return int(np.rint((n - 1) * q))
    place = n * q - 1 if how == "inverted_cdf" else n * q - 1 - 0.5
    previous = np.floor(place)
    exact = place == previous
    if how == "closest_observation":
        exact = exact and previous % 2 == 1
    return max(int(previous if exact else previous + 1), 0)


@stands_for("numpy.average")
def average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False) -> Any:
    x = np.asarray(a)
    if weights is None:
        mean = np.mean(x, axis=axis, keepdims=keepdims)
        total = mean * 0 + x.size / np.size(mean) if np.ndim(mean) > 0 else mean * 0 + x.size
        return (mean, total) if constant(returned) else mean
    w = np.asarray(weights)
    if w.ndim != x.ndim:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.ndim != 1:
            unsupported("np.average() takes weights of the array's shape, or a vector", "write them out with None")
        w = laid(w, x, axis_of(x, axis))
        if w.shape[0] != x.shape[axis]:
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    elif w.shape != x.shape:
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    total = np.sum(w * np.ones(x.shape, float_dtype(x)), axis=axis, keepdims=keepdims)
    if np.any(total == 0.0):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = np.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (mean, total) if constant(returned) else mean


@stands_for("numpy.cov")
def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if fweights is not None or aweights is not None:
        unsupported("np.cov() with weights is not supported", "use np.average with weights, and products of deviations")
    x = _variables(m, y, constant(rowvar))
    lost = constant(ddof)
    if lost is None:
        lost = 0 if constant(bias) else 1
    x = x.astype(promoted(x.dtype, np.float64) if dtype is None else dtype)
    off = x - np.mean(x, axis=1, keepdims=True)
    found = (off @ off.T) / max(x.shape[1] - lost, 0)
    return found[0, 0] if np.ndim(m) == 1 and y is None else found


def _variables(m: Any, y: Any, rowvar: Any) -> Any:
    """One variable in each row."""
    x = _rows(np.asarray(m), rowvar)
    if y is None:
        return x
    z = _rows(np.asarray(y), rowvar)
    out = np.empty((x.shape[0] + z.shape[0], x.shape[1]), promoted(x.dtype, z.dtype))
    out[: x.shape[0]] = x
    out[x.shape[0] :] = z
    return out


def _rows(x: Any, rowvar: Any) -> Any:
    kind = float_dtype(x)
    if x.ndim == 1:
        out = np.empty((1, len(x)), kind)
        out[0] = x
        return out
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    return x.astype(kind) if constant(rowvar) else x.T.astype(kind)


@stands_for("numpy.corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    c = np.cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    spread = np.empty(len(c), c.dtype)
    for i in range(len(c)):
        spread[i] = np.sqrt(c[i, i])
    return np.clip(c / spread[:, None] / spread[None, :], -1, 1)


@stands_for("numpy.apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    found = np.asarray(a)
    for axis in constant(axes) if isinstance(axes, tuple) else (constant(axes),):
        made = func(found, axis)
        found = made if made.ndim == found.ndim else np.expand_dims(made, axis)
    return found
