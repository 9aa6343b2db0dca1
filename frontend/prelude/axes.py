"""Parts of arrays along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, unsupported


def axis_of(a: Any, axis: Any) -> Any:
    """The axis, counted from the front."""
    k = constant(axis)
    if k >= a.ndim or k < -a.ndim:
        raise np.exceptions.AxisError(f"axis {k} is out of bounds for array of dimension {a.ndim}")
    return k + a.ndim if k < 0 else k


def part(a: Any, axis: Any, start: Any, stop: Any) -> Any:
    """The view ``a[..., start:stop, ...]`` along an axis (counted from the front)."""
    return along(a, axis, slice(start, stop))


def along(a: Any, axis: Any, which: Any) -> Any:
    """The view ``a[..., which, ...]``. A slice with known bounds, which ``part`` does not see, stays known here."""
    k = constant(axis)
    if k > 3:
        unsupported("an axis behind the fourth is not supported here", "move it to the front with np.transpose")
    if k == 0:
        return a[which]
    if k == 1:
        return a[:, which]
    return a[:, :, which] if k == 2 else a[:, :, :, which]


def lanes(function: Any, a: Any, axis: Any, length: Any, dtype: Any) -> Any:
    """An array of the ``length`` elements that ``function(lane, out)`` stores into ``out``, for each lane of ``a``
    along an axis (counted from the front)."""
    axis = constant(axis)
    out = np.zeros((*a.shape[:axis], length, *a.shape[axis + 1 :]), dtype)
    each_lane(function, a, out, axis)
    return out


def in_the_middle(a: Any, axis: Any) -> Any:
    """The array reshaped to three axes: those before one axis (counted from the front), that axis, and those after
    it."""
    k = constant(axis)
    before, after = 1, 1
    for size in a.shape[:k]:
        before *= size
    for size in a.shape[k + 1 :]:
        after *= size
    return a.reshape(before, a.shape[k], after)


def each_lane(function: Any, a: Any, out: Any, axis: Any) -> None:
    """``function(lane, out_lane)`` for the lanes of two arrays of equal extents along the other axes."""
    if a.ndim == 1:
        function(a, out)
    elif constant(axis) == 0:
        last = a.ndim - 1
        for k in range(a.shape[last]):
            each_lane(function, a[..., k], out[..., k], 0)
    else:
        for k in range(a.shape[0]):
            each_lane(function, a[k], out[k], axis - 1)


def promoted(p: Any, q: Any) -> Any:
    """The common dtype of arrays of two dtypes."""
    return (np.empty(0, p) + np.empty(0, q)).dtype


def flat(a: Any) -> Any:
    """The elements of an array as a vector: a copy, unless the array is one already."""
    x = np.asarray(a)
    if x.ndim == 1:
        return x
    out = np.empty(x.size, x.dtype)
    _flatten(x, out)
    return out


def _flatten(x: Any, out: Any) -> None:
    if x.ndim == 0:
        out[0] = x[()]
    elif x.ndim == 1:
        out[...] = x
    else:
        count = len(x)
        size = len(out) // max(count, 1)
        for k in range(count):
            _flatten(x[k], out[k * size : (k + 1) * size])


def of_lanes(function: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    """The results of ``function``, which reduces an array of three axes along the middle one: over all elements, along
    one axis, or along several."""
    x = np.asarray(a)
    if isinstance(axis, tuple):
        if len(axis) == 1:
            return of_lanes(function, x, axis[0], keepdims)
        if len(axis) != x.ndim:
            found = of_lanes(function, in_one_axis(x, axis), -1, False)
            if not constant(keepdims):
                return found
            axes = [axis_of(x, k) for k in axis]
            return found.reshape(tuple([1 if k in axes else x.shape[k] for k in range(x.ndim)]))
        axis = None
    if axis is None:
        whole = function(in_the_middle(flat(x), 0))
        if not constant(keepdims):
            return whole[0, 0, 0]
        return whole.reshape((1,) * x.ndim)
    k = axis_of(x, axis)
    found = function(in_the_middle(x, k))
    if constant(keepdims):
        return found.reshape(*x.shape[:k], 1, *x.shape[k + 1 :])
    return found.reshape(*x.shape[:k], *x.shape[k + 1 :]) if x.ndim > 1 else found[0, 0, 0]


def in_one_axis(x: Any, axes: Any) -> Any:
    """The array with some axes as one, the last."""
    last = [axis_of(x, k) for k in axes]
    kept = [k for k in range(x.ndim) if k not in last]
    return np.transpose(x, (*kept, *last)).reshape((*[x.shape[k] for k in kept], -1))


def given(found: Any, out: Any) -> Any:
    """The result, in ``out`` if there is one."""
    if out is None:
        return found
    out[...] = found
    return out


def float_dtype(a: Any) -> Any:
    """The dtype of means of an array's elements."""
    return a.dtype if a.dtype.kind == "f" else np.float64


def no_nest(a: Any) -> Any:
    """A tuple (which may stand for a list) as an array; arrays and numbers unchanged."""
    return np.asarray(a) if isinstance(a, tuple) else a


def laid(v: Any, x: Any, axis: Any) -> Any:
    """A vector along an axis of ``x``, followed by extents of one."""
    axis = constant(axis)
    out = np.empty((len(v),) + (1,) * (x.ndim - 1 - axis), v.dtype)
    flat = out
    if x.ndim - axis == 1:
        return v
    if x.ndim - axis == 2:
        flat = out[:, 0]
    elif x.ndim - axis == 3:
        flat = out[:, 0, 0]
    else:
        flat = out[:, 0, 0, 0]
    flat[...] = v
    return out
