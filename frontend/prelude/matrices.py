"""Common parts of functions of matrices: dtypes, leading axes, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import unsupported


def floats(a: Any) -> Any:
    """An array of floats, as required by NumPy's functions of matrices."""
    x = np.asarray(a)
    if x.dtype.kind == "c":
        unsupported("linear algebra of complex numbers is not supported", "work with real and imaginary parts")
    if x.dtype == np.float16:
        unsupported("linear algebra in float16 is not supported, nor is it in NumPy", "convert: a.astype(np.float32)")
    if x.dtype.kind != "f":
        return x.astype(np.float64)
    return x


def both_floats(a: Any, b: Any) -> Any:
    """Two arrays of floats, of one dtype."""
    x, y = floats(a), floats(b)
    if x.dtype != y.dtype:
        return x.astype(np.float64), y.astype(np.float64)
    return x, y


def column(y: Any) -> Any:
    """A vector as a matrix of one column."""
    made = np.zeros((y.shape[0], 1), y.dtype)
    made[:, 0] = y
    return made


def matrices(a: Any) -> Any:
    """Matrices of floats, along any leading axes."""
    return _of_two_dimensions(floats(a))


def _of_two_dimensions(x: Any) -> Any:
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    return x


def squares(a: Any) -> Any:
    """Square matrices of floats, along any leading axes."""
    return all_square(floats(a))


def all_square(a: Any) -> Any:
    """The array, which must hold square matrices along its last axes."""
    x = _of_two_dimensions(a)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def batches(p: Any, q: Any) -> Any:
    """The extents that two lists of extents are broadcast to."""
    if len(p) == 0:
        return q
    if len(q) == 0:
        return p
    if p[-1] != q[-1] and p[-1] != 1 and q[-1] != 1:
        raise ValueError(f"leading axes do not fit: {p[-1]} and {q[-1]}")
    return (*batches(p[:-1], q[:-1]), q[-1] if p[-1] == 1 else p[-1])


def each_pair(function: Any, a: Any, b: Any, out: Any) -> Any:
    """Set ``out`` to the result of a function on two matrices, for each position along leading axes, which are
    broadcast."""
    if out.ndim == 2:
        out[...] = function(a, b)
    else:
        for k in range(out.shape[0]):
            each_pair(function, part(a, k, out), part(b, k, out), out[k])


def part(a: Any, k: Any, out: Any) -> Any:
    """The part of an array, broadcast to the leading axes of ``out``, that belongs to ``out[k]``."""
    if a.ndim < out.ndim:
        return a
    return a[0 if a.shape[0] == 1 else k]
