"""Functions of Python's ``statistics``. The exact sums of Python's are sums that are rounded once, by ``math.fsum``."""

from __future__ import annotations

import math
from typing import Any

from adc.frontend.prelude import stands_for, unsupported


def _refuse(wrong: Any, message: Any) -> None:
    from statistics import StatisticsError

    if wrong:
        raise StatisticsError(message)


def _as_one_of(found: Any, item: Any) -> Any:
    """A result, which has the type of the data; that of integers is a float."""
    return type(item * 1.0)(found)


@stands_for("statistics.mean")
def mean(data: Any) -> Any:
    items = list(data)
    _refuse(len(items) == 0, "mean requires at least one data point")
    return _as_one_of(math.fsum(items) / len(items), items[0])


@stands_for("statistics.fmean")
def fmean(data: Any, weights: Any = None) -> Any:
    items = list(data)
    if weights is not None:
        given = list(weights)
        _refuse(len(given) != len(items), "data and weights must be the same length")
        whole = math.fsum(given)
        _refuse(whole == 0, "sum of weights must be non-zero")
        return math.fsum(v * w for v, w in zip(items, given)) / whole
    _refuse(len(items) == 0, "fmean requires at least one data point")
    return math.fsum(items) / len(items)


@stands_for("statistics.geometric_mean")
def geometric_mean(data: Any) -> Any:
    items = list(data)
    _refuse(len(items) == 0, "must have a non-empty dataset containing positive numbers")
    for v in items:
        _refuse(v <= 0, "must have a non-empty dataset containing positive numbers")
    return math.exp(math.fsum([math.log(v) for v in items]) / len(items))


@stands_for("statistics.harmonic_mean")
def harmonic_mean(data: Any, weights: Any = None) -> Any:
    if weights is not None:
        unsupported("harmonic_mean() with weights is not supported", "write sum(w) / sum(w / x)")
    items = list(data)
    _refuse(len(items) == 0, "harmonic_mean requires at least one data point")
    for v in items:
        _refuse(v < 0, "harmonic mean does not support negative values")
    for v in items:
        if v == 0:
            return _as_one_of(0.0, 1.0 / items[0])
    return _as_one_of(len(items) / math.fsum([1.0 / v for v in items]), 1.0 / items[0])


@stands_for("statistics.median")
def median(data: Any) -> Any:
    items, n = _ordered(data)
    return items[n // 2] if n % 2 == 1 else (items[n // 2 - 1] + items[n // 2]) / 2


@stands_for("statistics.median_low")
def median_low(data: Any) -> Any:
    items, n = _ordered(data)
    return items[(n - 1) // 2]


@stands_for("statistics.median_high")
def median_high(data: Any) -> Any:
    items, n = _ordered(data)
    return items[n // 2]


def _ordered(data: Any) -> Any:
    items = sorted(data)
    _refuse(len(items) == 0, "no median for empty data")
    return items, len(items)


@stands_for("statistics.variance")
def variance(data: Any, xbar: Any = None) -> Any:
    items = list(data)
    _refuse(len(items) < 2, "variance requires at least two data points")
    return _as_one_of(_squares(items, xbar) / (len(items) - 1), items[0] if xbar is None else items[0] - xbar)


@stands_for("statistics.pvariance")
def pvariance(data: Any, mu: Any = None) -> Any:
    items = list(data)
    _refuse(len(items) == 0, "pvariance requires at least one data point")
    return _as_one_of(_squares(items, mu) / len(items), items[0] if mu is None else items[0] - mu)


@stands_for("statistics.stdev")
def stdev(data: Any, xbar: Any = None) -> Any:
    items = list(data)
    _refuse(len(items) < 2, "stdev requires at least two data points")
    return math.sqrt(_squares(items, xbar) / (len(items) - 1))


@stands_for("statistics.pstdev")
def pstdev(data: Any, mu: Any = None) -> Any:
    items = list(data)
    _refuse(len(items) == 0, "pstdev requires at least one data point")
    return math.sqrt(_squares(items, mu) / len(items))


def _squares(items: Any, centre: Any) -> Any:
    """The sum of the squares of deviations; those from the mean, which is rounded, are corrected for that."""
    if centre is not None:
        return math.fsum([(v - centre) * (v - centre) for v in items])
    middle = math.fsum(items) / len(items)
    apart = [float(v) - middle for v in items]
    left = math.fsum(apart)
    return math.fsum([d * d for d in apart]) - left * left / len(items)


@stands_for("statistics.covariance")
def covariance(x: Any, y: Any, /) -> Any:
    _refuse(len(x) != len(y), "covariance requires that both inputs have same number of data points")
    _refuse(len(x) < 2, "covariance requires at least two data points")
    return _products(x, y) / (len(x) - 1)


@stands_for("statistics.correlation")
def correlation(x: Any, y: Any, /) -> Any:
    _refuse(len(x) != len(y), "correlation requires that both inputs have same number of data points")
    _refuse(len(x) < 2, "correlation requires at least two data points")
    both = math.sqrt(_products(x, x) * _products(y, y))
    _refuse(both == 0, "at least one of the inputs is constant")
    return _products(x, y) / both


@stands_for("statistics.linear_regression")
def linear_regression(x: Any, y: Any, /, *, proportional: Any = False) -> Any:
    _refuse(len(x) != len(y), "linear regression requires that both inputs have same number of data points")
    _refuse(len(x) < 2, "linear regression requires at least two data points")
    from statistics import LinearRegression

    if proportional:
        square = math.fsum([v * v for v in x])
        _refuse(square == 0, "x is constant")
        return LinearRegression(math.fsum([v * w for v, w in zip(x, y)]) / square, 0.0)
    square = _products(x, x)
    _refuse(square == 0, "x is constant")
    slope = _products(x, y) / square
    return LinearRegression(slope, math.fsum(y) / len(y) - slope * (math.fsum(x) / len(x)))


def _products(x: Any, y: Any) -> Any:
    """The sum of the products of the deviations from the means."""
    first, second = math.fsum(x) / len(x), math.fsum(y) / len(y)
    return math.fsum([(v - first) * (w - second) for v, w in zip(x, y)])


@stands_for("statistics.quantiles")
def quantiles(data: Any, *, n: Any = 4, method: Any = "exclusive") -> Any:
    items = sorted(data)
    count = len(items)
    _refuse(n < 1, "n must be at least 1")
    _refuse(count < 2, "must have at least two data points")
    found = []
    for i in range(1, n):
        if method == "inclusive":
            j, rest = divmod(i * (count - 1), n)
            found.append((items[j] * (n - rest) + items[j + 1] * rest) / n)
        elif method == "exclusive":
            j = min(max(i * (count + 1) // n, 1), count - 1)
            rest = i * (count + 1) - j * n
            found.append((items[j - 1] * (n - rest) + items[j] * rest) / n)
        else:
            raise ValueError(f"Unknown method: {method!r}")
    return found
