"""Decompositions of matrices, along any leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.elimination import factored, solved_transposed
from adc.frontend.kernels.least_squares import least_squares, upright
from adc.frontend.kernels.orthogonal import of_reflections, orthogonalised, reflected, reflected_signs, upper_rows
from adc.frontend.kernels.singular import pseudo_inverse, singular, singular_values
from adc.frontend.kernels.spectra import eigenvalues, spectrum
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.complex_matrices import hermitian_values, hermitian_vectors, is_complex, square
from adc.frontend.prelude.matrices import both_floats, matrices, squares

_QR: Any = type(np.linalg.qr(np.eye(1)))
_EIGH: Any = type(np.linalg.eigh(np.eye(1)))
_SVD: Any = type(np.linalg.svd(np.eye(1)))
_NO_VALUE = np._NoValue


@stands_for("numpy.linalg.qr")
def qr(a: Any, mode: Any = "reduced") -> Any:
    x = matrices(a)
    chosen = constant(mode)
    if chosen not in ("reduced", "complete", "r"):
        unsupported(f"np.linalg.qr() of mode {chosen!r} is not supported", "use mode='reduced', 'complete' or 'r'")
    if chosen == "r":
        return _qr(x, "reduced")[1]
    q, r = _qr(x, chosen)
    return _QR(q, r)


def _qr(x: Any, mode: Any) -> Any:
    m, n = x.shape[-2:]
    if x.ndim == 2:
        if mode == "complete" and m > n:
            c, factors = reflected(x)
            return of_reflections(c, factors, m).T.copy(), upper_rows(c, m)
        return _qr_reduced(x)
    count = m if mode == "complete" else min(m, n)
    qs = np.zeros((*x.shape[:-2], m, count), x.dtype)
    rs = np.zeros((*x.shape[:-2], count, n), x.dtype)
    for k in range(x.shape[0]):
        qs[k], rs[k] = _qr(x[k], mode)
    return qs, rs


def _qr_reduced(x: Any) -> Any:
    m, n = x.shape
    count = min(m, n)
    q, first = orthogonalised(x[:, :count])
    r = np.zeros((count, n), x.dtype)
    r[:, :count] = first
    r[:, count:] = q.T @ x[:, count:]
    return q, r


@stands_for("numpy.linalg.eigh")
def eigh(a: Any, UPLO: Any = "L") -> Any:
    w, v = eigh_of(a, constant(UPLO))
    return _EIGH(w, v)


@stands_for("numpy.linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    return eigvalsh_of(a, constant(UPLO))


def eigvalsh_of(a: Any, part: Any) -> Any:
    if is_complex(a):
        return hermitian_values(square(a), _is_upper(part))
    return _symmetric_values(squares(a), part)


def _symmetric_values(x: Any, part: Any) -> Any:
    if x.ndim == 2:
        w, failed = eigenvalues(_of_part(x, part))
        if failed:
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return w
    ws = np.zeros(x.shape[:-1], x.dtype)
    for k in range(x.shape[0]):
        ws[k] = _symmetric_values(x[k], part)
    return ws


def _of_part(x: Any, part: Any) -> Any:
    """The matrix with the triangle that is to be read in its lower part."""
    return x.T if _is_upper(part) else x


def _is_upper(part: Any) -> Any:
    if part not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return part in ("U", "u")


def eigh_of(a: Any, part: Any) -> Any:
    if is_complex(a):
        return hermitian_vectors(square(a), _is_upper(part))
    return _symmetric_vectors(squares(a), part)


def _symmetric_vectors(x: Any, part: Any) -> Any:
    if x.ndim == 2:
        w, v, failed = spectrum(_of_part(x, part))
        if failed:
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return w, v
    ws = np.zeros(x.shape[:-1], x.dtype)
    vs = np.zeros(x.shape, x.dtype)
    for k in range(x.shape[0]):
        ws[k], vs[k] = _symmetric_vectors(x[k], part)
    return ws, vs


@stands_for("numpy.linalg.svd")
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    if constant(hermitian):
        unsupported("np.linalg.svd() of hermitian=True is not supported", "use np.linalg.eigh()")
    if not constant(compute_uv):
        return _values(matrices(a))
    u, s, vt = _svd(matrices(a), constant(full_matrices))
    return _SVD(u, s, vt)


@stands_for("numpy.linalg.svdvals")
def svdvals(x: Any, /) -> Any:
    return _values(matrices(x))


def _values(x: Any) -> Any:
    """Singular values."""
    if x.ndim == 2:
        s, failed = singular_values(upright(x), x.shape[0] < x.shape[1])
        if failed:
            raise np.linalg.LinAlgError("SVD did not converge")
        return s
    ss = np.zeros((*x.shape[:-2], min(x.shape[-2], x.shape[-1])), x.dtype)
    for k in range(x.shape[0]):
        ss[k] = _values(x[k])
    return ss


def _svd(x: Any, full: Any) -> Any:
    m, n = x.shape[-2:]
    if x.ndim == 2:
        return _svd_of_one(x, full)
    count = min(m, n)
    us = np.zeros((*x.shape[:-2], m, m if full else count), x.dtype)
    ss = np.zeros((*x.shape[:-2], count), x.dtype)
    vs = np.zeros((*x.shape[:-2], n if full else count, n), x.dtype)
    for k in range(x.shape[0]):
        us[k], ss[k], vs[k] = _svd(x[k], full)
    return us, ss, vs


def _svd_of_one(x: Any, full: Any) -> Any:
    wide = x.shape[0] < x.shape[1]
    u, s, vt, failed = singular(upright(x), wide)
    if failed:
        raise np.linalg.LinAlgError("SVD did not converge")
    if constant(full) and u.shape[0] > u.shape[1]:
        u = _completed(u)
    if wide:
        return vt.T.copy(), s, u.T.copy()
    return u, s, vt


def _completed(u: Any) -> Any:
    """Orthonormal columns completed to a basis: the columns of ``1 - v @ t @ v.T``, a product of reflections, of which
    ``u`` is a part."""
    m, n = u.shape
    signs = reflected_signs(u[:n])
    turned = np.eye(n, dtype=u.dtype) - u[:n] * signs
    rest = u[n:] * signs
    lu, pivots, _parity, _singular = factored(turned)
    inner = solved_transposed(turned, lu, pivots, rest.T.copy())
    q = np.zeros((m, m), u.dtype)
    q[:, :n] = u
    q[:n, n:] = turned @ inner
    q[n:, n:] = np.eye(m - n, dtype=u.dtype) - rest @ inner
    return q


@stands_for("numpy.linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = _NO_VALUE) -> Any:
    x = matrices(a)
    if constant(hermitian):
        unsupported("np.linalg.pinv() of hermitian=True is not supported", "leave it out")
    if rcond is not None and rtol is not _NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None and rtol is _NO_VALUE:
        return _pinv(x, 1e-15)
    if rcond is None and rtol is None:
        return _pinv(x, max(x.shape[-2], x.shape[-1]) * np.finfo(x.dtype).eps)
    return _pinv(x, rtol if rcond is None else rcond)


def _pinv(x: Any, cut: Any) -> Any:
    m, n = x.shape[-2:]
    if x.ndim == 2:
        p, failed = pseudo_inverse(x if m >= n else x.T, cut)
        if failed:
            raise np.linalg.LinAlgError("SVD did not converge")
        return p if m >= n else p.T.copy()
    out = np.zeros((*x.shape[:-2], n, m), x.dtype)
    for k in range(x.shape[0]):
        out[k] = _pinv(x[k], cut)
    return out


@stands_for("numpy.linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Any:
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if constant(hermitian):
        unsupported("np.linalg.matrix_rank() of hermitian=True is not supported", "leave it out")
    x = matrices(A)
    relative = max(x.shape[-2], x.shape[-1]) * np.finfo(x.dtype).eps if rtol is None else rtol
    return _rank(_values(x), tol, relative)


def _rank(s: Any, tol: Any, relative: Any) -> Any:
    if s.ndim > 1:
        ranks = np.zeros(s.shape[:-1], np.int64)
        for k in range(s.shape[0]):
            ranks[k] = _rank(s[k], tol, relative)
        return ranks
    rank = 0
    for k in range(len(s)):
        if s[k] > (s[0] * relative if tol is None else tol):
            rank += 1
    return np.int64(rank)


@stands_for("numpy.linalg.lstsq")
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    x, y = both_floats(a, b)
    if x.ndim != 2 or (y.ndim != 1 and y.ndim != 2):
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    if x.shape[0] != y.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    eps = np.finfo(x.dtype).eps
    cut = max(x.shape[0], x.shape[1]) * eps if rcond is None else eps if rcond == -1 else rcond
    if y.ndim == 1:
        column = np.zeros((y.shape[0], 1), y.dtype)
        column[:, 0] = y
        solution, s, rank = _least_squares(x, column, cut)
        return solution[:, 0], _residuals(x, solution, column, rank), rank, s
    solution, s, rank = _least_squares(x, y, cut)
    return solution, _residuals(x, solution, y, rank), rank, s


def _least_squares(x: Any, y: Any, cut: Any) -> Any:
    solution, s, failed = least_squares(x, y, cut)
    if failed:
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")
    rank = 0
    for k in range(len(s)):
        if s[k] > cut * s[0]:
            rank += 1
    return solution, s, np.int32(rank)


def _residuals(x: Any, solution: Any, y: Any, rank: Any) -> Any:
    rest = x @ solution - y
    return np.sum(rest * rest, axis=0)[: y.shape[1] if rank == x.shape[1] and x.shape[0] > x.shape[1] else 0]
