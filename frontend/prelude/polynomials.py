"""Polynomials as vectors of coefficients, the highest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.least_squares import least_squares
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import float_dtype, no_nest, promoted


@stands_for("numpy.polyval")
def polyval(p: Any, x: Any) -> Any:
    coefficients = np.asarray(p)
    at = no_nest(x)
    if np.ndim(at) == 0:
        value = coefficients.dtype.type(0) * at
        for k in range(len(coefficients)):
            value = value * at + coefficients[k]
        return value
    kind = promoted(coefficients.dtype, at.dtype)
    out = np.zeros(at.shape, kind)
    for k in range(len(coefficients)):
        out[...] = out * at + coefficients[k]
    return out


@stands_for("numpy.polyder")
def polyder(p: Any, m: Any = 1) -> Any:
    found = np.asarray(p)
    if constant(m) < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(constant(m)):
        found = found[:-1] * np.arange(max(len(found) - 1, 0), 0, -1)
    return found


@stands_for("numpy.polyint")
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    times = constant(m)
    if times < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    if times == 0:
        return np.asarray(p)
    found = np.asarray(p).astype(np.float64)
    for step in range(times):
        out = np.zeros(len(found) + 1)
        out[:-1] = found / np.arange(len(found), 0, -1)
        if k is not None:
            out[-1] = k if np.ndim(no_nest(k)) == 0 else k[step]
        found = out
    return found


def _placed(a: Any, length: Any, kind: Any) -> Any:
    """The polynomial with leading zeros."""
    out = np.zeros(length, kind)
    out[length - len(a) :] = a
    return out


@stands_for("numpy.polyadd")
def polyadd(a1: Any, a2: Any) -> Any:
    p, q = np.asarray(a1), np.asarray(a2)
    kind = promoted(p.dtype, q.dtype)
    length = max(len(p), len(q))
    return _placed(p, length, kind) + _placed(q, length, kind)


@stands_for("numpy.polysub")
def polysub(a1: Any, a2: Any) -> Any:
    p, q = np.asarray(a1), np.asarray(a2)
    kind = promoted(p.dtype, q.dtype)
    length = max(len(p), len(q))
    return _placed(p, length, kind) - _placed(q, length, kind)


@stands_for("numpy.polymul")
def polymul(a1: Any, a2: Any) -> Any:
    return np.convolve(a1, a2)


@stands_for("numpy.polyfit")
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False
) -> Any:
    if constant(full) or constant(cov):
        unsupported("np.polyfit() gives the coefficients only", "leave out full and cov")
    at = np.asarray(x).astype(np.float64)
    right = np.asarray(y).astype(np.float64)
    if right.ndim != 1:
        unsupported("np.polyfit() of several columns is not supported", "call it for each")
    if len(at) != len(right):
        raise TypeError("expected x and y to have same length")
    count = deg + 1
    matrix = np.ones((len(at), count))
    for k in range(1, count):
        j = count - 1 - k
        matrix[:, j] = matrix[:, j + 1] * at
    if w is not None:
        weight = np.asarray(w)
        matrix = matrix * weight[:, None]
        right = right * weight
    scale = np.sqrt(np.sum(matrix * matrix, axis=0))
    found, _s, _failed = least_squares(matrix / scale, right[:, None], len(at) * np.finfo(np.float64).eps)
    return found[:, 0] / scale


@stands_for("numpy.poly")
def poly(seq_of_zeros: Any) -> Any:
    zeros = np.asarray(seq_of_zeros)
    if zeros.ndim != 1:
        unsupported("np.poly() of a matrix is not supported", "pass its eigenvalues: np.poly(np.linalg.eigvalsh(a))")
    found = np.zeros(len(zeros) + 1, np.float64 if zeros.dtype == np.float16 else float_dtype(zeros))
    found[0] = 1.0
    for k in range(len(zeros)):
        for m in range(k + 1, 0, -1):
            found[m] -= zeros[k] * found[m - 1]
    return found


@stands_for("numpy.polydiv")
def polydiv(u: Any, v: Any) -> Any:
    above, below = np.asarray(u), np.asarray(v)
    kind = promoted(float_dtype(above), float_dtype(below))
    n = max(len(above) - len(below) + 1, 1)
    quotient = np.zeros(n, kind)
    rest = above.astype(kind)
    for k in range(len(above) - len(below) + 1):
        d = (1.0 / below[0]) * rest[k]
        quotient[k] = d
        rest[k : k + len(below)] -= d * below
    first = 0
    while first < len(rest) - 1 and np.abs(rest[first]) <= 1e-8:
        first += 1
    return quotient, rest[first:].copy()
