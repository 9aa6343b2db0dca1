"""Series of ``numpy.polynomial``: values by Clenshaw's recursion in NumPy's order, Vandermonde matrices, and the
coefficients of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import float_dtype, no_nest, promoted


def _coefficients(c: Any) -> Any:
    found = np.asarray(c)
    if found.ndim > 1:
        unsupported(
            "series with coefficients of several dimensions are not supported",
            "take one series at a time: for k in range(c.shape[1]): out[k] = legval(x, c[:, k])",
        )
    if found.ndim == 0:
        found = found.reshape(1)
    return found if found.dtype.kind == "c" else found.astype(float_dtype(found))


def _values(value: Any, x: Any, c: Any) -> Any:
    """``value(coefficients, number)`` for each number of ``x``."""
    at, coefficients = no_nest(x), _coefficients(c)
    kind = np.asarray(at).dtype
    if np.ndim(at) or kind.kind == "c":
        coefficients = coefficients.astype(promoted(coefficients.dtype, kind))
    if np.ndim(at) == 0:
        return value(coefficients, at)
    points = at.reshape(-1)
    out = np.empty(points.size, coefficients.dtype)
    for k in range(points.size):
        out[k] = value(coefficients, points[k])
    return out.reshape(at.shape)


@stands_for("numpy.polynomial.polynomial.polyval")
def polyval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _values(_power_series, x, c)


def _power_series(c: Any, x: Any) -> Any:
    value = c[-1] + x * 0
    for k in range(len(c) - 2, -1, -1):
        value = c[k] + value * x
    return value


def _clenshaw(c: Any, x: Any, first: Any, step: Any) -> Any:
    """The value at ``x`` of a series whose polynomial of degree one is ``first(x)``. The polynomial of degree
    ``k + 2``, which has the factor ``high``, is written by the two below it, with factors ``c[k]`` and ``low``.
    ``step(k, x, low, high)``: what that takes from ``c[k]``, and the factor of degree ``k + 1`` that follows."""
    n, last = len(c), first(x)
    if n == 1:
        return c[0] + 0 * last
    low, high = c[n - 2], c[n - 1]
    for k in range(n - 3, -1, -1):
        taken, following = step(k, x, low, high)
        low, high = c[k] - taken, following
    return low + high * last


@stands_for("numpy.polynomial.chebyshev.chebval")
def chebval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _values(_chebyshev, x, c)


def _chebyshev(c: Any, x: Any) -> Any:
    return _clenshaw(c, x, lambda x: x, lambda k, x, low, high: (high, low + high * (2 * x)))


@stands_for("numpy.polynomial.legendre.legval")
def legval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _values(_legendre, x, c)


def _legendre(c: Any, x: Any) -> Any:
    def step(k: Any, x: Any, low: Any, high: Any) -> Any:
        return high * ((k + 1) / (k + 2)), low + high * x * ((2 * k + 3) / (k + 2))

    return _clenshaw(c, x, lambda x: x, step)


@stands_for("numpy.polynomial.hermite.hermval")
def hermval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _values(_hermite, x, c)


def _hermite(c: Any, x: Any) -> Any:
    return _clenshaw(
        c, x, lambda x: x * 2, lambda k, x, low, high: (high * (2 * (k + 1)), low + high * (x * 2))
    )


@stands_for("numpy.polynomial.hermite_e.hermeval")
def hermeval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _values(_hermite_e, x, c)


def _hermite_e(c: Any, x: Any) -> Any:
    return _clenshaw(c, x, lambda x: x, lambda k, x, low, high: (high * (k + 1), low + high * x))


@stands_for("numpy.polynomial.laguerre.lagval")
def lagval(x: Any, c: Any, tensor: Any = True) -> Any:
    return _values(_laguerre, x, c)


def _laguerre(c: Any, x: Any) -> Any:
    def step(k: Any, x: Any, low: Any, high: Any) -> Any:
        return (high * (k + 1)) / (k + 2), low + (high * ((2 * k + 3) - x)) / (k + 2)

    return _clenshaw(c, x, lambda x: 1 - x, step)


def _vandermonde(first: Any, following: Any, x: Any, deg: Any) -> Any:
    """The matrix with a row for each number of ``x``: 1, ``first(x)``, and then ``following(k, x, last, last but
    one)``."""
    if deg < 0:
        raise ValueError("deg must be non-negative")
    at = no_nest(x)
    at = np.asarray(at).reshape(1) if np.ndim(at) == 0 else at
    points = (at if at.dtype.kind == "c" else at.astype(float_dtype(at))).reshape(-1)
    out = np.empty((points.size, deg + 1), points.dtype)
    for i in range(points.size):
        out[i, 0] = points[i] * 0 + 1
        if deg > 0:
            out[i, 1] = first(points[i])
        for k in range(2, deg + 1):
            out[i, k] = following(k, points[i], out[i, k - 1], out[i, k - 2])
    return out.reshape((*at.shape, deg + 1))


@stands_for("numpy.polynomial.polynomial.polyvander")
def polyvander(x: Any, deg: Any) -> Any:
    return _vandermonde(lambda x: x, lambda k, x, p, q: p * x, x, deg)


@stands_for("numpy.polynomial.chebyshev.chebvander")
def chebvander(x: Any, deg: Any) -> Any:
    return _vandermonde(lambda x: x, lambda k, x, p, q: p * (2 * x) - q, x, deg)


@stands_for("numpy.polynomial.legendre.legvander")
def legvander(x: Any, deg: Any) -> Any:
    return _vandermonde(lambda x: x, lambda k, x, p, q: (p * x * (2 * k - 1) - q * (k - 1)) / k, x, deg)


@stands_for("numpy.polynomial.hermite.hermvander")
def hermvander(x: Any, deg: Any) -> Any:
    return _vandermonde(lambda x: x * 2, lambda k, x, p, q: p * (x * 2) - q * (2 * (k - 1)), x, deg)


@stands_for("numpy.polynomial.hermite_e.hermevander")
def hermevander(x: Any, deg: Any) -> Any:
    return _vandermonde(lambda x: x, lambda k, x, p, q: p * x - q * (k - 1), x, deg)


@stands_for("numpy.polynomial.laguerre.lagvander")
def lagvander(x: Any, deg: Any) -> Any:
    return _vandermonde(lambda x: 1 - x, lambda k, x, p, q: (p * (2 * k - 1 - x) - q * (k - 1)) / k, x, deg)


def _differentiated(once: Any, c: Any, m: Any) -> Any:
    """``m`` times ``once(coefficients, their derivative)``; the coefficients may be overwritten."""
    if constant(m) < 0:
        raise ValueError("The order of derivation must be non-negative")
    found = _coefficients(c).copy()
    for _ in range(constant(m)):
        if len(found) < 2:
            return found[:1] * 0
        out = np.empty(len(found) - 1, found.dtype)
        once(found, out)
        found = out
    return found


@stands_for("numpy.polynomial.polynomial.polyder")
def polyder(c: Any, m: Any = 1) -> Any:
    return _differentiated(_power_derivative, c, m)


def _power_derivative(c: Any, out: Any) -> None:
    for j in range(len(out), 0, -1):
        out[j - 1] = j * c[j]


@stands_for("numpy.polynomial.chebyshev.chebder")
def chebder(c: Any, m: Any = 1) -> Any:
    return _differentiated(_chebyshev_derivative, c, m)


def _chebyshev_derivative(c: Any, out: Any) -> None:
    _with_rests(c, out, lambda j: 2 * j, lambda j, last: (j * last) / (j - 2))


def _with_rests(c: Any, out: Any, factor: Any, rest: Any) -> None:
    """The derivative of a polynomial of degree ``j`` is ``factor(j)`` times that of degree ``j - 1``, and what ``rest``
    says is added to the coefficient ``j - 2`` in its place."""
    for j in range(len(out), 2, -1):
        out[j - 1] = factor(j) * c[j]
        c[j - 2] += rest(j, c[j])
    if len(out) > 1:
        out[1] = factor(2) * c[2]
    out[0] = c[1]


@stands_for("numpy.polynomial.legendre.legder")
def legder(c: Any, m: Any = 1) -> Any:
    return _differentiated(_legendre_derivative, c, m)


def _legendre_derivative(c: Any, out: Any) -> None:
    _with_rests(c, out, lambda j: 2 * j - 1, lambda j, last: last)


@stands_for("numpy.polynomial.hermite.hermder")
def hermder(c: Any, m: Any = 1) -> Any:
    return _differentiated(_hermite_derivative, c, m)


def _hermite_derivative(c: Any, out: Any) -> None:
    for j in range(len(out), 0, -1):
        out[j - 1] = (2 * j) * c[j]


@stands_for("numpy.polynomial.hermite_e.hermeder")
def hermeder(c: Any, m: Any = 1) -> Any:
    return _differentiated(_power_derivative, c, m)
