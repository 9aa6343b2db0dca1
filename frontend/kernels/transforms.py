"""Discrete Fourier transforms of the columns of an array, of any length.

Stockham's mixed radix form without a permutation (Van Loan, Computational Frameworks for the Fast Fourier Transform,
1992, section 1.7), on the real and the imaginary parts; lengths with a large prime factor go through a convolution of a
length that is a power of two (Bluestein 1970).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule

LARGEST_FACTOR = 50  # a pass by a prime p costs p operations for each number


def transformed(x: Any, sign: Any) -> Any:
    """The transforms of ``x[0] + 1j * x[1]`` along its first axis, likewise; ``sign``: of the exponent, an integer."""
    out = np.empty(x.shape)
    xr, xi = x[0].copy(), x[1].copy()
    if _largest_factor(x.shape[1]) > LARGEST_FACTOR:
        yr, yi = _by_convolution(xr, xi, float(sign))
    else:
        yr, yi = _by_factors(xr, xi, float(sign))
    out[0] = yr
    out[1] = yi
    return out


@reverse_rule(transformed)
def _transformed_reverse(x: Any, sign: Any) -> Any:
    """The adjoint of a transform is the one with the other sign."""

    def pullback(of_result: Any) -> Any:
        return transformed(of_result.copy(), -sign), None

    return transformed(x, sign), pullback


@forward_rule(transformed)
def _transformed_forward(tangents: Any, x: Any, sign: Any) -> Any:
    return transformed(x, sign), transformed(tangents[0].copy(), sign)


def _smallest_factor(n: Any) -> Any:
    if n % 4 == 0:
        return 4
    p = 2
    while p * p <= n:
        if n % p == 0:
            return p
        p += 1
    return n


def _largest_factor(n: Any) -> Any:
    left = n
    largest = 1
    p = 2
    while p * p <= left:
        while left % p == 0:
            left //= p
            largest = p
        p += 1
    return max(left, largest)


def _roots(n: Any, sign: Any) -> Any:
    angles = (2 * np.pi / max(n, 1)) * np.arange(n)
    return np.cos(angles), sign * np.sin(angles)


def _by_two(xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any) -> None:
    for q in range(xr.shape[1]):
        c, s = cos[q * step], sin[q * step]
        for j in range(xr.shape[2]):
            dr, di = xr[0, q, j] - xr[1, q, j], xi[0, q, j] - xi[1, q, j]
            yr[q, 0, j] = xr[0, q, j] + xr[1, q, j]
            yi[q, 0, j] = xi[0, q, j] + xi[1, q, j]
            yr[q, 1, j] = dr * c - di * s
            yi[q, 1, j] = dr * s + di * c


def _by_four(xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any, sign: Any) -> None:
    for q in range(xr.shape[1]):
        c1, s1 = cos[q * step], sin[q * step]
        c2, s2 = cos[2 * q * step], sin[2 * q * step]
        c3, s3 = cos[3 * q * step], sin[3 * q * step]
        for j in range(xr.shape[2]):
            ar, ai = xr[0, q, j] + xr[2, q, j], xi[0, q, j] + xi[2, q, j]
            br, bi = xr[0, q, j] - xr[2, q, j], xi[0, q, j] - xi[2, q, j]
            cr, ci = xr[1, q, j] + xr[3, q, j], xi[1, q, j] + xi[3, q, j]
            dr, di = sign * (xr[1, q, j] - xr[3, q, j]), sign * (xi[1, q, j] - xi[3, q, j])
            yr[q, 0, j], yi[q, 0, j] = ar + cr, ai + ci
            er, ei = br - di, bi + dr
            yr[q, 1, j], yi[q, 1, j] = er * c1 - ei * s1, er * s1 + ei * c1
            fr, fi = ar - cr, ai - ci
            yr[q, 2, j], yi[q, 2, j] = fr * c2 - fi * s2, fr * s2 + fi * c2
            gr, gi = br + di, bi - dr
            yr[q, 3, j], yi[q, 3, j] = gr * c3 - gi * s3, gr * s3 + gi * c3


def _by_prime(xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any) -> None:
    p = xr.shape[0]
    between = len(cos) // p
    for q in range(xr.shape[1]):
        for r in range(p):
            c, s = cos[q * r * step], sin[q * r * step]
            for j in range(xr.shape[2]):
                tr = 0.0
                ti = 0.0
                for k in range(p):
                    at = r * k % p * between
                    tr += xr[k, q, j] * cos[at] - xi[k, q, j] * sin[at]
                    ti += xr[k, q, j] * sin[at] + xi[k, q, j] * cos[at]
                yr[q, r, j] = tr * c - ti * s
                yi[q, r, j] = tr * s + ti * c


def _by_factors(xr: Any, xi: Any, sign: Any) -> Any:
    """The transforms of the columns by one factor of the length after the other."""
    n, columns = xr.shape
    cos, sin = _roots(n, sign)
    left = n
    while left > 1:
        p = _smallest_factor(left)
        m = left // p
        s = (n // left) * columns
        ur, ui = xr.reshape(p, m, s), xi.reshape(p, m, s)
        yr, yi = np.empty((n, columns)), np.empty((n, columns))
        vr, vi = yr.reshape(m, p, s), yi.reshape(m, p, s)
        if p == 4:
            _by_four(ur, ui, vr, vi, cos, sin, n // left, sign)
        elif p == 2:
            _by_two(ur, ui, vr, vi, cos, sin, n // left)
        else:
            _by_prime(ur, ui, vr, vi, cos, sin, n // left)
        xr, xi = yr, yi
        left = m
    return xr, xi


def _by_convolution(xr: Any, xi: Any, sign: Any) -> Any:
    """Bluestein: ``jk = (j^2 + k^2 - (j - k)^2) / 2`` makes it a convolution with a chirp."""
    n, columns = xr.shape
    size = 1
    while size < 2 * n - 1:
        size *= 2
    angles = np.empty(n)
    for k in range(n):
        angles[k] = (np.pi / n) * (k * k % (2 * n))
    cos, sin = np.cos(angles), sign * np.sin(angles)
    ar, ai = np.zeros((size, columns)), np.zeros((size, columns))
    br, bi = np.zeros((size, 1)), np.zeros((size, 1))
    for k in range(n):
        br[k, 0], bi[k, 0] = cos[k], -sin[k]
        if k > 0:
            br[size - k, 0], bi[size - k, 0] = cos[k], -sin[k]
        for j in range(columns):
            ar[k, j] = xr[k, j] * cos[k] - xi[k, j] * sin[k]
            ai[k, j] = xr[k, j] * sin[k] + xi[k, j] * cos[k]
    fr, fi = _by_factors(ar, ai, -1.0)
    gr, gi = _by_factors(br, bi, -1.0)
    hr, hi = _by_factors(fr * gr - fi * gi, fr * gi + fi * gr, 1.0)
    yr, yi = np.empty((n, columns)), np.empty((n, columns))
    for k in range(n):
        c, s = cos[k] / size, sin[k] / size
        for j in range(columns):
            yr[k, j] = hr[k, j] * c - hi[k, j] * s
            yi[k, j] = hr[k, j] * s + hi[k, j] * c
    return yr, yi
