"""Statistics of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.quantiles import METHODS, WHOLE, middle_places, place_of, quantile_places, quantile_ranks
from adc.frontend.kernels.sorting import ranked
from adc.frontend.prelude import constant, is_one_row, stands_for, unsupported
from adc.frontend.prelude.axes import (
    axis_of,
    flat,
    float_dtype,
    given,
    in_one_axis,
    in_the_middle,
    laid,
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
    return given(_medians(x, axis, keepdims, False), out)


@stands_for("numpy.nanmedian")
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> Any:
    x = np.asarray(a)
    return given(_medians(x, axis, keepdims, True), out)


def _medians(x: Any, axis: Any, keepdims: Any, without_nan: Any) -> Any:
    kind = np.dtype(float_dtype(x))
    wide = np.float32(0) if kind == np.float16 else kind.type(0)  # the precision in which NumPy adds the two

    def middle(y: Any) -> Any:
        places = middle_places(y, constant(without_nan))
        out = np.empty((y.shape[0], 1, y.shape[2]), kind)
        for i in range(y.shape[0]):
            for j in range(y.shape[2]):
                p, q = places[i, 0, j], places[i, 1, j]
                if p < 0:
                    out[i, 0, j] = np.nan
                elif q < 0:
                    out[i, 0, j] = y[i, p, j] / 1
                else:
                    out[i, 0, j] = (wide + y[i, p, j] + y[i, q, j]) / 2
        return out

    return of_lanes(middle, x, axis, keepdims)


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
    how = constant(method)
    if how not in METHODS:
        raise ValueError(f"{how!r} is not a valid method.")
    kind = a.dtype if how in WHOLE else promoted(float_dtype(a), levels.dtype)
    count = len(levels)

    def one(x: Any) -> Any:
        _need_elements(x, constant(without_nan))
        places, counts = quantile_places(x, levels[0], how, constant(without_nan))
        out = np.empty((x.shape[0], 1, x.shape[2]), kind)
        for i in range(x.shape[0]):
            for j in range(x.shape[2]):
                p, r = places[i, 0, j], places[i, 1, j]
                if p < 0:
                    out[i, 0, j] = np.nan
                else:
                    out[i, 0, j] = _between(x[i, p, j], x[i, r, j], counts[i, j], levels[0], how)
        return out

    def several(x: Any) -> Any:
        _need_elements(x, constant(without_nan))
        ranks, counts = quantile_ranks(x, levels, how, constant(without_nan))
        found = ranked(x, ranks)
        out = np.empty((x.shape[0], count, x.shape[2]), kind)
        for i in range(x.shape[0]):
            for k in range(count):
                for j in range(x.shape[2]):
                    if ranks[i, k, j] < 0:
                        out[i, k, j] = np.nan
                    else:
                        low, high = found[i, k, j], found[i, count + k, j]
                        out[i, k, j] = _between(low, high, counts[i, j], levels[k], how)
        return out

    if np.ndim(q) == 0:
        return of_lanes(one, a, axis, keepdims)
    if constant(keepdims):
        unsupported("several quantiles with keepdims are not supported", "write [None] behind the axes of the result")
    if isinstance(axis, tuple):
        if len(axis) != a.ndim:
            return _quantiles(in_one_axis(a, axis), q, -1, method, keepdims, weights, scale, without_nan)
        axis = None
    if axis is None:
        return several(in_the_middle(flat(a), 0)).reshape(count)
    k = axis_of(a, axis)
    found = several(in_the_middle(a, k)).reshape(*a.shape[:k], count, *a.shape[k + 1 :])
    return np.transpose(found, (k, *range(k), *range(k + 1, a.ndim)))


_NAMES = {1: "Quantiles", 100: "Percentiles"}


def _need_elements(x: Any, without_nan: Any) -> None:
    if not without_nan and x.shape[1] == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")


def _between(a: Any, b: Any, n: Any, level: Any, how: Any) -> Any:
    """The quantile of ``n`` numbers that is between two of them, as NumPy rounds it."""
    if constant(how) in WHOLE:
        return a
    _low, _high, part = place_of(n, level, how)
    step = b - a
    return b - step * (1 - part) if part >= 0.5 else a + step * part


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
    return found[0, 0] if is_one_row(found) else found


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
