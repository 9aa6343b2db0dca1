"""SciPy's distances between the rows of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported

_NAMES = {
    "euclidean": "euclidean euclid eu e",
    "sqeuclidean": "sqeuclidean sqe sqeuclid",
    "cityblock": "cityblock cblock cb c",
    "chebyshev": "chebyshev chebychev cheby cheb ch",
    "minkowski": "minkowski mi m pnorm",
    "cosine": "cosine cos",
    "correlation": "correlation co",
    "canberra": "canberra",
    "braycurtis": "braycurtis",
    "hamming": "hamming matching hamm ha h",
    "seuclidean": "seuclidean se s",
    "mahalanobis": "mahalanobis mahal mah",
}
_CANONICAL = {other: name for name, others in _NAMES.items() for other in others.split()}


@stands_for("scipy.spatial.distance.cdist")
def cdist(
    XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, p: Any = 2.0, V: Any = None, VI: Any = None
) -> Any:
    a, b = np.asarray(XA), np.asarray(XB)
    if a.ndim != 2:
        raise ValueError("XA must be a 2-dimensional array.")
    if b.ndim != 2:
        raise ValueError("XB must be a 2-dimensional array.")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    a, b = a.astype(float), b.astype(float)
    between = _metric(metric, p, V, VI, lambda: np.concatenate((a, b)))
    found = np.empty((a.shape[0], b.shape[0])) if out is None else out
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            found[i, j] = between(a[i], b[j])
    return found


@stands_for("scipy.spatial.distance.pdist")
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, p: Any = 2.0, V: Any = None, VI: Any = None) -> Any:
    x = np.asarray(X)
    if x.ndim != 2:
        raise ValueError(f"A 2-dimensional array must be passed. (Shape was {x.shape}).")
    x = x.astype(float)
    between = _metric(metric, p, V, VI, lambda: x)
    m = x.shape[0]
    found = np.empty(m * (m - 1) // 2) if out is None else out
    for i in range(m):
        first = i * m - i * (i + 1) // 2 - i - 1
        for j in range(i + 1, m):
            found[first + j] = between(x[i], x[j])
    return found


@stands_for("scipy.spatial.distance.squareform")
def squareform(X: Any, force: Any = "no", checks: Any = True) -> Any:
    x = np.asarray(X)
    if force.lower() == "tomatrix" and x.ndim != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force.lower() == "tovector" and x.ndim != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    if x.ndim == 1:
        d = int(np.ceil(np.sqrt(len(x) * 2))) if len(x) > 0 else 1
        if d * (d - 1) != len(x) * 2:
            raise ValueError(
                "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2."
            )
        out = np.zeros((d, d), x.dtype)
        for i in range(d):
            first = i * d - i * (i + 1) // 2 - i - 1
            for j in range(i + 1, d):
                out[i, j] = x[first + j]
                out[j, i] = x[first + j]
        return out
    if x.ndim != 2:
        raise ValueError(
            f"The first argument must be one or two dimensional array. A {x.ndim}-dimensional array is not permitted"
        )
    d = x.shape[0]
    if d != x.shape[1]:
        raise ValueError("The matrix argument must be square.")
    if checks:
        if not (x == x.T).all():
            raise ValueError("Distance matrix 'X' must be symmetric.")
        if not (np.diagonal(x) == 0).all():
            raise ValueError("Distance matrix 'X' diagonal must be zero.")
    vector = np.zeros(d * (d - 1) // 2, x.dtype)
    for i in range(d):
        first = i * d - i * (i + 1) // 2 - i - 1
        for j in range(i + 1, d):
            vector[first + j] = x[i, j]
    return vector


def _metric(metric: Any, p: Any, V: Any, VI: Any, rows: Any) -> Any:
    """The function of two vectors. ``rows``: makes the matrix of all of them."""
    if callable(metric):
        return metric
    name = _CANONICAL.get(constant(metric).lower())
    if name is None:
        unsupported(f"the metric {metric!r} is not supported", "write loops over the rows")
    if name == "minkowski":
        return lambda u, v: _minkowski(u, v, p)
    if name == "seuclidean":
        scale = np.var(rows(), axis=0, ddof=1) if V is None else np.asarray(V)
        return lambda u, v: _scaled(u, v, scale)
    if name == "mahalanobis":
        weights = np.linalg.inv(np.cov(rows().T)).T.copy() if VI is None else np.asarray(VI)
        return lambda u, v: _weighted(u, v, weights)
    return _METRICS[name]


def _root(total: Any) -> Any:
    """A distance from the square of it, with the derivative 0 where it is 0, its least."""
    return 0.0 if total == 0.0 else math.sqrt(total)


def _squares(u: Any, v: Any) -> Any:
    total = 0.0
    for k in range(len(u)):
        d = u[k] - v[k]
        total += d * d
    return total


def _euclidean(u: Any, v: Any) -> Any:
    return _root(_squares(u, v))


def _cityblock(u: Any, v: Any) -> Any:
    total = 0.0
    for k in range(len(u)):
        total += abs(u[k] - v[k])
    return total


def _chebyshev(u: Any, v: Any) -> Any:
    most = 0.0
    for k in range(len(u)):
        most = max(most, abs(u[k] - v[k]))
    return most


def _minkowski(u: Any, v: Any, p: Any) -> Any:
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if p == 1:
        return _cityblock(u, v)
    if p == 2:
        return _euclidean(u, v)
    if p == np.inf:
        return _chebyshev(u, v)
    total = 0.0
    for k in range(len(u)):
        d = abs(u[k] - v[k])
        if d > 0:
            total += d**p
    return total ** (1.0 / p) if total > 0 else 0.0


def _cosine(u: Any, v: Any) -> Any:
    uv, uu, vv = 0.0, 0.0, 0.0
    for k in range(len(u)):
        uv += u[k] * v[k]
        uu += u[k] * u[k]
        vv += v[k] * v[k]
    return 1.0 - min(max(uv / (np.sqrt(uu) * np.sqrt(vv)), -1.0), 1.0)


def _correlation(u: Any, v: Any) -> Any:
    return _cosine(u - np.mean(u), v - np.mean(v))


def _canberra(u: Any, v: Any) -> Any:
    total = 0.0
    for k in range(len(u)):
        below = abs(u[k]) + abs(v[k])
        if below != 0.0:
            total += abs(u[k] - v[k]) / below
    return total


def _braycurtis(u: Any, v: Any) -> Any:
    above, below = 0.0, 0.0
    for k in range(len(u)):
        above += abs(u[k] - v[k])
        below += abs(u[k] + v[k])
    return np.divide(above, below)


def _hamming(u: Any, v: Any) -> Any:
    different = 0.0
    for k in range(len(u)):
        if u[k] != v[k]:
            different += 1.0
    return np.divide(different, len(u))


def _scaled(u: Any, v: Any, scale: Any) -> Any:
    total = 0.0
    for k in range(len(u)):
        d = u[k] - v[k]
        total += d * d / scale[k]
    return _root(total)


def _weighted(u: Any, v: Any, weights: Any) -> Any:
    total = 0.0
    for i in range(len(u)):
        row = 0.0
        for k in range(len(u)):
            row += weights[i, k] * (u[k] - v[k])
        total += row * (u[i] - v[i])
    return _root(total)


_METRICS = {
    "euclidean": _euclidean,
    "sqeuclidean": _squares,
    "cityblock": _cityblock,
    "chebyshev": _chebyshev,
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": _braycurtis,
    "hamming": _hamming,
}
