"""SciPy's integrals of functions known at points."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.kronrod import GAUSS, PLACES, WEIGHTS
from adc.frontend.prelude import constant, stands_for, unsupported
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


@stands_for("scipy.integrate.quad")
def quad(
    func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
    limit: Any = 50, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: Any = 50,
    limlst: Any = 50, complex_func: Any = False,
) -> Any:  # fmt: skip
    """QUADPACK's adaptive rule without its extrapolation. An infinite range is mapped to (0, 1], as there."""
    if constant(full_output) or points is not None or weight is not None or constant(complex_func):
        unsupported("quad() is supported without points, weights and full output", "integrate the pieces one by one")
    more = args if isinstance(args, tuple) else (args,)
    if a == -np.inf and b == np.inf:
        return _adaptive(lambda t: _far(func, more, 0.0, 1.0, t) + _far(func, more, 0.0, -1.0, t), 0.0, 1.0, limit,
                         epsabs, epsrel)  # fmt: skip
    if b == np.inf:
        return _adaptive(lambda t: _far(func, more, a, 1.0, t), 0.0, 1.0, limit, epsabs, epsrel)
    if a == -np.inf:
        return _adaptive(lambda t: _far(func, more, b, -1.0, t), 0.0, 1.0, limit, epsabs, epsrel)
    return _adaptive(lambda x: func(x, *more), a, b, limit, epsabs, epsrel)


def _far(func: Any, args: Any, end: Any, sign: Any, t: Any) -> Any:
    return func(end + sign * ((1.0 - t) / t), *args) / (t * t)


def _adaptive(func: Any, a: Any, b: Any, limit: Any, epsabs: Any, epsrel: Any) -> Any:
    """The interval with the largest error is halved until the errors are small enough together."""
    lower, upper, values, errors = np.empty(limit), np.empty(limit), np.zeros(limit), np.zeros(limit)
    lower[0], upper[0] = a, b
    count, first, second = 1, 0, 0
    while True:
        for side in range(1 if first == second else 2):
            k = first if side == 0 else second
            values[k], errors[k] = _gauss_kronrod(func, lower[k], upper[k])
        total, error = 0.0, 0.0
        for k in range(count):
            total += values[k]
            error += errors[k]
        if not error > max(epsabs, epsrel * abs(total)) or count == limit:
            break
        first, second = int(np.argmax(errors[:count])), count
        middle = 0.5 * (lower[first] + upper[first])
        lower[second], upper[second], upper[first] = middle, upper[first], middle
        count += 1
    return total, error


def _gauss_kronrod(func: Any, a: Any, b: Any) -> Any:
    """The integral over one interval, and QUADPACK's estimate of its error."""
    half, centre = 0.5 * (b - a), 0.5 * (a + b)
    y = np.empty(21)
    for k in range(21):
        y[k] = func(centre + half * PLACES[k])
    fine, coarse, size = 0.0, 0.0, 0.0
    for k in range(21):
        fine += WEIGHTS[k] * y[k]
        coarse += GAUSS[k] * y[k]
        size += WEIGHTS[k] * abs(y[k])
    spread = 0.0
    for k in range(21):
        spread += WEIGHTS[k] * abs(y[k] - 0.5 * fine)
    size, spread, error = size * abs(half), spread * abs(half), abs((fine - coarse) * half)
    if spread != 0.0 and error != 0.0:
        error = spread * min(1.0, (200.0 * error / spread) ** 1.5)
    return fine * half, max(error, 50.0 * _EPS * size)


_EPS = float(np.finfo(float).eps)
