"""Decompositions of matrices, along any leading axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.orthogonal import of_reflections, orthogonalised, reflected, upper_rows
from adc.frontend.kernels.singular import pseudo_inverse, singular
from adc.frontend.kernels.spectra import spectrum
from adc.frontend.prelude import constant, stands_for, unsupported
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
        if mode == "complete":
            f, factors = reflected(x)
            return of_reflections(f, factors, m), upper_rows(f, m)
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
    w, v = eigh_of(squares(a), constant(UPLO))
    return _EIGH(w, v)


@stands_for("numpy.linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    return eigh_of(squares(a), constant(UPLO))[0]


def eigh_of(x: Any, part: Any) -> Any:
    if part not in ("L", "U", "l", "u"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    if x.ndim == 2:
        w, v, failed = spectrum(x.T if part in ("U", "u") else x)
        if failed:
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return w, v
    ws = np.zeros(x.shape[:-1], x.dtype)
    vs = np.zeros(x.shape, x.dtype)
    for k in range(x.shape[0]):
        ws[k], vs[k] = eigh_of(x[k], part)
    return ws, vs


@stands_for("numpy.linalg.svd")
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    if constant(hermitian):
        unsupported("np.linalg.svd() of hermitian=True is not supported", "use np.linalg.eigh()")
    u, s, vt = _svd(matrices(a), constant(full_matrices))
    if not constant(compute_uv):
        return s
    return _SVD(u, s, vt)


@stands_for("numpy.linalg.svdvals")
def svdvals(x: Any, /) -> Any:
    return _svd(matrices(x), False)[1]


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
    m, n = x.shape
    if m >= n:
        u, s, vt = _svd_of_tall(x)
        return (_completed(u) if full else u), s, vt
    v, s, ut = _svd_of_tall(x.T)
    return ut.T.copy(), s, (_completed(v).T.copy() if full else v.T.copy())


def _svd_of_tall(x: Any) -> Any:
    u, s, vt, failed = singular(x)
    if failed:
        raise np.linalg.LinAlgError("SVD did not converge")
    return u, s, vt


def _completed(u: Any) -> Any:
    """Orthonormal columns, and others beside them that make a basis."""
    m, n = u.shape
    f, factors = reflected(u)
    q = of_reflections(f, factors, m)
    q[:, :n] = u
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
    return _rank(_svd(x, False)[1], tol, relative)


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
    s = _svd(x, False)[1]
    rank = 0
    for k in range(len(s)):
        if s[k] > cut * s[0]:
            rank += 1
    solution = _pinv(x, cut) @ y
    rest = x @ solution - y
    squares_of_rest = np.sum(rest * rest, axis=0)
    count = 1 if y.ndim == 1 else y.shape[1]
    residuals = np.zeros(count if rank == x.shape[1] and x.shape[0] > x.shape[1] else 0, x.dtype)
    for k in range(len(residuals)):
        residuals[k] = squares_of_rest if y.ndim == 1 else squares_of_rest[k]
    return solution, residuals, rank, s
