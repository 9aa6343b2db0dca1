"""Positions in arrays: of triangles and diagonals, flat and by axis; windows that move along axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import axis_of


@stands_for("numpy.diag_indices")
def diag_indices(n: Any, ndim: Any = 2) -> Any:
    return (np.arange(n),) * constant(ndim)


@stands_for("numpy.tril_indices")
def tril_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    columns = n if m is None else m
    count = 0
    for i in range(n):
        count += min(max(i + k + 1, 0), columns)
    rows, across = np.empty(count, int), np.empty(count, int)
    at = 0
    for i in range(n):
        for j in range(min(max(i + k + 1, 0), columns)):
            rows[at] = i
            across[at] = j
            at += 1
    return rows, across


@stands_for("numpy.triu_indices")
def triu_indices(n: Any, k: Any = 0, m: Any = None) -> Any:
    columns = n if m is None else m
    count = 0
    for i in range(n):
        count += columns - min(max(i + k, 0), columns)
    rows, across = np.empty(count, int), np.empty(count, int)
    at = 0
    for i in range(n):
        for j in range(min(max(i + k, 0), columns), columns):
            rows[at] = i
            across[at] = j
            at += 1
    return rows, across


@stands_for("numpy.tril_indices_from")
def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[0], k, arr.shape[1])


@stands_for("numpy.triu_indices_from")
def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[0], k, arr.shape[1])


@stands_for("numpy.diag_indices_from")
def diag_indices_from(arr: Any) -> Any:
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    for n in arr.shape:
        if n != arr.shape[0]:
            raise ValueError("All dimensions of input must be of equal length")
    return (np.arange(arr.shape[0]),) * arr.ndim


@stands_for("numpy.unravel_index")
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    extents = shape if isinstance(shape, tuple) else (shape,)
    if order != "C":
        extents = extents[::-1]
    total = 1
    for n in extents:
        total = total * n
    if np.ndim(indices) == 0:
        if indices < 0 or indices >= total:
            raise ValueError(f"index {indices} is out of bounds for array with size {total}")
    elif np.any(indices < 0) or np.any(indices >= total):
        raise ValueError(f"index is out of bounds for array with size {total}")
    found: tuple[Any, ...] = ()
    rest = indices
    for n in extents[::-1]:
        found = (rest % n, *found)
        rest = rest // n
    return found if order == "C" else found[::-1]


def element(k: Any, shape: Any) -> Any:
    """The subscripts of element ``k`` of an array, as ``item(k)`` counts them."""
    size = math.prod(shape)
    if k < -size or k >= size:
        raise IndexError(f"index {k} is out of bounds for size {size}")
    return np.unravel_index(k % size, shape)


@stands_for("numpy.ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    if mode not in ("raise", "wrap", "clip") or order not in ("C", "F"):
        unsupported("np.ravel_multi_index() in this mode is not supported", "use mode='raise', 'wrap' or 'clip'")
    result: Any = 0
    pairs = tuple(zip([np.asarray(i) if np.ndim(i) else i for i in multi_index], dims))
    for i, n in pairs if order == "C" else pairs[::-1]:
        if mode == "wrap":
            i = i % n
        elif mode == "clip":
            i = np.clip(i, 0, n - 1)
        elif (i < 0 or i >= n) if np.ndim(i) == 0 else (np.any(i < 0) or np.any(i >= n)):
            raise ValueError("invalid entry in coordinates array")
        result = result * n + i
    return result


@stands_for("numpy.apply_along_axis")
def apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr = np.asarray(arr)
    k = axis_of(arr, axis)
    x = np.moveaxis(arr, k, -1)
    if x.ndim > 3:
        unsupported("np.apply_along_axis() of more than three axes is not supported", "write loops over the others")
    if x.ndim == 1:
        return func1d(x, *args, **kwargs)
    rows = x.reshape((-1, x.shape[x.ndim - 1])) if x.ndim == 2 else x.copy().reshape((-1, x.shape[x.ndim - 1]))
    if len(rows) == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    first = np.asarray(func1d(rows[0], *args, **kwargs))
    out = np.empty((len(rows), *first.shape), first.dtype)
    out[0, ...] = first
    for i in range(1, len(rows)):
        out[i, ...] = func1d(rows[i], *args, **kwargs)
    shaped = out.reshape((*x.shape[:-1], *first.shape))
    if first.ndim == 0:
        return shaped
    return np.moveaxis(shaped, -1, k) if first.ndim == 1 else shaped


@stands_for("numpy.trim_zeros")
def trim_zeros(filt: Any, trim: Any = "fb") -> Any:
    if filt.ndim != 1:
        unsupported("np.trim_zeros() is supported for vectors", "take the part by slices")
    first, last = 0, len(filt)
    if "f" in trim or "F" in trim:
        while first < last and filt[first] == 0:
            first += 1
    if "b" in trim or "B" in trim:
        while last > first and filt[last - 1] == 0:
            last -= 1
    return filt[first:last]


@stands_for("numpy.broadcast_shapes")
def broadcast_shapes(*args: Any) -> Any:
    rank = 0
    for shape in args:
        rank = max(rank, len(shape))
    result: tuple[Any, ...] = ()
    for k in range(rank):
        extent = 1
        for shape in args:
            if k >= rank - len(shape):
                n = shape[k - rank + len(shape)]
                if n != 1 and extent != 1 and n != extent:
                    raise ValueError("shape mismatch: objects cannot be broadcast to a single shape")
                extent = n if extent == 1 else extent
        result = (*result, extent)
    return result


@stands_for("numpy.geomspace")
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Any:
    if start == 0 or stop == 0:
        raise ValueError("Geometric sequence cannot include zero")
    start, stop = np.float64(start), np.float64(stop)
    sign = np.sign(start)
    out = sign * np.logspace(np.log10(start / sign), np.log10(stop / sign), num, endpoint=endpoint, base=10.0)
    if num > 0:
        out[0] = start
        if num > 1 and endpoint:
            out[num - 1] = stop
    return out if dtype is None else out.astype(dtype)


@stands_for("numpy.packbits")
def packbits(a: Any, axis: Any = None, bitorder: Any = "big") -> Any:
    if axis is not None:
        unsupported("np.packbits() along an axis is not supported", "pack each row in a loop")
    bits = np.ravel(a)
    packed = np.zeros((len(bits) + 7) // 8, np.uint8)
    for k in range(len(bits)):
        if bits[k] != 0:
            place = k % 8 if constant(bitorder) == "little" else 7 - k % 8
            packed[k // 8] |= 1 << place
    return packed


@stands_for("numpy.unpackbits")
def unpackbits(a: Any, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    if axis is not None:
        unsupported("np.unpackbits() along an axis is not supported", "unpack each row in a loop")
    packed = np.ravel(a)
    n = 8 * len(packed)
    if count is not None:
        n = count if count >= 0 else n + count
    bits = np.zeros(n, np.uint8)
    for k in range(min(n, 8 * len(packed))):
        place = k % 8 if constant(bitorder) == "little" else 7 - k % 8
        bits[k] = (int(packed[k // 8]) >> place) & 1
    return bits


@stands_for("numpy.mask_indices")
def mask_indices(n: Any, mask_func: Any, k: Any = 0) -> Any:
    return np.nonzero(mask_func(np.ones((n, n), np.int64), k) != 0)
