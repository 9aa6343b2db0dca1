"""Arrays given by a formula, and grids."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported


@stands_for("numpy.eye")
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C") -> Any:
    if isinstance(N, bool) or isinstance(M, bool):
        raise TypeError("an integer is required")
    rows = max(N, 0)
    columns = rows if M is None else M
    out = np.zeros((rows, columns), dtype, order)
    for i in range(max(0, -k), min(rows, columns - k)):
        out[i, i + k] = 1
    return out


@stands_for("numpy.identity")
def identity(n: Any, dtype: Any = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype)


@stands_for("numpy.tri")
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    columns = N if M is None else M
    out = np.zeros((N, columns), dtype)
    for i in range(N):
        for j in range(min(max(i + k + 1, 0), columns)):
            out[i, j] = 1
    return out


@stands_for("numpy.tril")
def tril(m: Any, k: Any = 0) -> Any:
    x = np.asarray(m)
    if x.ndim == 1:
        x = x[None] + np.zeros((x.shape[0], 1), x.dtype)
    columns = x.shape[x.ndim - 1]
    out = np.zeros_like(x)
    for i in range(x.shape[x.ndim - 2]):
        end = min(max(i + k + 1, 0), columns)
        out[..., i, :end] = x[..., i, :end]
    return out


@stands_for("numpy.triu")
def triu(m: Any, k: Any = 0) -> Any:
    x = np.asarray(m)
    if x.ndim == 1:
        x = x[None] + np.zeros((x.shape[0], 1), x.dtype)
    columns = x.shape[x.ndim - 1]
    out = np.zeros_like(x)
    for i in range(x.shape[x.ndim - 2]):
        start = min(max(i + k, 0), columns)
        out[..., i, start:] = x[..., i, start:]
    return out


@stands_for("numpy.diag")
def diag(v: Any, k: Any = 0) -> Any:
    x = np.asarray(v)
    if x.ndim == 2:
        return np.diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = x.shape[0]
    out = np.zeros((n + abs(k), n + abs(k)), x.dtype)
    row, column = max(0, -k), max(0, k)
    for i in range(n):
        out[row + i, column + i] = x[i]
    return out


@stands_for("numpy.diagflat")
def diagflat(v: Any, k: Any = 0) -> Any:
    return diag(np.ravel(v), k)


@stands_for("numpy.fill_diagonal")
def fill_diagonal(a: Any, val: Any, wrap: Any = False) -> None:
    if a.ndim != 2 or wrap:
        unsupported("np.fill_diagonal() is supported for matrices, without wrap", "write a loop over the diagonal")
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val if np.ndim(val) == 0 else val[i % len(val)]


@stands_for("numpy.vander")
def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    v = np.asarray(x)
    columns = len(v) if N is None else N
    kind = np.promote_types(v.dtype, int)
    out = np.empty((len(v), columns), kind)
    for i in range(len(v)):
        power = np.ones(1, kind)[0]
        for j in range(columns):
            out[i, j if increasing else columns - 1 - j] = power
            power = power * v[i]
    return out


@stands_for("numpy.logspace")
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Any:
    out = np.power(base, np.linspace(start, stop, num, endpoint=endpoint))
    return out if dtype is None else out.astype(dtype)


@stands_for("numpy.meshgrid")
def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    if not copy and not sparse:
        help = "leave copy=False out; with sparse=True the results are views, which broadcast to the same grid"
        unsupported("np.meshgrid() with copy=False is not supported: it gives views of whole grids", help)
    vectors = [_vector(np.asarray(x)) for x in xi]
    shape: tuple[Any, ...] = ()
    for v in vectors:
        shape = (*shape, len(v))
    swapped = indexing == "xy" and len(vectors) > 1
    if swapped:
        shape = (shape[1], shape[0], *shape[2:])
    return tuple(_along(v, 1 - k if swapped and k < 2 else k, shape, sparse, copy) for k, v in enumerate(vectors))


def _vector(v: Any) -> Any:
    return v if v.ndim == 1 else np.ravel(v)


def _along(v: Any, axis: Any, shape: Any, sparse: Any, copy: Any) -> Any:
    axis = constant(axis)
    shown = v[(None,) * axis + (slice(None),) + (None,) * (len(shape) - axis - 1)]
    if sparse:
        return shown.copy() if copy else shown
    out = np.empty(shape, v.dtype)
    out[...] = shown
    return out


@stands_for("numpy.indices")
def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    if sparse:
        return meshgrid(*[np.arange(n, dtype=dtype) for n in dimensions], sparse=True, indexing="ij")
    rank = len(dimensions)
    out = np.empty((rank, *dimensions), dtype)
    for k, n in enumerate(dimensions):
        out[k, ...] = np.arange(n, dtype=dtype)[(slice(None),) + (None,) * (rank - k - 1)]
    return out


@stands_for("numpy.fromfunction")
def fromfunction(function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    grid = indices(shape, dtype)
    return function(*[grid[k] for k in range(constant(len(shape)))], **kwargs)


@stands_for("numpy.hanning")
def hanning(M: Any) -> Any:
    n = np.arange(1 - M, M, 2)
    return np.ones(1) if M == 1 else 0.5 + 0.5 * np.cos(np.pi * n / (M - 1))


@stands_for("numpy.hamming")
def hamming(M: Any) -> Any:
    n = np.arange(1 - M, M, 2)
    return np.ones(1) if M == 1 else 0.54 + 0.46 * np.cos(np.pi * n / (M - 1))


@stands_for("numpy.blackman")
def blackman(M: Any) -> Any:
    n = np.arange(1 - M, M, 2)
    if M == 1:
        return np.ones(1)
    return 0.42 + 0.5 * np.cos(np.pi * n / (M - 1)) + 0.08 * np.cos(2.0 * np.pi * n / (M - 1))


@stands_for("numpy.bartlett")
def bartlett(M: Any) -> Any:
    n = np.arange(1 - M, M, 2)
    return np.ones(1) if M == 1 else np.where(n <= 0, 1 + n / (M - 1), 1 - n / (M - 1))


@stands_for("numpy.kaiser")
def kaiser(M: Any, beta: Any) -> Any:
    half = (M - 1) / 2.0
    n = np.arange(M)
    if M == 1:
        return np.ones(1)
    return np.i0(beta * np.sqrt(1 - ((n - half) / half) ** 2.0)) / np.i0(beta)
