"""Linear algebra of complex matrices: systems as real ones of twice the size, determinants and Cholesky's factor by
elimination, and eigenvalues of Hermitian matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.hermitian import hermitian_spectrum
from adc.frontend.prelude.axes import promoted
from adc.frontend.prelude.matrices import all_square


def is_complex(*arrays: Any) -> Any:
    return any(np.asarray(a).dtype.kind == "c" for a in arrays)


def square(a: Any) -> Any:
    """Square matrices of complex numbers, along any leading axes."""
    return all_square(np.asarray(a))


def each(function: Any, x: Any, out: Any) -> Any:
    """``out`` with the results of a function of one matrix, for each position along leading axes."""
    for k in range(x.shape[0]):
        if x.ndim == 3:
            out[k] = function(x[k])
        else:
            each(function, x[k], out[k])
    return out


def complex_solved(a: Any, b: Any) -> Any:
    x, y = square(a), np.asarray(b)
    kind = promoted(x.dtype, y.dtype)
    x, y = x.astype(kind), y.astype(kind)
    if y.ndim == 1:
        return _solved(x, y.reshape(-1, 1))[..., 0]
    return _solved(x, y)


def _solved(x: Any, y: Any) -> Any:
    n, m = y.shape[-2:]
    sides = np.empty((*y.shape[:-2], 2 * n, m), y.real.dtype)
    sides[..., :n, :] = y.real
    sides[..., n:, :] = y.imag
    z = np.linalg.solve(_real(x), sides)
    return of_real(z[..., :n, :], z[..., n:, :], x.dtype)


def _real(x: Any) -> Any:
    """The real matrix of what complex matrices do to real and imaginary parts."""
    n = x.shape[-1]
    out = np.empty((*x.shape[:-2], 2 * n, 2 * n), x.real.dtype)
    out[..., :n, :n] = x.real
    out[..., :n, n:] = -x.imag
    out[..., n:, :n] = x.imag
    out[..., n:, n:] = x.real
    return out


def complex_inverse(a: Any) -> Any:
    x = square(a)
    return _solved(x, np.eye(x.shape[-1], dtype=x.dtype))


def _pivots(x: Any) -> Any:
    """The diagonal after elimination, whose product is the determinant, also in derivatives where matrices are
    singular: a column of zeros is exchanged for another, and what is left if there is none has a determinant, too."""
    n = x.shape[0]
    a = x.copy()
    found = np.ones(n, x.dtype)
    for k in range(n):
        p, q = _pivot(a, k, k + 1)
        if p < 0:
            p, q = _pivot(a, k, n)
        if p < 0:
            found[k] = _determinant_of_zeros(a[k:, k:].copy())
            break
        found[k] = a[p, q] if (p == k) == (q == k) else -a[p, q]
        _exchange(a[k], a[p])
        _exchange(a[:, k], a[:, q])
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
    return found


def _pivot(a: Any, k: Any, end: Any) -> Any:
    """The row and column of the largest element from the row ``k`` on, in the columns from ``k`` to ``end``; rows -1 if
    there are only zeros."""
    p, q, largest = -1, k, 0.0
    for j in range(k, end):
        for i in range(k, a.shape[0]):
            size = abs(a[i, j].real) + abs(a[i, j].imag)
            if size > largest or (size != size and p < 0):
                p, q, largest = i, j, size
    return p, q


def _exchange(u: Any, v: Any) -> None:
    for j in range(len(u)):
        above = u[j]
        u[j] = v[j]
        v[j] = above


def _determinant_of_zeros(a: Any) -> Any:
    """The determinant without divisions, for the sake of its derivatives: R. S. Bird, A simple division-free algorithm
    for computing determinants, Information Processing Letters 111 (2011)."""
    n = a.shape[0]
    x = a
    for _ in range(n - 1):
        upper = np.triu(x, 1)
        rest = 0.0 * x[0, 0]
        for i in range(n - 1, -1, -1):
            upper[i, i] = -rest
            rest += x[i, i]
        x = upper @ a
    return x[0, 0] if n % 2 == 1 else -x[0, 0]


def complex_determinant(a: Any) -> Any:
    x = square(a)
    if x.ndim == 2:
        return np.prod(_pivots(x))
    return each(lambda m: np.prod(_pivots(m)), x, np.empty(x.shape[:-2], x.dtype))


def complex_log_determinant(a: Any) -> Any:
    """The phase of the determinant, and the logarithm of its size."""
    x = square(a)
    if x.ndim == 2:
        found = _pivots(x)
        sizes = np.abs(found)
        if np.any(sizes == 0.0):
            return x.dtype.type(0), x.real.dtype.type(-np.inf)
        return np.prod(found / sizes), np.sum(np.log(sizes))
    signs = each(lambda m: complex_log_determinant(m)[0], x, np.empty(x.shape[:-2], x.dtype))
    return signs, each(lambda m: complex_log_determinant(m)[1], x, np.empty(x.shape[:-2], x.real.dtype))


def complex_cholesky(a: Any, upper: Any) -> Any:
    x = square(a)
    if x.ndim > 2:
        return each(lambda m: complex_cholesky(m, upper), x, np.empty(x.shape, x.dtype))
    if upper:
        return np.conj(_cholesky(np.conj(x.T)).T)
    return _cholesky(x)


def _cholesky(x: Any) -> Any:
    n = x.shape[0]
    out = np.zeros((n, n), x.dtype)
    for j in range(n):
        rest = x[j, j].real
        for k in range(j):
            rest -= out[j, k].real * out[j, k].real + out[j, k].imag * out[j, k].imag
        if rest <= 0.0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        out[j, j] = np.sqrt(rest)
        for i in range(j + 1, n):
            entry = x[i, j]
            for k in range(j):
                entry -= out[i, k] * np.conj(out[j, k])
            out[i, j] = entry / out[j, j]
    return out


def hermitian_values(x: Any, upper: Any) -> Any:
    if x.ndim > 2:
        return each(lambda m: hermitian_values(m, upper), x, np.empty(x.shape[:-1], x.real.dtype))
    return hermitian_vectors(x, upper)[0]


def hermitian_vectors(x: Any, upper: Any) -> Any:
    """Eigenvalues and eigenvectors."""
    if x.ndim > 2:
        ws, vs = np.empty(x.shape[:-1], x.real.dtype), np.empty(x.shape, x.dtype)
        for k in range(x.shape[0]):
            ws[k], vs[k] = hermitian_vectors(x[k], upper)
        return ws, vs
    low = x[::-1, ::-1] if upper else x  # LAPACK begins at the other end, and makes the last elements real
    w, re, im, failed = hermitian_spectrum(low.real.copy(), low.imag.copy())
    if failed:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    v = of_real(re, im, x.dtype)
    return w, v[::-1] if upper else v


def of_real(re: Any, im: Any, kind: Any) -> Any:
    """Complex numbers of their parts."""
    out = np.empty(re.shape, kind)
    out.real = re
    out.imag = im
    return out
