"""The passes of Stockham's transform by one factor of the length, on the real and the imaginary parts.

Each takes ``x`` as an array of shape (p, m, s) to ``y`` of shape (m, p, s), both flat, for a factor p: the transforms
along the first axis, times powers of the roots ``cos + 1j * sign * sin``, of which every ``step``-th is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import when_reached

SIN_3 = np.sin(2 * np.pi / 3)
COS_5, COS_5_2 = np.cos(2 * np.pi / 5), np.cos(4 * np.pi / 5)
SIN_5, SIN_5_2 = np.sin(2 * np.pi / 5), np.sin(4 * np.pi / 5)


@when_reached("yr", "yi")
def by_two(
    xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any, sign: Any, m: Any, s: Any
) -> None:
    for q in range(m):
        c1, s1 = cos[q * step], sign * sin[q * step]
        for j in range(s):
            i, o = q * s + j, 2 * q * s + j
            ar, ai = xr[i], xi[i]
            br, bi = xr[i + m * s], xi[i + m * s]
            yr[o], yi[o] = ar + br, ai + bi
            dr, di = ar - br, ai - bi
            yr[o + s], yi[o + s] = dr * c1 - di * s1, dr * s1 + di * c1


@when_reached("yr", "yi")
def by_three(
    xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any, sign: Any, m: Any, s: Any
) -> None:
    for q in range(m):
        c1, s1 = cos[q * step], sign * sin[q * step]
        c2, s2 = cos[2 * q * step], sign * sin[2 * q * step]
        for j in range(s):
            i, o = q * s + j, 3 * q * s + j
            ar, ai = xr[i], xi[i]
            br, bi = xr[i + m * s], xi[i + m * s]
            cr, ci = xr[i + 2 * m * s], xi[i + 2 * m * s]
            tr, ti = br + cr, bi + ci
            ur, ui = ar - 0.5 * tr, ai - 0.5 * ti
            vr, vi = sign * SIN_3 * (br - cr), sign * SIN_3 * (bi - ci)
            yr[o], yi[o] = ar + tr, ai + ti
            er, ei = ur - vi, ui + vr
            yr[o + s], yi[o + s] = er * c1 - ei * s1, er * s1 + ei * c1
            fr, fi = ur + vi, ui - vr
            yr[o + 2 * s], yi[o + 2 * s] = fr * c2 - fi * s2, fr * s2 + fi * c2


@when_reached("yr", "yi")
def by_four(
    xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any, sign: Any, m: Any, s: Any
) -> None:
    for q in range(m):
        c1, s1 = cos[q * step], sign * sin[q * step]
        c2, s2 = cos[2 * q * step], sign * sin[2 * q * step]
        c3, s3 = cos[3 * q * step], sign * sin[3 * q * step]
        for j in range(s):
            i, o = q * s + j, 4 * q * s + j
            x0r, x0i = xr[i], xi[i]
            x1r, x1i = xr[i + m * s], xi[i + m * s]
            x2r, x2i = xr[i + 2 * m * s], xi[i + 2 * m * s]
            x3r, x3i = xr[i + 3 * m * s], xi[i + 3 * m * s]
            ar, ai = x0r + x2r, x0i + x2i
            br, bi = x0r - x2r, x0i - x2i
            cr, ci = x1r + x3r, x1i + x3i
            dr, di = sign * (x1r - x3r), sign * (x1i - x3i)
            yr[o], yi[o] = ar + cr, ai + ci
            er, ei = br - di, bi + dr
            yr[o + s], yi[o + s] = er * c1 - ei * s1, er * s1 + ei * c1
            fr, fi = ar - cr, ai - ci
            yr[o + 2 * s], yi[o + 2 * s] = fr * c2 - fi * s2, fr * s2 + fi * c2
            gr, gi = br + di, bi - dr
            yr[o + 3 * s], yi[o + 3 * s] = gr * c3 - gi * s3, gr * s3 + gi * c3


@when_reached("yr", "yi")
def by_five(
    xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any, sign: Any, m: Any, s: Any
) -> None:
    for q in range(m):
        c1, s1 = cos[q * step], sign * sin[q * step]
        c2, s2 = cos[2 * q * step], sign * sin[2 * q * step]
        c3, s3 = cos[3 * q * step], sign * sin[3 * q * step]
        c4, s4 = cos[4 * q * step], sign * sin[4 * q * step]
        for j in range(s):
            i, o = q * s + j, 5 * q * s + j
            x0r, x0i = xr[i], xi[i]
            x1r, x1i = xr[i + m * s], xi[i + m * s]
            x2r, x2i = xr[i + 2 * m * s], xi[i + 2 * m * s]
            x3r, x3i = xr[i + 3 * m * s], xi[i + 3 * m * s]
            x4r, x4i = xr[i + 4 * m * s], xi[i + 4 * m * s]
            ar, ai, br, bi = x1r + x4r, x1i + x4i, x2r + x3r, x2i + x3i
            dr, di = sign * (x1r - x4r), sign * (x1i - x4i)
            er, ei = sign * (x2r - x3r), sign * (x2i - x3i)
            pr, pi = x0r + (COS_5 * ar + COS_5_2 * br), x0i + (COS_5 * ai + COS_5_2 * bi)
            qr, qi = x0r + (COS_5_2 * ar + COS_5 * br), x0i + (COS_5_2 * ai + COS_5 * bi)
            ur, ui = SIN_5 * dr + SIN_5_2 * er, SIN_5 * di + SIN_5_2 * ei
            vr, vi = SIN_5_2 * dr - SIN_5 * er, SIN_5_2 * di - SIN_5 * ei
            yr[o], yi[o] = x0r + ar + br, x0i + ai + bi
            zr, zi = pr - ui, pi + ur
            yr[o + s], yi[o + s] = zr * c1 - zi * s1, zr * s1 + zi * c1
            zr, zi = qr - vi, qi + vr
            yr[o + 2 * s], yi[o + 2 * s] = zr * c2 - zi * s2, zr * s2 + zi * c2
            zr, zi = qr + vi, qi - vr
            yr[o + 3 * s], yi[o + 3 * s] = zr * c3 - zi * s3, zr * s3 + zi * c3
            zr, zi = pr + ui, pi - ur
            yr[o + 4 * s], yi[o + 4 * s] = zr * c4 - zi * s4, zr * s4 + zi * c4


@when_reached("yr", "yi")
def by_prime(
    xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any, sign: Any, p: Any, m: Any, s: Any
) -> None:
    """A sum of ``p`` terms for each number; rows of terms are added to the result one after the other."""
    between = len(cos) // p
    for q in range(m):
        for r in range(p):
            c, t = cos[q * r * step], sign * sin[q * r * step]
            o = (q * p + r) * s
            for j in range(s):
                yr[o + j] = xr[q * s + j] * c - xi[q * s + j] * t
                yi[o + j] = xr[q * s + j] * t + xi[q * s + j] * c
            for k in range(1, p):
                at = (q * r * step + r * k % p * between) % len(cos)
                kc, ks = cos[at], sign * sin[at]
                i = (k * m + q) * s
                for j in range(s):
                    yr[o + j] += xr[i + j] * kc - xi[i + j] * ks
                    yi[o + j] += xr[i + j] * ks + xi[i + j] * kc
