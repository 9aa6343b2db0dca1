"""Discrete Fourier transforms of real numbers, and back, along the middle one of three axes: one of half the length.

An even number of real numbers is treated as complex numbers, pair by pair; the transform follows from that of the pairs
(Cooley, Lewis and Welch, The fast Fourier transform algorithm, J. Sound Vib. 12, 1970).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule
from adc.frontend.kernels.transforms import complex_transforms, root

AT_ONCE = 128  # roots that are computed directly; the others are products


def of_real(x: Any) -> Any:
    """The first half of the transforms of an array, as real and imaginary parts: ``result[:, :, k]`` for k up to
    ``n // 2``; the rest are the conjugates."""
    before, n, after = x.shape
    half = n // 2
    out = np.empty((2, before, half + 1, after))
    if n % 2 == 0:
        pairs = np.empty((2, before, half, after))
        if after == 1:
            flat_x, flat_pairs = x.reshape(before, n), pairs.reshape(2, before, half)
            for i in range(before):
                for k in range(half):
                    flat_pairs[0, i, k] = flat_x[i, 2 * k]
                    flat_pairs[1, i, k] = flat_x[i, 2 * k + 1]
        else:
            for i in range(before):
                for k in range(half):
                    for j in range(after):
                        pairs[0, i, k, j] = x[i, 2 * k, j]
                        pairs[1, i, k, j] = x[i, 2 * k + 1, j]
        _separated(complex_transforms(pairs, -1), out)
    else:
        given = np.zeros((2, before, n, after))
        given[0] = x
        out[:] = complex_transforms(given, -1)[:, :, : half + 1]
    return out


def to_real(y: Any, n: Any) -> Any:
    """The ``n`` real numbers whose transform begins with ``y``, times ``n``. The imaginary parts that are zero in such
    a transform are ignored."""
    _, before, count, after = y.shape
    half = n // 2
    out = np.empty((before, n, after))
    if n % 2 == 0:
        z = complex_transforms(_joined(y), 1)
        if after == 1:
            flat_z, flat_out = z.reshape(2, before, half), out.reshape(before, n)
            for i in range(before):
                for k in range(half):
                    flat_out[i, 2 * k] = flat_z[0, i, k]
                    flat_out[i, 2 * k + 1] = flat_z[1, i, k]
        else:
            for i in range(before):
                for k in range(half):
                    for j in range(after):
                        out[i, 2 * k, j] = z[0, i, k, j]
                        out[i, 2 * k + 1, j] = z[1, i, k, j]
    else:
        whole = np.zeros((2, before, n, after))
        for i in range(before):
            for j in range(after):
                whole[0, i, 0, j] = y[0, i, 0, j]
            for k in range(1, count):
                for j in range(after):
                    whole[0, i, k, j], whole[1, i, k, j] = y[0, i, k, j], y[1, i, k, j]
                    whole[0, i, n - k, j], whole[1, i, n - k, j] = y[0, i, k, j], -y[1, i, k, j]
        out[:] = complex_transforms(whole, 1)[0]
    return out


def _separated(z: Any, out: Any) -> None:
    """The transform of the numbers from that of the pairs."""
    _, before, half, after = z.shape
    cos, sin = _half_turns(2 * half)
    for i in range(before):
        for j in range(after):
            out[0, i, 0, j], out[1, i, 0, j] = z[0, i, 0, j] + z[1, i, 0, j], 0.0
            out[0, i, half, j], out[1, i, half, j] = z[0, i, 0, j] - z[1, i, 0, j], 0.0
    if after == 1:
        flat_z, flat_out = z.reshape(2, before, half), out.reshape(2, before, half + 1)
        for i in range(before):
            for k in range(1, half):
                ar, ai = flat_z[0, i, k], flat_z[1, i, k]
                br, bi = flat_z[0, i, half - k], flat_z[1, i, half - k]
                dr, di = ai + bi, br - ar
                flat_out[0, i, k] = 0.5 * ((ar + br) + (dr * cos[k] + di * sin[k]))
                flat_out[1, i, k] = 0.5 * ((ai - bi) + (di * cos[k] - dr * sin[k]))
    else:
        for i in range(before):
            for k in range(1, half):
                c, s = cos[k], sin[k]
                for j in range(after):
                    ar, ai = z[0, i, k, j], z[1, i, k, j]
                    br, bi = z[0, i, half - k, j], z[1, i, half - k, j]
                    dr, di = ai + bi, br - ar
                    out[0, i, k, j] = 0.5 * ((ar + br) + (dr * c + di * s))
                    out[1, i, k, j] = 0.5 * ((ai - bi) + (di * c - dr * s))


def _joined(y: Any) -> Any:
    """Twice the transform of the pairs, from that of the numbers."""
    _, before, count, after = y.shape
    half = count - 1
    pairs = np.empty((2, before, half, after))
    cos, sin = _half_turns(2 * half)
    for i in range(before):
        for j in range(after):
            pairs[0, i, 0, j] = y[0, i, 0, j] + y[0, i, half, j]
            pairs[1, i, 0, j] = y[0, i, 0, j] - y[0, i, half, j]
    if after == 1:
        flat_y, flat_pairs = y.reshape(2, before, half + 1), pairs.reshape(2, before, half)
        for i in range(before):
            for k in range(1, half):
                ar, ai = flat_y[0, i, k], flat_y[1, i, k]
                br, bi = flat_y[0, i, half - k], flat_y[1, i, half - k]
                dr, di = ar - br, ai + bi
                flat_pairs[0, i, k] = (ar + br) - (dr * sin[k] + di * cos[k])
                flat_pairs[1, i, k] = (ai - bi) + (dr * cos[k] - di * sin[k])
    else:
        for i in range(before):
            for k in range(1, half):
                c, s = cos[k], sin[k]
                for j in range(after):
                    ar, ai = y[0, i, k, j], y[1, i, k, j]
                    br, bi = y[0, i, half - k, j], y[1, i, half - k, j]
                    dr, di = ar - br, ai + bi
                    pairs[0, i, k, j] = (ar + br) - (dr * s + di * c)
                    pairs[1, i, k, j] = (ai - bi) + (dr * c - di * s)
    return pairs


def _half_turns(n: Any) -> Any:
    """The first half of the roots, as products of two."""
    count = n // 2
    cos, sin = np.empty(count), np.empty(count)
    for k in range(min(AT_ONCE, count)):
        cos[k], sin[k] = root(float(k), float(n))
    for start in range(AT_ONCE, count, AT_ONCE):
        c, s = root(float(start), float(n))
        for k in range(min(AT_ONCE, count - start)):
            cos[start + k] = c * cos[k] - s * sin[k]
            sin[start + k] = c * sin[k] + s * cos[k]
    return cos, sin


def _inner(y: Any, n: Any, factor: Any) -> Any:
    """``y`` with those elements multiplied that stand for two elements of the whole transform."""
    out = y.copy()
    out[:, :, 1 : (n + 1) // 2] *= factor
    return out


@reverse_rule(of_real)
def _of_real_reverse(x: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return to_real(_inner(of_result, x.shape[1], 0.5), x.shape[1])

    return of_real(x), pullback


@forward_rule(of_real)
def _of_real_forward(tangents: Any, x: Any) -> Any:
    return of_real(x), of_real(tangents[0].copy())


@reverse_rule(to_real)
def _to_real_reverse(y: Any, n: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return _inner(of_real(of_result.copy()), n, 2.0), None

    return to_real(y, n), pullback


@forward_rule(to_real)
def _to_real_forward(tangents: Any, y: Any, n: Any) -> Any:
    return to_real(y, n), to_real(tangents[0].copy(), n)
