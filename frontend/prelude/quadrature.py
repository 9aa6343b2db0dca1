"""The nodes and weights of Gauss's quadratures in ``numpy.polynomial``: roots by Newton's method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adc.frontend.prelude import stands_for

_NEWTON = 8  # more steps than any root needs


@stands_for("numpy.polynomial.legendre.leggauss")
def leggauss(deg: Any) -> Any:
    _check(deg)
    x, w = np.empty(deg), np.empty(deg)
    for i in range(deg):
        z = -math.cos(math.pi * (i + 0.75) / (deg + 0.5))
        slope = 1.0
        for _ in range(_NEWTON):
            p, before = 1.0, 0.0
            for k in range(deg):
                p, before = ((2.0 * k + 1.0) * z * p - k * before) / (k + 1.0), p
            slope = deg * (z * p - before) / (z * z - 1.0)
            z -= p / slope
        x[i] = z
        w[i] = 2.0 / ((1.0 - z * z) * slope * slope)
    return (x - x[::-1]) / 2, (w + w[::-1]) / 2


@stands_for("numpy.polynomial.hermite.hermgauss")
def hermgauss(deg: Any) -> Any:
    _check(deg)
    x, w = np.empty(deg), np.empty(deg)
    z = 0.0
    for i in range((deg + 1) // 2):  # from the largest root down; guesses of Press et al., Numerical Recipes
        if i == 0:
            z = math.sqrt(2.0 * deg + 1.0) - 1.85575 * (2.0 * deg + 1.0) ** (-1.0 / 6.0)
        elif i == 1:
            z -= 1.14 * deg**0.426 / z
        elif i == 2:
            z = 1.86 * z - 0.86 * x[deg - 1]
        elif i == 3:
            z = 1.91 * z - 0.91 * x[deg - 2]
        else:
            z = 2.0 * z - x[deg + 1 - i]
        slope = 1.0
        for _ in range(_NEWTON):
            p, before = math.pi**-0.25, 0.0
            for k in range(deg):
                p, before = z * math.sqrt(2.0 / (k + 1.0)) * p - math.sqrt(k / (k + 1.0)) * before, p
            slope = math.sqrt(2.0 * deg) * before
            z -= p / slope
        if 2 * i + 1 == deg:
            z = 0.0
        x[deg - 1 - i], x[i] = z, -z
        w[i] = w[deg - 1 - i] = 2.0 / (slope * slope)
    return x, w


@stands_for("numpy.polynomial.hermite_e.hermegauss")
def hermegauss(deg: Any) -> Any:
    x, w = hermgauss(deg)
    return math.sqrt(2.0) * x, math.sqrt(2.0) * w


@stands_for("numpy.polynomial.chebyshev.chebgauss")
def chebgauss(deg: Any) -> Any:
    _check(deg)
    return np.cos(np.pi * np.arange(1, 2 * deg, 2) / (2.0 * deg)), np.ones(deg) * (np.pi / deg)


def _check(deg: Any) -> None:
    if deg <= 0:
        raise ValueError("deg must be a positive integer")
