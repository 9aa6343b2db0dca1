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
    """The view ``a[..., start:stop, ...]`` along an axis that is counted from the front."""
    k = constant(axis)
    if k > 3:
        unsupported("an axis behind the fourth is not supported here", "move it to the front with np.transpose")
    if k == 0:
        return a[start:stop]
    if k == 1:
        return a[:, start:stop]
    return a[:, :, start:stop] if k == 2 else a[:, :, :, start:stop]


def lanes(function: Any, a: Any, axis: Any, length: Any, dtype: Any) -> Any:
    """An array of what ``function(lane, out)`` stores in ``out``, of ``length`` elements, for each lane of ``a`` along
    an axis that is counted from the front."""
    axis = constant(axis)
    out = np.zeros((*a.shape[:axis], length, *a.shape[axis + 1 :]), dtype)
    each_lane(function, a, out, axis)
    return out


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
    """The dtype in which arrays of two dtypes meet."""
    return (np.empty(0, p) + np.empty(0, q)).dtype
