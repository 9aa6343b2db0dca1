"""Products of arrays that are built on others."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.linalg import inv


@stands_for("numpy.trace")
def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    if dtype is not None or out is not None:
        unsupported("np.trace() takes an offset and axes only", "convert or store what it gives")
    return np.sum(np.diagonal(np.asarray(a), offset, axis1, axis2), axis=-1)


@stands_for("numpy.linalg.trace")
def linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    if dtype is not None:
        unsupported("np.linalg.trace() takes an offset only", "convert what it gives")
    return np.sum(np.diagonal(np.asarray(x), offset, -2, -1), axis=-1)


@stands_for("numpy.linalg.matrix_transpose")
def matrix_transpose(x: Any, /) -> Any:
    return np.swapaxes(x, -1, -2)


@stands_for("numpy.outer")
def outer(a: Any, b: Any, out: Any = None) -> Any:
    if out is not None:
        unsupported("np.outer() does not take out= here", "write out[...] = np.outer(a, b)")
    return _flat(a)[:, None] * _flat(b)[None, :]


def _flat(a: Any) -> Any:
    x = np.asarray(a)
    return x if x.ndim == 1 else x.copy().reshape(-1)


@stands_for("numpy.linalg.outer")
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    return _flat(x1)[:, None] * _flat(x2)[None, :]


@stands_for("numpy.kron")
def kron(a: Any, b: Any) -> Any:
    x = np.asarray(a)
    y = np.asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    rank = max(x.ndim, y.ndim)
    of_x = (1,) * (rank - x.ndim) + x.shape
    of_y = (1,) * (rank - y.ndim) + y.shape
    wide: Any = ()
    inner: Any = ()
    whole: Any = ()
    for k in range(rank):
        wide = (*wide, of_x[k], 1)
        inner = (*inner, 1, of_y[k])
        whole = (*whole, of_x[k] * of_y[k])
    return (x.reshape(wide) * y.reshape(inner)).reshape(whole)


@stands_for("numpy.cross")
def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Any:
    if axis is not None:
        return _cross(np.moveaxis(np.asarray(a), axis, -1), np.moveaxis(np.asarray(b), axis, -1), axis)
    return _cross(np.moveaxis(np.asarray(a), axisa, -1), np.moveaxis(np.asarray(b), axisb, -1), axisc)


@stands_for("numpy.linalg.cross")
def linalg_cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    return cross(x1, x2, axis=axis)


def _cross(x: Any, y: Any, axis: Any) -> Any:
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(f"cross products are of vectors of 3 elements, not {x.shape[-1]} and {y.shape[-1]}")
    first = x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1]
    second = x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2]
    third = x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    if x.ndim == 1 and y.ndim == 1:
        return np.array([first, second, third])
    return np.moveaxis(np.stack([first, second, third], axis=-1), -1, axis)


@stands_for("numpy.linalg.multi_dot")
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    if out is not None:
        unsupported("np.linalg.multi_dot() does not take out= here", "write out[...] = ...")
    count = len(arrays)
    if count < 2:
        raise ValueError("Expecting at least two arrays.")
    if count == 3:
        x, y, z = arrays
        if x.ndim == 2 and z.ndim == 2:
            left = x.shape[0] * y.shape[1] * (x.shape[1] + z.shape[1])
            right = x.shape[1] * z.shape[1] * (x.shape[0] + y.shape[1])
            return (x @ y) @ z if left < right else x @ (y @ z)
    if arrays[count - 1].ndim == 1:  # a vector at the end is multiplied first
        found = arrays[count - 1]
        for k in range(count - 1):
            found = arrays[count - 2 - k] @ found
        return found
    found = arrays[0]
    for k in range(1, count):
        found = found @ arrays[k]
    return found


@stands_for("numpy.linalg.matrix_power")
def matrix_power(a: Any, n: Any) -> Any:
    x = np.asarray(a)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    count = constant(n)
    if count < 0:
        return _power(inv(x), -count)
    if count == 0:
        return np.zeros(x.shape, x.dtype) + np.eye(x.shape[-1], dtype=x.dtype)
    return _power(x, count)


def _power(x: Any, count: Any) -> Any:
    """A power, multiplied as in NumPy: by repeated squaring."""
    n = constant(count)
    if n == 1:
        return x.copy()
    if n == 2:
        return x @ x
    if n == 3:
        return (x @ x) @ x
    if n % 2 == 0:
        return _power(x @ x, n // 2)
    return x @ _power(x @ x, n // 2)


@stands_for("numpy.linalg.diagonal")
def diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    return np.diagonal(x, offset, -2, -1)
