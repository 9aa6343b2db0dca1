"""Eigenvalues and eigenvectors of Hermitian matrices: reduction by reflections to a real matrix of three diagonals, as
by LAPACK's zhetrd, whose phases the vectors have: their first elements are real.

References: Anderson et al., LAPACK Users' Guide, 3rd ed. (1999); Giles (2008) for the derivatives. Vectors of equal
eigenvalues have no derivatives: these are NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule
from adc.frontend.kernels.spectra import spectrum


def hermitian_spectrum(re: Any, im: Any) -> Any:
    """Eigenvalues in rising order, and real and imaginary parts of eigenvectors in columns, for the lower triangle of
    ``re + 1j * im``; and whether this failed."""
    return _spectrum(re, im)


def _spectrum(re: Any, im: Any) -> Any:
    n = re.shape[0]
    a = _whole(re, im)
    t = np.zeros((n, n), re.dtype)
    reflections, factors = np.zeros((n, n), a.dtype), np.zeros(n, a.dtype)
    _three_diagonals(a, t, reflections, factors)
    w, v, failed = spectrum(t)
    z = _complex(v, np.zeros((n, n), re.dtype))
    for s in range(n - 1):
        k = n - 2 - s
        for j in range(n):
            inner = 0.0 * factors[k]
            for i in range(k + 1, n):
                inner += np.conj(reflections[k, i]) * z[i, j]
            inner *= factors[k]
            for i in range(k + 1, n):
                z[i, j] -= inner * reflections[k, i]
    return w, z.real.copy(), z.imag.copy(), failed


def _complex(re: Any, im: Any) -> Any:
    return re + 1j * im


def _whole(re: Any, im: Any) -> Any:
    """The Hermitian matrix that a lower triangle stands for."""
    n = re.shape[0]
    a = _complex(re, im)
    for i in range(n):
        a[i, i] = re[i, i]
        for j in range(i):
            a[j, i] = np.conj(a[i, j])
    return a


def _three_diagonals(a: Any, t: Any, reflections: Any, factors: Any) -> None:
    """A real matrix of three diagonals with the eigenvalues of the Hermitian ``a``, which is overwritten, and the
    reflections that lead to it: their vectors, in rows, and factors."""
    n = a.shape[0]
    w = np.zeros(n, a.dtype)
    for k in range(n - 1):
        t[k, k] = a[k, k].real
        first = a[k + 1, k]
        rest = abs(first.imag)
        for i in range(k + 2, n):
            rest += abs(a[i, k].real) + abs(a[i, k].imag)
        length = first.real
        if rest != 0.0:
            scale = rest + abs(first.real)  # so that no square overflows or vanishes
            squares = 0.0 * scale
            for i in range(k + 1, n):
                squares += (a[i, k].real / scale) ** 2 + (a[i, k].imag / scale) ** 2
            length = scale * np.sqrt(squares)
            if first.real >= 0.0:
                length = -length
            factor = (length - first) / length
            factors[k] = factor
            u = reflections[k]
            u[k + 1] = 1.0
            for i in range(k + 2, n):
                u[i] = a[i, k] / (first - length)
            inner = 0.0 * factor
            for i in range(k + 1, n):
                w[i] = 0.0
                for j in range(k + 1, n):
                    w[i] += a[i, j] * u[j]
                w[i] *= factor
                inner += np.conj(w[i]) * u[i]
            inner *= 0.5 * factor
            for i in range(k + 1, n):
                w[i] -= inner * u[i]
            for i in range(k + 1, n):
                for j in range(k + 1, n):
                    a[i, j] -= u[i] * np.conj(w[j]) + w[i] * np.conj(u[j])
        t[k + 1, k] = length
        t[k, k + 1] = length
    if n > 0:
        t[n - 1, n - 1] = a[n - 1, n - 1].real


@reverse_rule(hermitian_spectrum)
def _reverse(re: Any, im: Any) -> Any:
    w, vr, vi, failed = hermitian_spectrum(re, im)

    def pullback(g: Any) -> Any:
        n = len(w)
        v = _complex(vr, vi)
        m = np.conj(v.T) @ _complex(g[1], g[2])
        inner = 0.0 * v
        for j in range(n):
            phase = 0.0 * w[j]
            if m[j, j].imag != 0.0 and vr[0, j] != 0.0:
                phase = -m[j, j].imag / vr[0, j]
            for i in range(n):
                if i == j:
                    inner[i, j] = g[0][i]
                elif w[i] != w[j]:
                    inner[i, j] = (m[i, j] + 1j * (phase * vr[0, i])) / (w[j] - w[i])
                elif m[i, j] != 0.0:
                    inner[i, j] = np.nan
        a = v @ inner @ np.conj(v.T)
        for i in range(n):
            a[i, i] = a[i, i].real
            for j in range(i):
                a[i, j] += np.conj(a[j, i])
                a[j, i] = 0.0
        return a.real.copy(), a.imag.copy()

    return (w, vr, vi, failed), pullback


@forward_rule(hermitian_spectrum)
def _forward(tangents: Any, re: Any, im: Any) -> Any:
    w, vr, vi, failed = hermitian_spectrum(re, im)
    n = len(w)
    v = _complex(vr, vi)
    change = np.conj(v.T) @ _whole(tangents[0], tangents[1]) @ v
    of_values = np.zeros(n, w.dtype)
    turn = 0.0 * change
    for j in range(n):
        of_values[j] = change[j, j].real
        phase = 0.0 * w[j]
        for i in range(n):
            if w[i] != w[j]:
                turn[i, j] = change[i, j] / (w[j] - w[i])
                phase += vr[0, i] * turn[i, j].imag
            elif i != j and change[i, j] != 0.0:
                turn[i, j] = np.nan
        if vr[0, j] != 0.0:
            turn[j, j] = -1j * (phase / vr[0, j])
    of_vectors = v @ turn
    return (w, vr, vi, failed), (of_values, of_vectors.real.copy(), of_vectors.imag.copy(), None)
