"""The slopes of a cubic spline at its knots."""

from __future__ import annotations

from typing import Any

import numpy as np


def slopes(x: Any, y: Any, first: Any, start: Any, last: Any, end: Any) -> Any:
    """The slopes of the spline through points. ``start`` and ``end`` are values of derivatives at the ends, whose
    orders are ``first`` and ``last``; an order of 3 means that the second knot, or the last but one, is not a knot."""
    n = len(x)
    h = x[1:] - x[:-1]
    slope = (y[1:] - y[:-1]) / h
    if n == 2 and first == 3:
        first, start = 1, slope[0]
    if n == 2 and last == 3:
        last, end = 1, slope[0]
    if n == 3 and first == 3 and last == 3:  # a parabola
        d = (slope[1] - slope[0]) / (h[0] + h[1])
        found = np.zeros(3)
        found[0] = slope[0] - d * h[0]
        found[1] = slope[0] + d * h[0]
        found[2] = slope[1] + d * h[1]
        return found
    lower, middle, upper, right = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for k in range(1, n - 1):
        lower[k] = h[k]
        middle[k] = 2 * (h[k - 1] + h[k])
        upper[k] = h[k - 1]
        right[k] = 3 * (h[k] * slope[k - 1] + h[k - 1] * slope[k])
    if first == 1:
        middle[0] = 1.0
        right[0] = start
    elif first == 2:
        middle[0] = 2 * h[0]
        upper[0] = h[0]
        right[0] = 3 * (y[1] - y[0]) - 0.5 * start * h[0] * h[0]
    else:
        d = x[2] - x[0]
        middle[0] = h[1]
        upper[0] = d
        right[0] = ((h[0] + 2 * d) * h[1] * slope[0] + h[0] * h[0] * slope[1]) / d
    if last == 1:
        middle[n - 1] = 1.0
        right[n - 1] = end
    elif last == 2:
        middle[n - 1] = 2 * h[n - 2]
        lower[n - 1] = h[n - 2]
        right[n - 1] = 3 * (y[n - 1] - y[n - 2]) + 0.5 * end * h[n - 2] * h[n - 2]
    else:
        d = x[n - 1] - x[n - 3]
        middle[n - 1] = h[n - 3]
        lower[n - 1] = d
        right[n - 1] = (
            h[n - 2] * h[n - 2] * slope[n - 3] + (2 * d + h[n - 2]) * h[n - 3] * slope[n - 2]
        ) / d
    for k in range(1, n):  # elimination: no pivot vanishes
        factor = lower[k] / middle[k - 1]
        middle[k] -= factor * upper[k - 1]
        right[k] -= factor * right[k - 1]
    found = np.zeros(n)
    found[n - 1] = right[n - 1] / middle[n - 1]
    for k in range(n - 2, -1, -1):
        found[k] = (right[k] - upper[k] * found[k + 1]) / middle[k]
    return found
