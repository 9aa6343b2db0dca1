"""The sorted elements that quantiles are between, and the position in between; the methods are Hyndman and Fan's
(1996)."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import compiled_once
from adc.frontend.kernels.sorting import place_of_rank, sorted_lane

WHOLE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
CORRECTIONS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
METHODS = (*WHOLE, *CORRECTIONS, "linear", "midpoint", "averaged_inverted_cdf")


@compiled_once
def quantile_ranks(x: Any, levels: Any, how: Any, without_nan: Any) -> Any:
    """The ranks of the elements below some quantiles, then of those above them, along the middle one of three axes, -1
    where there is no number; and how many numbers there are. ``without_nan``: of those that are numbers; else of all,
    or of none if there is a NaN."""
    count = len(levels)
    ranks = np.full((x.shape[0], 2 * count, x.shape[2]), -1)
    counts = np.zeros((x.shape[0], x.shape[2]), np.int64)
    for i in range(x.shape[0]):
        for j in range(x.shape[2]):
            n = _numbers(x[i, :, j])
            counts[i, j] = n
            if n > 0 and (without_nan or n == x.shape[1]):
                for k in range(count):
                    low, high, _part = place_of(n, levels[k], how)
                    ranks[i, k, j] = low
                    ranks[i, count + k, j] = high
    return ranks, counts


@compiled_once
def quantile_places(x: Any, level: Any, how: Any, without_nan: Any) -> Any:
    """The places of the two elements that one quantile is between, instead of their ranks."""
    places = np.full((x.shape[0], 2, x.shape[2]), -1)
    counts = np.zeros((x.shape[0], x.shape[2]), np.int64)
    if x.shape[2] == 1:  # contiguous vectors
        rows = x.reshape(x.shape[0], x.shape[1])
        for i in range(x.shape[0]):
            places[i, 0, 0], places[i, 1, 0], counts[i, 0] = _between(rows[i], level, how, without_nan)
    else:
        for i in range(x.shape[0]):
            for j in range(x.shape[2]):
                places[i, 0, j], places[i, 1, j], counts[i, j] = _between(x[i, :, j], level, how, without_nan)
    return places, counts


def _between(lane: Any, level: Any, how: Any, without_nan: Any) -> Any:
    n = _numbers(lane)
    low, high = -1, -1
    if n > 0 and (without_nan or n == len(lane)):
        low, high, _part = place_of(n, level, how)
    w = sorted_lane(lane)
    p = place_of_rank(lane, w, low)
    return p, (p if high == low else place_of_rank(lane, w, high)), n


@compiled_once
def middle_places(x: Any, without_nan: Any) -> Any:
    """The same for the median: the places of the middle one or two elements, -1 for the second if there is one."""
    places = np.full((x.shape[0], 2, x.shape[2]), -1)
    if x.shape[2] == 1:
        rows = x.reshape(x.shape[0], x.shape[1])
        for i in range(x.shape[0]):
            places[i, 0, 0], places[i, 1, 0] = _middle(rows[i], without_nan)
    else:
        for i in range(x.shape[0]):
            for j in range(x.shape[2]):
                places[i, 0, j], places[i, 1, j] = _middle(x[i, :, j], without_nan)
    return places


def _middle(lane: Any, without_nan: Any) -> Any:
    n = _numbers(lane)
    if not (without_nan or n == len(lane)):
        n = 0
    w = sorted_lane(lane)
    return place_of_rank(lane, w, (n + 1) // 2 - 1), place_of_rank(lane, w, n // 2 if n > 0 and n % 2 == 0 else -1)


def _numbers(lane: Any) -> Any:
    return np.count_nonzero(lane == lane)


def place_of(n: Any, q: Any, how: Any) -> Any:
    """The two of ``n`` sorted elements that a quantile is between, and the position in between."""
    n = int(n)  # an element of an array of integers would make single precision double
    if how in WHOLE:
        k = _whole(n, q, how)
        return k, k, q * 0
    if how == "linear":
        place = (n - 1) * q
    elif how == "midpoint":
        place = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    elif how == "averaged_inverted_cdf":
        place = n * q - 1
    else:
        alpha, beta = CORRECTIONS[how]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
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
