"""Counts of elements in intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.bins import bins_of, cells_of, counted, least_and_greatest
from adc.frontend.kernels.places import sums_at
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import flat, float_dtype, no_nest


@stands_for("numpy.bincount")
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    places = np.asarray(x)
    if places.dtype.kind == "f":
        raise TypeError("Cannot cast array data from dtype('float64') to dtype('int64') according to the rule 'safe'")
    least, greatest = least_and_greatest(places)
    if least < 0:
        raise ValueError("'list' argument must have no negative elements")
    length = max(greatest + 1, minlength)
    if weights is None:
        return counted(places, length)
    w = np.asarray(weights)
    if len(w) != len(places):
        raise ValueError("The weights and list don't have the same length.")
    return sums_at(w.astype(np.float64, copy=False), places, length)


@stands_for("numpy.histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    return _edges(flat(a), no_nest(bins), range)


def _edges(x: Any, bins: Any, limits: Any) -> Any:
    if isinstance(bins, str):
        unsupported("rules for the number of intervals are not supported", "pass the number, or the edges")
    if np.ndim(bins) == 1:
        for k in range(len(bins) - 1):
            if bins[k] > bins[k + 1]:
                raise ValueError("`bins` must increase monotonically, when an array")
        return bins
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first = 0.0
    last = 1.0
    if limits is not None:
        first = limits[0] * 1.0
        last = limits[1] * 1.0
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
    elif len(x) > 0:
        first = np.min(x) * 1.0
        last = np.max(x) * 1.0
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first = first - 0.5
        last = last + 0.5
    return np.linspace(first, last, bins + 1).astype(float_dtype(x))


@stands_for("numpy.histogram")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x = flat(a)
    split = no_nest(bins)
    edges = _edges(x, split, range)
    count = len(edges) - 1
    places = bins_of(x, edges, np.ndim(split) == 0)
    if weights is None:
        found = counted(places, count)
    else:
        w = flat(weights)
        if len(w) != len(x):
            raise ValueError("weights should have the same shape as a.")
        found = sums_at(w, places, count)
    if not constant(density):
        return found, edges
    return found / (edges[1:] - edges[:-1]) / np.sum(found), edges


@stands_for("numpy.histogram2d")
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    p, q = np.asarray(x), np.asarray(y)
    if len(p) != len(q):
        raise ValueError("x and y must have the same length.")
    split = bins if isinstance(bins, tuple) else (bins, bins)
    limits = (None, None) if range is None else range
    rows = _edges(p, no_nest(split[0]), limits[0]).astype(np.float64)
    columns = _edges(q, no_nest(split[1]), limits[1]).astype(np.float64)
    m, n = len(rows) - 1, len(columns) - 1
    places = cells_of(bins_of(p, rows, False), bins_of(q, columns, False), n)
    if weights is None:
        found = counted(places, m * n).astype(np.float64).reshape(m, n)
    else:
        found = sums_at(np.asarray(weights).astype(np.float64, copy=False), places, m * n).reshape(m, n)
    if constant(density):
        total = np.sum(found)
        areas = (rows[1:] - rows[:-1])[:, None] * (columns[1:] - columns[:-1])[None, :]
        found = found / areas / total
    return found, rows, columns
