"""Elements in another order, repeated, or with others around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import stands_for, unsupported
from adc.frontend.prelude.axes import axis_of, part


@stands_for("numpy.tile")
def tile(A: Any, reps: Any) -> Any:
    a = np.asarray(A)
    times = reps if isinstance(reps, tuple) else tuple(reps) if isinstance(reps, list) else (reps,)
    if a.ndim < len(times):
        a = a[(None,) * (len(times) - a.ndim)]
    times = (1,) * (a.ndim - len(times)) + times
    apart: tuple[Any, ...] = ()
    shown: tuple[Any, ...] = ()
    final: tuple[Any, ...] = ()
    for r, n in zip(times, a.shape):
        apart = (*apart, r, n)
        shown = (*shown, 1, n)
        final = (*final, r * n)
    out = np.empty(apart, a.dtype)
    out[...] = a.reshape(shown)
    return out.reshape(final)


@stands_for("numpy.repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    x = np.asarray(a)
    if axis is None:
        x = np.ravel(x)
    k = axis_of(x, 0 if axis is None else axis)
    if isinstance(repeats, (list, tuple)):
        repeats = np.array(repeats)
    if np.ndim(repeats) == 0:
        if repeats < 0:
            raise ValueError("negative dimensions are not allowed")
        out = np.empty((*x.shape[: k + 1], repeats, *x.shape[k + 1 :]), x.dtype)
        out[...] = np.expand_dims(x, k + 1)
        return out.reshape((*x.shape[:k], x.shape[k] * repeats, *x.shape[k + 1 :]))
    n = x.shape[k]
    if len(repeats) != n and len(repeats) != 1:
        raise ValueError(f"operands could not be broadcast together with shape ({n},) ({len(repeats)},)")
    total = 0
    for i in range(n):
        count = repeats[i if len(repeats) == n else 0]
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        total += count
    result = np.empty((*x.shape[:k], total, *x.shape[k + 1 :]), x.dtype)
    at = 0
    for i in range(n):
        count = repeats[i if len(repeats) == n else 0]
        part(result, k, at, at + count)[...] = part(x, k, i, i + 1)
        at += count
    return result


@stands_for("numpy.resize")
def resize(a: Any, new_shape: Any) -> Any:
    x = np.ravel(a)
    out = np.empty(new_shape, x.dtype)
    flat = out.reshape(-1)
    n = len(x)
    if n == 0:
        return np.zeros(new_shape, x.dtype)
    for i in range(len(flat)):
        flat[i] = x[i % n]
    return out


@stands_for("numpy.delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    x = np.asarray(arr)
    if axis is None:
        x = np.ravel(x)
    k = axis_of(x, 0 if axis is None else axis)
    n = x.shape[k]
    if np.ndim(obj) == 1 and not isinstance(obj, slice):
        return _without(x, k, np.asarray(obj))
    if not isinstance(obj, (int, np.integer)):
        unsupported("np.delete() of a slice is not supported", "give the positions: np.delete(a, np.arange(2, 5))")
    if obj >= n or obj < -n:
        raise IndexError(f"index {obj} is out of bounds for axis {k} with size {n}")
    at = obj + n if obj < 0 else obj
    out = np.empty((*x.shape[:k], n - 1, *x.shape[k + 1 :]), x.dtype)
    part(out, k, None, at)[...] = part(x, k, None, at)
    part(out, k, at, None)[...] = part(x, k, at + 1, None)
    return out


def _without(x: Any, k: Any, positions: Any) -> Any:
    """The elements along an axis except those at the positions, or where a mask holds."""
    n = x.shape[k]
    keep = np.ones(n, bool)
    if positions.dtype == np.bool_:
        if len(positions) != n:
            raise ValueError(f"boolean array argument obj to delete must have the length {n}")
        keep[...] = ~positions
    else:
        for i in range(len(positions)):
            if positions[i] >= n or positions[i] < -n:
                raise IndexError(f"index {positions[i]} is out of bounds for axis {k} with size {n}")
            keep[positions[i]] = False
    count = 0
    for i in range(n):
        if keep[i]:
            count += 1
    out = np.empty((*x.shape[:k], count, *x.shape[k + 1 :]), x.dtype)
    at = 0
    for i in range(n):
        if keep[i]:
            part(out, k, at, at + 1)[...] = part(x, k, i, i + 1)
            at += 1
    return out


@stands_for("numpy.insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    x = np.asarray(arr)
    if axis is None:
        x = np.ravel(x)
    k = axis_of(x, 0 if axis is None else axis)
    if not isinstance(obj, (int, np.integer)):
        unsupported("np.insert() at several positions is not supported", "insert at one position at a time")
    n = x.shape[k]
    if obj > n or obj < -n:
        raise IndexError(f"index {obj} is out of bounds for axis {k} with size {n}")
    at = obj + n if obj < 0 else obj
    given = np.asarray(values)
    if given.ndim == x.ndim:
        count = given.shape[0]
        given = np.moveaxis(given, 0, k)
    elif given.ndim == x.ndim - 1 or given.ndim == 0:
        count = 1
        given = given if given.ndim == 0 else np.expand_dims(given, k)
    else:
        unsupported("np.insert() of values of this rank is not supported", "give one slab, or one number")
    out = np.empty((*x.shape[:k], n + count, *x.shape[k + 1 :]), x.dtype)
    part(out, k, None, at)[...] = part(x, k, None, at)
    part(out, k, at, at + count)[...] = given
    part(out, k, at + count, None)[...] = part(x, k, at, None)
    return out


@stands_for("numpy.ndarray.resize")
def resize_in_place(a: Any, *new_shape: Any, refcheck: Any = True) -> None:
    unsupported("an array cannot change its size", "make another one: b = np.resize(a, shape)")
