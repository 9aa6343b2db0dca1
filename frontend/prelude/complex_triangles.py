"""Systems of complex numbers with triangular matrices, and by factors that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude.axes import promoted
from adc.frontend.prelude.complex_matrices import is_complex


def adjoint_of(x: Any) -> Any:
    """The transposed matrix, conjugated if it is complex."""
    return np.conj(x.T) if is_complex(x) else x.T


def complex_triangular(x: Any, y: Any, lower: Any) -> Any:
    """Solve by substitution. ``y`` may have columns."""
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"shapes of a {x.shape} and b {y.shape} are incompatible")
    n, kind = x.shape[0], promoted(x.dtype, y.dtype)
    matrix, out = x.astype(kind), y.astype(kind)
    for step in range(n):
        i = step if lower else n - 1 - step
        first, end = (0, i) if lower else (i + 1, n)
        out[i] = (out[i] - matrix[i, first:end] @ out[first:end]) / matrix[i, i]
    return out


def complex_eliminated(a: Any) -> Any:
    """L and U in one matrix, and the row that each row was exchanged with, as LAPACK's getrf chooses it."""
    x = a.copy()
    n = x.shape[0]
    pivots = np.zeros(n, np.int32)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if _size(x[i, k]) > _size(x[p, k]):
                p = i
        pivots[k] = p
        if p != k:
            for j in range(n):
                above = x[k, j]
                x[k, j] = x[p, j]
                x[p, j] = above
        if x[k, k] != 0.0:
            for i in range(k + 1, n):
                x[i, k] /= x[k, k]
                for j in range(k + 1, n):
                    x[i, j] -= x[i, k] * x[k, j]
    return x, pivots


def _size(z: Any) -> Any:
    return abs(z.real) + abs(z.imag)


def complex_solved_by_factors(lu: Any, pivots: Any, b: Any, trans: Any) -> Any:
    """``trans``: 1 for the transposed matrix, 2 for its conjugate."""
    out = b.astype(promoted(lu.dtype, b.dtype))
    n = lu.shape[0]
    below = np.tril(lu, -1) + np.eye(n, dtype=lu.dtype)
    if trans == 0:
        for k in range(n):
            _exchange(out, k, pivots[k])
        return complex_triangular(lu, complex_triangular(below, out, True), False)
    upper, lower = (np.conj(lu), np.conj(below)) if trans == 2 else (lu, below)
    out = complex_triangular(lower.T, complex_triangular(upper.T, out, True), False)
    for k in range(n - 1, -1, -1):
        _exchange(out, k, pivots[k])
    return out


def _exchange(x: Any, k: Any, p: Any) -> None:
    if p != k:
        x[np.array([k, p])] = x[np.array([p, k])]
