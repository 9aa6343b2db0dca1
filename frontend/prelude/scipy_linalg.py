"""SciPy's linear algebra: functions shared with NumPy, triangles, factors that are kept, the exponential."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.exponential import exponential
from adc.frontend.kernels.kept_factors import eliminated, solved_by_factors
from adc.frontend.kernels.triangles import lower_solved, upper_solved
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import promoted
from adc.frontend.prelude.complex_matrices import is_complex, square
from adc.frontend.prelude.complex_triangles import (
    adjoint_of,
    complex_eliminated,
    complex_solved_by_factors,
    complex_triangular,
)
from adc.frontend.prelude.decompositions import eigh_of, eigvalsh_of, pinv, qr, svd, svdvals
from adc.frontend.prelude.linalg import cholesky, det, inv, solve
from adc.frontend.prelude.matrices import both_floats, column, squares


@stands_for("scipy.linalg.inv")
def scipy_inv(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return inv(a)


@stands_for("scipy.linalg.det")
def scipy_det(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return det(a)


@stands_for("scipy.linalg.solve_triangular")
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: Any = False,
    unit_diagonal: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:
    x, y = _of_systems(a, b)
    x = _square(x)
    turned = constant(trans)
    if turned not in (0, 1, 2, "N", "T", "C"):
        raise ValueError("trans is 0, 1, 2, 'N', 'T' or 'C'")
    if constant(unit_diagonal):
        x = x.copy()
        for k in range(x.shape[0]):
            x[k, k] = 1.0
    for k in range(x.shape[0]):
        if x[k, k] == 0.0:
            raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {k}")
    is_lower = constant(lower)
    if turned in (0, "N"):
        return _triangular(x, y, is_lower)
    return _triangular(adjoint_of(x) if turned in (2, "C") else x.T, y, not is_lower)


def _square(a: Any) -> Any:
    return square(a) if is_complex(a) else squares(a)


def _of_systems(a: Any, b: Any) -> Any:
    return (np.asarray(a), np.asarray(b)) if is_complex(a, b) else both_floats(a, b)


def _triangular(x: Any, y: Any, is_lower: Any) -> Any:
    if is_complex(x, y):
        return complex_triangular(x, y, constant(is_lower))
    if y.ndim == 1:
        return _triangular(x, column(y), is_lower)[:, 0]
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"shapes of a {x.shape} and b {y.shape} are incompatible")
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    return lower_solved(x, y) if constant(is_lower) else upper_solved(x, y)


@stands_for("scipy.linalg.cholesky")
def scipy_cholesky(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return cholesky(a, upper=not constant(lower))


@stands_for("scipy.linalg.cho_factor")
def cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """The Cholesky factor; the other triangle is that of ``a``, as in LAPACK."""
    x = _square(a)
    factor = cholesky(x, upper=not constant(lower))
    whole = factor.copy()
    n = x.shape[0]
    for i in range(n):
        for j in range(i):
            if constant(lower):
                whole[j, i] = x[j, i]
            else:
                whole[i, j] = x[i, j]
    return whole, lower


@stands_for("scipy.linalg.cho_solve")
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    factor, lower = c_and_lower
    x, y = _of_systems(factor, b)
    if constant(lower):
        return _triangular(adjoint_of(x), _triangular(x, y, True), False)
    return _triangular(x, _triangular(adjoint_of(x), y, True), False)


@stands_for("scipy.linalg.eigvalsh")
def scipy_eigvalsh(a: Any, b: Any = None, *, lower: Any = True) -> Any:
    if b is not None:
        unsupported("generalised eigenvalue problems are not supported", "reduce them by a Cholesky factor of b")
    return eigvalsh_of(a, "L" if constant(lower) else "U")


@stands_for("scipy.linalg.eigh")
def scipy_eigh(a: Any, b: Any = None, *, lower: Any = True, eigvals_only: Any = False) -> Any:
    if b is not None:
        unsupported("generalised eigenvalue problems are not supported", "reduce them by a Cholesky factor of b")
    part = "L" if constant(lower) else "U"
    return eigvalsh_of(a, part) if constant(eigvals_only) else eigh_of(a, part)


@stands_for("scipy.linalg.qr")
def scipy_qr(
    a: Any,
    overwrite_a: Any = False,
    lwork: Any = None,
    mode: Any = "full",
    pivoting: Any = False,
    check_finite: Any = True,
) -> Any:
    chosen = constant(mode)
    if constant(pivoting) or chosen == "raw":
        unsupported("scipy.linalg.qr() with pivoting or of mode 'raw' is not supported", "use mode='economic'")
    if chosen == "r":
        unsupported("scipy.linalg.qr() of mode 'r' is not supported", "use np.linalg.qr(a, mode='r')")
    q, r = qr(a, "reduced" if chosen == "economic" else "complete")
    return q, r


@stands_for("scipy.linalg.svd")
def scipy_svd(
    a: Any,
    full_matrices: Any = True,
    compute_uv: Any = True,
    overwrite_a: Any = False,
    check_finite: Any = True,
) -> Any:
    if not constant(compute_uv):
        return svdvals(a)
    u, s, vt = svd(a, full_matrices)
    return u, s, vt


@stands_for("scipy.linalg.svdvals")
def scipy_svdvals(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    return svdvals(a)


@stands_for("scipy.linalg.expm")
def expm(A: Any) -> Any:
    x = squares(A)
    if x.ndim == 2:
        return exponential(x)
    out = np.zeros(x.shape, x.dtype)
    for k in range(x.shape[0]):
        out[k] = expm(x[k])
    return out


@stands_for("scipy.linalg.solve")
def scipy_solve(
    a: Any,
    b: Any,
    lower: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    assume_a: Any = None,
    transposed: Any = False,
) -> Any:
    kind = constant(assume_a)
    if kind in ("pos", "positive definite"):
        return cho_solve(cho_factor(a, lower), b)
    if kind not in (None, "gen", "general"):
        unsupported(f"scipy.linalg.solve() of assume_a={kind!r} is not supported", "leave it out")
    return solve(_square(a).T if constant(transposed) else a, b)


@stands_for("scipy.linalg.pinv")
def scipy_pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: Any = False, check_finite: Any = True
) -> Any:
    if atol is not None or constant(return_rank):
        unsupported("scipy.linalg.pinv() takes rtol only", "use np.linalg.matrix_rank(a) for the rank")
    return pinv(a, rtol=rtol)


@stands_for("scipy.linalg.lu_factor")
def lu_factor(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    if is_complex(a):
        lu, pivots = complex_eliminated(square(a))
    else:
        lu, pivots = eliminated(squares(a))
    return lu, pivots


@stands_for("scipy.linalg.lu_solve")
def lu_solve(
    lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    lu, pivots = lu_and_piv
    if is_complex(lu, b):
        return complex_solved_by_factors(np.asarray(lu), pivots, np.asarray(b), constant(trans))
    x, y = both_floats(lu, b)
    if y.ndim == 1:
        return solved_by_factors(x, pivots, column(y), constant(trans) != 0)[:, 0]
    return solved_by_factors(x, pivots, y, constant(trans) != 0)


@stands_for("scipy.linalg.block_diag")
def block_diag(*arrs: Any) -> Any:
    blocks = [np.atleast_2d(a) for a in arrs] if len(arrs) > 0 else [np.zeros((1, 0))]
    rows, columns, dtype = 0, 0, blocks[0].dtype
    for block in blocks:
        rows += block.shape[0]
        columns += block.shape[1]
        dtype = promoted(dtype, block.dtype)
    out = np.zeros((rows, columns), dtype)
    i, j = 0, 0
    for block in blocks:
        out[i : i + block.shape[0], j : j + block.shape[1]] = block
        i += block.shape[0]
        j += block.shape[1]
    return out


@stands_for("scipy.linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    column = np.asarray(c).ravel()
    row = np.conj(column) if r is None else np.asarray(r).ravel()
    out = np.empty((len(column), len(row)), promoted(column.dtype, row.dtype))
    for i in range(len(column)):
        for j in range(len(row)):
            out[i, j] = column[i - j] if i >= j else row[j - i]
    return out


@stands_for("scipy.linalg.circulant")
def circulant(c: Any) -> Any:
    column = np.asarray(c)
    n = column.shape[0]
    out = np.empty((n, n), column.dtype)
    for i in range(n):
        for j in range(n):
            out[i, j] = column[i - j] if i >= j else column[n + i - j]
    return out


@stands_for("scipy.linalg.hankel")
def hankel(c: Any, r: Any = None) -> Any:
    column = np.asarray(c).ravel()
    row = np.zeros_like(column) if r is None else np.asarray(r).ravel()
    m = len(column)
    out = np.empty((m, len(row)), promoted(column.dtype, row.dtype))
    for i in range(m):
        for j in range(len(row)):
            out[i, j] = column[i + j] if i + j < m else row[i + j - m + 1]
    return out
