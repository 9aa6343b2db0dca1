"""Differences along an axis, slopes, and areas below curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for
from adc.frontend.prelude.axes import along, axis_of, flat, given, laid, part, promoted

MOST_WRITTEN_OUT = 4  # repeated differences that are written out rather than made by a loop


@stands_for("numpy.diff")
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    x = np.asarray(a)
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    k = axis_of(x, axis)
    if prepend is not None or append is not None:
        x = _extended(x, k, prepend, append)
    times = constant(n)
    if times < 0:
        raise ValueError(f"order must be non-negative but got {times}")
    for _ in (None,) * times if times <= MOST_WRITTEN_OUT else range(times):
        if x.dtype == np.bool_:
            x = along(x, k, slice(1, None)) != along(x, k, slice(None, -1))
        else:
            x = along(x, k, slice(1, None)) - along(x, k, slice(None, -1))
    return x


def _extended(x: Any, axis: Any, before: Any, after: Any) -> Any:
    """``x`` with arrays before and after it along an axis; a number is one slab."""
    axis = constant(axis)
    first = 0
    count = x.shape[axis]
    if before is not None:
        first = _length(before, axis)
        count += first
    end = first + x.shape[axis]
    if after is not None:
        count += _length(after, axis)
    kind = x.dtype
    if before is not None:
        kind = promoted(kind, _dtype(before))
    if after is not None:
        kind = promoted(kind, _dtype(after))
    out = np.zeros((*x.shape[:axis], count, *x.shape[axis + 1 :]), kind)
    part(out, axis, first, end)[...] = x
    if before is not None:
        part(out, axis, None, first)[...] = before
    if after is not None:
        part(out, axis, end, None)[...] = after
    return out


def _dtype(extra: Any) -> Any:
    return np.asarray([extra]).dtype if np.ndim(extra) == 0 else extra.dtype


def _length(extra: Any, axis: Any) -> Any:
    return 1 if np.ndim(extra) == 0 else extra.shape[axis]


@stands_for("numpy.ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = flat(ary)
    count = max(len(x) - 1, 0)
    first = _count(to_begin)
    last = _count(to_end)
    out = np.zeros(first + count + last, x.dtype)
    if to_begin is not None:
        out[:first] = to_begin
    if to_end is not None:
        out[first + count :] = to_end
    if count > 0:
        out[first : first + count] = x[1:] - x[:-1]
    return out


def _count(extra: Any) -> Any:
    if extra is None:
        return 0
    return 1 if np.ndim(extra) == 0 else extra.size


@stands_for("numpy.gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    x = np.asarray(f)
    kind = x.dtype if x.dtype.kind == "f" else np.float64
    if x.dtype.kind in "iu":  # their differences would wrap around
        x = x.astype(np.float64)
    if axis is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axis, tuple):
        axes = tuple([axis_of(x, k) for k in axis])
    else:
        axes = (axis_of(x, axis),)
    if len(varargs) == 0:
        steps = (1.0,) * len(axes)
    elif len(varargs) == 1:
        steps = varargs * len(axes)
    else:
        steps = varargs
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    if constant(edge_order) > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    found = tuple([_slope(x, h, k, edge_order, kind) for h, k in zip(steps, axes)])
    return found[0] if len(found) == 1 else found


def _slope(x: Any, h: Any, axis: Any, edge_order: Any, kind: Any) -> Any:
    axis, edge_order = constant(axis), constant(edge_order)
    n = x.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    out = np.empty(x.shape, kind)
    inner = along(out, axis, slice(1, -1))
    first, last = along(out, axis, slice(None, 1)), along(out, axis, slice(-1, None))
    if np.ndim(h) == 0:
        inner[...] = (along(x, axis, slice(2, None)) - along(x, axis, slice(None, -2))) / (2.0 * h)
        if edge_order == 1:
            first[...] = (along(x, axis, slice(1, 2)) - along(x, axis, slice(0, 1))) / h
            last[...] = (along(x, axis, slice(-1, None)) - along(x, axis, slice(-2, -1))) / h
        else:
            a, b, c = -1.5 / h, 2.0 / h, -0.5 / h
            p, q, s = along(x, axis, slice(0, 1)), along(x, axis, slice(1, 2)), along(x, axis, slice(2, 3))
            first[...] = a * p + b * q + c * s
            a, b, c = 0.5 / h, -2.0 / h, 1.5 / h
            p, q, s = along(x, axis, slice(-3, -2)), along(x, axis, slice(-2, -1)), along(x, axis, slice(-1, None))
            last[...] = a * p + b * q + c * s
        return out
    if h.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(h) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    d = h[1:] - h[:-1]
    before, after = d[:-1], d[1:]
    a = laid(-after / (before * (before + after)), x, axis)
    b = laid((after - before) / (before * after), x, axis)
    c = laid(before / (after * (before + after)), x, axis)
    before, after = along(x, axis, slice(None, -2)), along(x, axis, slice(2, None))
    inner[...] = a * before + b * along(x, axis, slice(1, -1)) + c * after
    if edge_order == 1:
        first[...] = (along(x, axis, slice(1, 2)) - along(x, axis, slice(0, 1))) / d[0]
        last[...] = (along(x, axis, slice(-1, None)) - along(x, axis, slice(-2, -1))) / d[-1]
        return out
    p, q = d[0], d[1]
    u, v, w = -(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))
    first[...] = u * along(x, axis, slice(0, 1)) + v * along(x, axis, slice(1, 2)) + w * along(x, axis, slice(2, 3))
    p, q = d[-2], d[-1]
    u, v, w = q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q))
    p, q, s = along(x, axis, slice(-3, -2)), along(x, axis, slice(-2, -1)), along(x, axis, slice(-1, None))
    last[...] = u * p + v * q + w * s
    return out


@stands_for("numpy.trapezoid", "numpy.trapz", "scipy.integrate.trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    f = np.asarray(y)
    k = axis_of(f, axis)
    if x is None:
        return np.sum(dx * (along(f, k, slice(1, None)) + along(f, k, slice(None, -1))) / 2.0, axis=k)
    at = np.asarray(x)
    if at.ndim == 1:
        d = laid(at[1:] - at[:-1], f, k)
    else:
        d = along(at, k, slice(1, None)) - along(at, k, slice(None, -1))
    return np.sum(d * (along(f, k, slice(1, None)) + along(f, k, slice(None, -1))) / 2.0, axis=k)


@stands_for("numpy.cumulative_sum")
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
) -> Any:
    return given(_with_first(x, np.cumsum(x, axis=axis, dtype=dtype), axis, 0, constant(include_initial)), out)


@stands_for("numpy.cumulative_prod")
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
) -> Any:
    return given(_with_first(x, np.cumprod(x, axis=axis, dtype=dtype), axis, 1, constant(include_initial)), out)


def _with_first(x: Any, found: Any, axis: Any, first: Any, wanted: Any) -> Any:
    if axis is None and np.ndim(x) != 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    if not wanted:
        return found
    return _extended(found, 0 if axis is None else axis_of(found, axis), first, None)
