"""Counts of what falls into intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.sorting import places_in
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import flat, float_dtype, no_nest


@stands_for("numpy.bincount")
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    places = np.asarray(x)
    if places.dtype.kind == "f":
        raise TypeError("Cannot cast array data from dtype('float64') to dtype('int64') according to the rule 'safe'")
    length = 0
    if len(places) > 0:
        if np.min(places) < 0:
            raise ValueError("'list' argument must have no negative elements")
        length = int(np.max(places)) + 1
    length = max(length, minlength)
    if weights is None:
        counts = np.zeros(length, np.int64)
        for k in range(len(places)):
            counts[places[k]] += 1
        return counts
    w = np.asarray(weights)
    if len(w) != len(places):
        raise ValueError("The weights and list don't have the same length.")
    sums = np.zeros(length)
    for k in range(len(places)):
        sums[places[k]] += w[k]
    return sums


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
    if weights is None:
        found = np.zeros(count, np.int64)
    else:
        w = flat(weights)
        if len(w) != len(x):
            raise ValueError("weights should have the same shape as a.")
        found = np.zeros(count, w.dtype)
    places: Any = None if np.ndim(split) == 0 else places_in(edges, x, True)
    for k in _range(len(x)):
        value = x[k]
        if value >= edges[0] and value <= edges[count]:
            if np.ndim(split) == 0:
                place = int((value - edges[0]) / (edges[count] - edges[0]) * count)
                place = min(place, count - 1)
                if value < edges[place]:
                    place -= 1
                elif place != count - 1 and value >= edges[place + 1]:
                    place += 1
            else:
                place = min(places[k] - 1, count - 1)
            found[place] += 1 if weights is None else w[k]
    if not constant(density):
        return found, edges
    return found / (edges[1:] - edges[:-1]) / np.sum(found), edges


_range = range


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
    found = np.zeros((m, n))
    down, along = places_in(rows, p, True), places_in(columns, q, True)
    for k in _range(len(p)):
        if p[k] >= rows[0] and p[k] <= rows[m] and q[k] >= columns[0] and q[k] <= columns[n]:
            i = min(down[k] - 1, m - 1)
            j = min(along[k] - 1, n - 1)
            found[i, j] += 1.0 if weights is None else weights[k]
    if constant(density):
        total = np.sum(found)
        areas = (rows[1:] - rows[:-1])[:, None] * (columns[1:] - columns[:-1])[None, :]
        found = found / areas / total
    return found, rows, columns
