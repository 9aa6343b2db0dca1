"""SciPy's integrals of functions known at points."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for
from adc.frontend.prelude.axes import along, axis_of, laid, part


@stands_for("scipy.integrate.cumulative_trapezoid")
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1, initial: Any = None) -> Any:
    f = np.asarray(y)
    k = axis_of(f, axis)
    if f.shape[k] == 0:
        raise ValueError("At least one point is required along `axis`.")
    found = np.cumsum(_steps(f, x, dx, k) * (along(f, k, slice(1, None)) + along(f, k, slice(None, -1))) / 2.0, axis=k)
    if initial is None:
        return found
    if constant(initial) != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    out = np.zeros(f.shape, found.dtype)
    along(out, k, slice(1, None))[...] = found
    return out


def _steps(f: Any, x: Any, dx: Any, axis: Any) -> Any:
    """The distances of points along an axis."""
    if x is None:
        return dx
    at = np.asarray(x)
    if at.ndim == 1:
        if len(at) != f.shape[constant(axis)]:
            raise ValueError("If given, length of x along axis must be the same as y.")
        return laid(at[1:] - at[:-1], f, axis)
    return along(at, axis, slice(1, None)) - along(at, axis, slice(None, -1))


@stands_for("scipy.integrate.simpson")
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: Any = -1) -> Any:
    f = np.asarray(y)
    k = axis_of(f, axis)
    n = f.shape[k]
    h = np.zeros(along(f, k, slice(1, None)).shape) + _steps(f, x, dx, k)
    f = f * 1.0
    if n % 2 == 1:
        return _parabolas(f, h, k, n)
    if n == 2:
        return np.sum(0.5 * h * (along(f, k, slice(1, None)) + along(f, k, slice(None, -1))), axis=k)
    whole = _parabolas(part(f, k, 0, n - 1), part(h, k, 0, n - 2), k, n - 1)
    p, q = part(h, k, n - 3, n - 2), part(h, k, n - 2, n - 1)
    alpha = _divided(2 * q**2 + 3 * p * q, 6 * (q + p))
    beta = _divided(q**2 + 3 * p * q, 6 * p)
    eta = _divided(q**3, 6 * p * (p + q))
    last = alpha * part(f, k, n - 1, n) + beta * part(f, k, n - 2, n - 1) - eta * part(f, k, n - 3, n - 2)
    return whole + np.sum(last, axis=k)


def _divided(p: Any, q: Any) -> Any:
    """The quotient, zero where the divisor is zero."""
    return np.where(q != 0, p / np.where(q != 0, q, 1.0), 0.0)


def _parabolas(f: Any, h: Any, axis: Any, n: Any) -> Any:
    """Simpson's rule for an odd number of points."""
    first = part(f, axis, 0, n)
    h0, h1 = _every_other(part(h, axis, 0, n - 2), axis), _every_other(part(h, axis, 1, n - 1), axis)
    y0 = _every_other(part(first, axis, 0, n - 2), axis)
    y1 = _every_other(part(first, axis, 1, n - 1), axis)
    y2 = _every_other(part(first, axis, 2, n), axis)
    total = h0 + h1
    product = h0 * h1
    ratio = _divided(h0, h1)
    inverse = _divided(np.ones_like(ratio), ratio)
    terms = total / 6.0 * (y0 * (2.0 - inverse) + y1 * (total * _divided(total, product)) + y2 * (2.0 - ratio))
    return np.sum(terms, axis=axis)


def _every_other(a: Any, axis: Any) -> Any:
    k = constant(axis)
    if k == 0:
        return a[::2]
    return a[:, ::2] if k == 1 else a[:, :, ::2]
