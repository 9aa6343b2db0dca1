"""Gauss's quadratures in ``numpy.polynomial``: NumPy's own nodes and weights, which become constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import computed, stands_for


@stands_for("numpy.polynomial.legendre.leggauss")
def leggauss(deg: Any) -> Any:
    return _rule(np.polynomial.legendre.leggauss, deg)


@stands_for("numpy.polynomial.hermite.hermgauss")
def hermgauss(deg: Any) -> Any:
    return _rule(np.polynomial.hermite.hermgauss, deg)


@stands_for("numpy.polynomial.hermite_e.hermegauss")
def hermegauss(deg: Any) -> Any:
    return _rule(np.polynomial.hermite_e.hermegauss, deg)


@stands_for("numpy.polynomial.laguerre.laggauss")
def laggauss(deg: Any) -> Any:
    return _rule(np.polynomial.laguerre.laggauss, deg)


@stands_for("numpy.polynomial.chebyshev.chebgauss")
def chebgauss(deg: Any) -> Any:
    if deg <= 0:
        raise ValueError("deg must be a positive integer")
    return np.cos(np.pi * np.arange(1, 2 * deg, 2) / (2.0 * deg)), np.ones(deg) * (np.pi / deg)


def _rule(function: Any, deg: Any) -> Any:
    if deg <= 0:
        raise ValueError("deg must be a positive integer")
    x, w = computed(function, deg)
    return np.array(x), np.array(w)
