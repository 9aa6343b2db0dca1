"""Functions of each element, and comparisons of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.bessel import bessel_i0
from adc.frontend.prelude import stands_for


@stands_for("numpy.sinc")
def sinc(x: Any) -> Any:
    y = np.pi * x
    return np.where(y == 0.0, 1.0, np.sin(y) / np.where(y == 0.0, 1.0, y))


@stands_for("numpy.fix")
def fix(x: Any, out: Any = None) -> Any:
    return np.trunc(x, out=out)


@stands_for("numpy.isposinf")
def isposinf(x: Any, out: Any = None) -> Any:
    return np.logical_and(np.isinf(x), np.logical_not(np.signbit(x)), out=out)


@stands_for("numpy.isneginf")
def isneginf(x: Any, out: Any = None) -> Any:
    return np.logical_and(np.isinf(x), np.signbit(x), out=out)


@stands_for("numpy.nan_to_num")
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if np.result_type(x).kind != "f":
        return np.positive(x) if copy else x
    largest = np.finfo(np.result_type(x)).max if posinf is None else posinf
    least = np.finfo(np.result_type(x)).min if neginf is None else neginf
    number = np.where(np.isnan(x), nan, np.where(x == np.inf, largest, np.where(x == -np.inf, least, x)))
    number = np.asarray(number, dtype=np.result_type(x))
    if copy:
        return number
    x[...] = number
    return x


@stands_for("numpy.isclose")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    near = (np.less_equal(np.abs(a - b), atol + rtol * np.abs(b)) & np.isfinite(b)) | np.equal(a, b)
    if equal_nan:
        return near | (np.isnan(a) & np.isnan(b))
    return near


@stands_for("numpy.allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: Any = False) -> Any:
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@stands_for("numpy.array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    if np.ndim(a1) != np.ndim(a2):
        return False
    if np.shape(a1) != np.shape(a2):
        return False
    if equal_nan:
        return bool(np.all(np.equal(a1, a2) | (np.isnan(a1) & np.isnan(a2))))
    return bool(np.all(np.equal(a1, a2)))


@stands_for("numpy.array_equiv")
def array_equiv(a1: Any, a2: Any) -> Any:
    short, long = (np.shape(a1), np.shape(a2)) if np.ndim(a1) < np.ndim(a2) else (np.shape(a2), np.shape(a1))
    for m, n in zip(short, long[len(long) - len(short) :], strict=True):
        if m != n and m != 1 and n != 1:
            return False
    return bool(np.all(np.equal(a1, a2)))


@stands_for("numpy.i0")
def i0(x: Any) -> Any:
    if np.result_type(x).kind != "f":
        return np.i0(np.asarray(x, dtype=np.float64))
    return bessel_i0(x)
