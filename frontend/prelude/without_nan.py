"""Reductions and scans that leave out NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import stands_for
from adc.frontend.prelude.axes import given


@stands_for("numpy.nansum")
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    x = _filled(a, 0)
    return np.sum(x, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


@stands_for("numpy.nanprod")
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    x = _filled(a, 1)
    return np.prod(x, axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial, where=where)


@stands_for("numpy.nancumsum")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumsum(_filled(a, 0), axis=axis, dtype=dtype, out=out)


@stands_for("numpy.nancumprod")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumprod(_filled(a, 1), axis=axis, dtype=dtype, out=out)


@stands_for("numpy.nanmin")
def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    x = np.asarray(a)
    if x.dtype.kind != "f":
        return np.min(x, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
    found = np.min(_filled(x, np.inf), axis=axis, keepdims=keepdims, initial=initial, where=where)
    return given(_or_nan(x, found, axis, keepdims, where, initial), out)


@stands_for("numpy.nanmax")
def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    x = np.asarray(a)
    if x.dtype.kind != "f":
        return np.max(x, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
    found = np.max(_filled(x, -np.inf), axis=axis, keepdims=keepdims, initial=initial, where=where)
    return given(_or_nan(x, found, axis, keepdims, where, initial), out)


def _or_nan(x: Any, found: Any, axis: Any, keepdims: Any, where: Any, initial: Any) -> Any:
    """``found``, and NaN where there are only NaN."""
    if initial is not None:
        return found
    return np.where(np.all(np.isnan(x), axis=axis, keepdims=keepdims, where=where), np.nan, found)


@stands_for("numpy.nanargmin")
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    x = np.asarray(a)
    _need_numbers(x, axis)
    return np.argmin(_filled(x, np.inf), axis=axis, out=out, keepdims=keepdims)


@stands_for("numpy.nanargmax")
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    x = np.asarray(a)
    _need_numbers(x, axis)
    return np.argmax(_filled(x, -np.inf), axis=axis, out=out, keepdims=keepdims)


def _need_numbers(x: Any, axis: Any) -> None:
    if x.dtype.kind == "f" and np.any(np.all(np.isnan(x), axis=axis)):
        raise ValueError("All-NaN slice encountered")


def _filled(a: Any, number: Any) -> Any:
    x = np.asarray(a)
    return np.where(np.isnan(x), number, x) if x.dtype.kind == "f" else x


@stands_for("numpy.nanmean")
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    x = np.asarray(a)
    return np.mean(x, axis=axis, dtype=dtype, out=out, keepdims=keepdims, where=_numbers(x, where))


@stands_for("numpy.nanvar")
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    x = np.asarray(a)
    lost = ddof if correction is None else correction
    chosen = _numbers(x, where)
    return np.var(x, axis=axis, dtype=dtype, out=out, ddof=lost, keepdims=keepdims, where=chosen, mean=mean)


@stands_for("numpy.nanstd")
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    x = np.asarray(a)
    lost = ddof if correction is None else correction
    chosen = _numbers(x, where)
    return np.std(x, axis=axis, dtype=dtype, out=out, ddof=lost, keepdims=keepdims, where=chosen, mean=mean)


def _numbers(x: Any, where: Any) -> Any:
    """The mask of the elements that count."""
    if x.dtype.kind != "f":
        return where
    return ~np.isnan(x) if where is True else ~np.isnan(x) & where
