"""Linear algebra of dense matrices, along any leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.elimination import determinant, factored, log_determinant, solved, unit
from adc.frontend.kernels.systems import LARGEST, each_determinant, each_log_determinant, each_solved
from adc.frontend.kernels.triangles import cholesky_factor
from adc.frontend.prelude import constant, stands_for
from adc.frontend.prelude.complex_matrices import (
    complex_cholesky,
    complex_determinant,
    complex_inverse,
    complex_log_determinant,
    complex_solved,
    is_complex,
)
from adc.frontend.prelude.matrices import batches, both_floats, column, each_pair, squares


@stands_for("numpy.linalg.solve")
def solve(a: Any, b: Any) -> Any:
    if is_complex(a, b):
        return complex_solved(a, b)
    x, y = both_floats(a, b)
    x = squares(x)
    if y.ndim == 1:
        return _solve(x, column(y))[..., 0]
    return _solve(x, y)


def _solve(a: Any, b: Any) -> Any:
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"solve: {a.shape[-1]} unknowns, and {b.shape[-2]} right-hand sides in a column")
    if a.ndim == 2 and b.ndim == 2:
        return _solve_one(a, b)
    if a.ndim == 3 and b.ndim == 3 and a.shape[1] < LARGEST:
        return _solve_each(a, b)
    out = np.zeros(batches(a.shape[:-2], b.shape[:-2]) + b.shape[-2:], a.dtype)
    each_pair(_solve_one, a, b, out)
    return out


def _solve_one(a: Any, b: Any) -> Any:
    x = np.ascontiguousarray(a)  # so that the kernels for it are those for other matrices
    lu, pivots, _parity, singular = factored(x)
    if singular:
        raise np.linalg.LinAlgError("Singular matrix")
    return solved(x, lu, pivots, np.ascontiguousarray(b))


def _solve_each(a: Any, b: Any) -> Any:
    lead = batches(a.shape[:1], b.shape[:1])
    x, singular = each_solved(np.broadcast_to(a, lead + a.shape[1:]), np.broadcast_to(b, lead + b.shape[1:]), 0)
    if singular:
        raise np.linalg.LinAlgError("Singular matrix")
    return x


@stands_for("numpy.linalg.inv")
def inv(a: Any) -> Any:
    if is_complex(a):
        return complex_inverse(a)
    x = squares(a)
    if x.ndim == 2:
        return _solve_one(x, unit(x))
    if x.ndim == 3 and x.shape[1] < LARGEST:
        return _solve_each(x, unit(x)[None])
    out = np.zeros(x.shape, x.dtype)
    for k in range(x.shape[0]):
        out[k] = inv(x[k])
    return out


@stands_for("numpy.linalg.det")
def det(a: Any) -> Any:
    if is_complex(a):
        return complex_determinant(a)
    x = squares(a)
    if x.ndim == 2:
        x = np.ascontiguousarray(x)
        lu, _pivots, parity, _singular = factored(x)
        return determinant(x, lu, parity)
    if x.ndim == 3 and x.shape[1] < LARGEST:
        return each_determinant(x)
    out = np.zeros(x.shape[:-2], x.dtype)
    for k in range(x.shape[0]):
        out[k] = det(x[k])
    return out


_SLOGDET: Any = type(np.linalg.slogdet(np.eye(1)))


@stands_for("numpy.linalg.slogdet")
def slogdet(a: Any) -> Any:
    if is_complex(a):
        sign, logarithm = complex_log_determinant(a)
        return _SLOGDET(sign, logarithm)
    x = squares(a)
    if x.ndim == 2:
        x = np.ascontiguousarray(x)
        lu, pivots, parity, _singular = factored(x)
        sign = parity
        for i in range(len(lu)):
            sign *= np.sign(lu[i, i])
        return _SLOGDET(sign, log_determinant(x, lu, pivots))
    if x.ndim == 3 and x.shape[1] < LARGEST:
        several, sizes = each_log_determinant(x)
        return _SLOGDET(several, sizes)
    signs = np.zeros(x.shape[:-2], x.dtype)
    logarithms = np.zeros(x.shape[:-2], x.dtype)
    for k in range(x.shape[0]):
        signs[k], logarithms[k] = slogdet(x[k])
    return _SLOGDET(signs, logarithms)


@stands_for("numpy.linalg.cholesky")
def cholesky(a: Any, /, *, upper: Any = False) -> Any:
    if is_complex(a):
        return complex_cholesky(a, constant(upper))
    x = squares(a)
    if x.ndim == 2:
        factor, failed = cholesky_factor(np.ascontiguousarray(x.T if upper else x))
        if failed:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        return factor.T if upper else factor
    out = np.zeros(x.shape, x.dtype)
    for k in range(x.shape[0]):
        out[k] = cholesky(x[k], upper=upper)
    return out


@stands_for("numpy.linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    x, y = np.array(a), np.asarray(b)
    if axes is not None:
        moved = [k % x.ndim for k in constant(axes)]
        x = np.transpose(x, (*[k for k in range(x.ndim) if k not in moved], *moved)).copy()
    shape = x.shape[y.ndim :]
    n = 1
    for extent in shape:
        n *= extent
    if x.size != n**2 or y.size != n:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.linalg.solve(x.reshape((n, n)), y.ravel()).reshape(shape)


@stands_for("numpy.linalg.tensorinv")
def tensorinv(a: Any, ind: Any = 2) -> Any:
    x, k = np.array(a), constant(ind)
    if k <= 0:
        raise ValueError("Invalid ind argument.")
    n = 1
    for extent in x.shape[k:]:
        n *= extent
    return np.linalg.inv(x.reshape((-1, n))).reshape((*x.shape[k:], *x.shape[:k]))
