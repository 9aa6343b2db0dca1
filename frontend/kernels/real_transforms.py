"""Discrete Fourier transforms of real numbers, and back, along the middle one of three axes: one of half the length.

Complex numbers are pairs, as in ``transforms``. An even number of real numbers is treated as complex numbers, pair by
pair; the transform follows from that of the pairs (Cooley, Lewis and Welch, The fast Fourier transform algorithm, J.
Sound Vib. 12, 1970).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule, when_reached
from adc.frontend.kernels.fitting import fitted
from adc.frontend.kernels.transforms import rooted, transformed

AT_ONCE = 128  # roots that are computed directly; the others are products


def of_real(x: Any, n: Any, count: Any, sign: Any, scale: Any, inner: Any) -> Any:
    """The first half of the transforms of ``n`` numbers along the second of three axes, from 0 to ``n // 2``, times
    ``scale``; the rest are the conjugates. Numbers that stand for two of the whole transform, not one, are also times
    ``inner``. If ``x`` has fewer numbers, zeros follow them; of the result these are the first ``count``, or zeros
    follow them. ``sign``: of the exponent."""
    before, after, half = x.shape[0], x.shape[2], n // 2
    out = np.empty((before, half + 1, 2 * after))
    if n % 2 == 0:
        if after == 1 and x.shape[1] == n:
            pairs = x.reshape(before, half, 2 * after)
        else:
            pairs = np.empty((before, half, 2 * after))
            _paired(x, pairs)
        z = transformed(pairs, half, half, -1, 1.0)
        cos, sin = _half_turns(2 * half)
        if after == 1:
            _lines_separated(z, cos, sin, out, float(sign), float(scale), float(inner))
        else:
            _columns_separated(z, cos, sin, out, float(sign), float(scale), float(inner))
    else:
        _of_odd(x, n, float(sign), float(scale), float(inner), out)
    return fitted(out, count)


@when_reached("pairs")
def _paired(x: Any, pairs: Any) -> None:
    n = 2 * pairs.shape[1]
    held = min(x.shape[1], n)
    for i in range(x.shape[0]):
        for k in range(held):
            for j in range(x.shape[2]):
                pairs[i, k // 2, 2 * j + k % 2] = x[i, k, j]
        for k in range(held, n):
            for j in range(x.shape[2]):
                pairs[i, k // 2, 2 * j + k % 2] = 0.0


@when_reached("out")
def _of_odd(x: Any, n: Any, sign: Any, scale: Any, inner: Any, out: Any) -> None:
    before, held, after = x.shape[0], min(x.shape[1], n), x.shape[2]
    given = np.zeros((before, held, 2 * after))
    for i in range(before):
        for k in range(held):
            for j in range(after):
                given[i, k, 2 * j] = x[i, k, j]
    z = transformed(given, n, n // 2 + 1, int(sign), scale)
    for i in range(before):
        for j in range(2 * after):
            out[i, 0, j] = z[i, 0, j]
        for k in range(1, n // 2 + 1):
            for j in range(2 * after):
                out[i, k, j] = inner * z[i, k, j]


def to_real(y: Any, n: Any, count: Any, sign: Any, scale: Any, inner: Any) -> Any:
    """The ``n`` real numbers whose transform begins with ``y``, times ``n * scale``; those of ``y`` that stand for two
    of the whole transform are times ``inner``. The imaginary parts that are zero in such a transform are ignored; ``y``
    is cut, or zeros follow it, and so is the result, to ``count`` numbers. ``sign``: of the exponent."""
    before, half, after = y.shape[0], n // 2, y.shape[2] // 2
    if n % 2 == 0:
        given = fitted(y, half + 1)
        pairs = np.empty((before, half, 2 * after))
        cos, sin = _half_turns(2 * half)
        if after == 1:
            _lines_joined(given, cos, sin, pairs, float(sign), float(inner))
        else:
            _columns_joined(given, cos, sin, pairs, float(sign), float(inner))
        z = transformed(pairs, half, half, 1, scale)
        if after == 1:
            out = z.reshape(before, n, after)
        else:
            out = np.empty((before, n, after))
            _unpaired(z, out)
    else:
        out = np.empty((before, n, after))
        _to_odd(y, float(sign), float(scale), float(inner), out)
    return fitted(out, count)


@when_reached("out")
def _unpaired(z: Any, out: Any) -> None:
    for i in range(z.shape[0]):
        for k in range(z.shape[1]):
            for j in range(out.shape[2]):
                out[i, 2 * k, j] = z[i, k, 2 * j]
                out[i, 2 * k + 1, j] = z[i, k, 2 * j + 1]


@when_reached("out")
def _to_odd(y: Any, sign: Any, scale: Any, inner: Any, out: Any) -> None:
    before, n, after = out.shape
    whole = np.zeros((before, n, 2 * after))
    for i in range(before):
        for j in range(after):
            whole[i, 0, 2 * j] = y[i, 0, 2 * j]
        for k in range(1, min(y.shape[1], n // 2 + 1)):
            for j in range(after):
                r, m = inner * y[i, k, 2 * j], inner * y[i, k, 2 * j + 1]
                whole[i, k, 2 * j], whole[i, k, 2 * j + 1] = r, m
                whole[i, n - k, 2 * j], whole[i, n - k, 2 * j + 1] = r, -m
    z = transformed(whole, n, n, int(sign), scale)
    for i in range(before):
        for k in range(n):
            for j in range(after):
                out[i, k, j] = z[i, k, 2 * j]


@when_reached("out")
def _lines_separated(z: Any, cos: Any, sin: Any, out: Any, sign: Any, scale: Any, inner: Any) -> None:
    """The transform of the numbers from that of the pairs."""
    before, half = z.shape[0], z.shape[1]
    real, turned = scale * inner, -scale * inner * sign
    flat_z, flat_out = z.reshape(before, 2 * half), out.reshape(before, 2 * half + 2)
    for i in range(before):
        flat_out[i, 0], flat_out[i, 1] = scale * (flat_z[i, 0] + flat_z[i, 1]), 0.0
        flat_out[i, 2 * half], flat_out[i, 2 * half + 1] = scale * (flat_z[i, 0] - flat_z[i, 1]), 0.0
        for k in range(1, half):
            ar, ai = flat_z[i, 2 * k], flat_z[i, 2 * k + 1]
            br, bi = flat_z[i, 2 * (half - k)], flat_z[i, 2 * (half - k) + 1]
            dr, di = ai + bi, br - ar
            flat_out[i, 2 * k] = real * (0.5 * ((ar + br) + (dr * cos[k] + di * sin[k])))
            flat_out[i, 2 * k + 1] = turned * (0.5 * ((ai - bi) + (di * cos[k] - dr * sin[k])))


@when_reached("out")
def _columns_separated(z: Any, cos: Any, sin: Any, out: Any, sign: Any, scale: Any, inner: Any) -> None:
    before, half, after = z.shape[0], z.shape[1], z.shape[2] // 2
    real, turned = scale * inner, -scale * inner * sign
    for i in range(before):
        for j in range(after):
            ar, ai = z[i, 0, 2 * j], z[i, 0, 2 * j + 1]
            out[i, 0, 2 * j], out[i, 0, 2 * j + 1] = scale * (ar + ai), 0.0
            out[i, half, 2 * j], out[i, half, 2 * j + 1] = scale * (ar - ai), 0.0
        for k in range(1, half):
            c, s = cos[k], sin[k]
            for j in range(after):
                ar, ai = z[i, k, 2 * j], z[i, k, 2 * j + 1]
                br, bi = z[i, half - k, 2 * j], z[i, half - k, 2 * j + 1]
                dr, di = ai + bi, br - ar
                out[i, k, 2 * j] = real * (0.5 * ((ar + br) + (dr * c + di * s)))
                out[i, k, 2 * j + 1] = turned * (0.5 * ((ai - bi) + (di * c - dr * s)))


@when_reached("pairs")
def _lines_joined(y: Any, cos: Any, sin: Any, pairs: Any, sign: Any, inner: Any) -> None:
    """Twice the transform of the pairs, from that of the numbers."""
    before, half = pairs.shape[0], pairs.shape[1]
    flat_y, flat_pairs = y.reshape(before, 2 * half + 2), pairs.reshape(before, 2 * half)
    for i in range(before):
        flat_pairs[i, 0] = flat_y[i, 0] + flat_y[i, 2 * half]
        flat_pairs[i, 1] = flat_y[i, 0] - flat_y[i, 2 * half]
        for k in range(1, half):
            ar, ai = flat_y[i, 2 * k], sign * flat_y[i, 2 * k + 1]
            br, bi = flat_y[i, 2 * (half - k)], sign * flat_y[i, 2 * (half - k) + 1]
            dr, di = ar - br, ai + bi
            flat_pairs[i, 2 * k] = inner * ((ar + br) - (dr * sin[k] + di * cos[k]))
            flat_pairs[i, 2 * k + 1] = inner * ((ai - bi) + (dr * cos[k] - di * sin[k]))


@when_reached("pairs")
def _columns_joined(y: Any, cos: Any, sin: Any, pairs: Any, sign: Any, inner: Any) -> None:
    before, half, after = pairs.shape[0], pairs.shape[1], pairs.shape[2] // 2
    for i in range(before):
        for j in range(after):
            pairs[i, 0, 2 * j] = y[i, 0, 2 * j] + y[i, half, 2 * j]
            pairs[i, 0, 2 * j + 1] = y[i, 0, 2 * j] - y[i, half, 2 * j]
        for k in range(1, half):
            c, s = cos[k], sin[k]
            for j in range(after):
                ar, ai = y[i, k, 2 * j], sign * y[i, k, 2 * j + 1]
                br, bi = y[i, half - k, 2 * j], sign * y[i, half - k, 2 * j + 1]
                dr, di = ar - br, ai + bi
                pairs[i, k, 2 * j] = inner * ((ar + br) - (dr * s + di * c))
                pairs[i, k, 2 * j + 1] = inner * ((ai - bi) + (dr * c - di * s))


def _half_turns(n: Any) -> Any:
    """The first half of the roots, as products of two."""
    count = n // 2
    cos, sin = np.empty(count), np.empty(count)
    rooted(cos, sin, 0, min(AT_ONCE, count), 1, n)
    if count > AT_ONCE:
        _more_turns(n, cos, sin)
    return cos, sin


@when_reached("cos", "sin")
def _more_turns(n: Any, cos: Any, sin: Any) -> None:
    count = len(cos)
    blocks = (count + AT_ONCE - 1) // AT_ONCE
    first_c, first_s = np.empty(blocks), np.empty(blocks)
    rooted(first_c, first_s, 0, blocks, AT_ONCE, n)
    for block in range(1, blocks):
        start, c, s = block * AT_ONCE, first_c[block], first_s[block]
        for k in range(min(AT_ONCE, count - start)):
            cos[start + k] = c * cos[k] - s * sin[k]
            sin[start + k] = c * sin[k] + s * cos[k]


def mirrored(first: Any, n: Any) -> Any:
    """All ``n`` numbers of the transform of real ones, from the first half."""
    before, count, after = first.shape[0], first.shape[1], first.shape[2] // 2
    out = np.empty((before, n, 2 * after))
    lines_out, lines = out.reshape(before, n * 2 * after), first.reshape(before, count * 2 * after)
    for i in range(before):
        for k in range(count * 2 * after):
            lines_out[i, k] = lines[i, k]
        for k in range(count, n):
            for j in range(after):
                out[i, k, 2 * j] = first[i, n - k, 2 * j]
                out[i, k, 2 * j + 1] = -first[i, n - k, 2 * j + 1]
    return out


def folded(y: Any) -> Any:
    """The adjoint of ``mirrored``: numbers and conjugates of the second half are added up."""
    before, n, after = y.shape[0], y.shape[1], y.shape[2] // 2
    out = np.empty((before, n // 2 + 1, 2 * after))
    for i in range(before):
        for k in range(n // 2 + 1):
            other, factor = (n - k, 1.0) if k > 0 and 2 * k < n else (k, 0.0)
            for j in range(after):
                out[i, k, 2 * j] = y[i, k, 2 * j] + factor * y[i, other, 2 * j]
                out[i, k, 2 * j + 1] = y[i, k, 2 * j + 1] - factor * y[i, other, 2 * j + 1]
    return out


@reverse_rule(of_real)
def _of_real_reverse(x: Any, n: Any, count: Any, sign: Any, scale: Any, inner: Any) -> Any:
    """The adjoint of ``to_real`` is ``of_real``, and the other way round, with other factors, and the other sign."""

    def pullback(of_result: Any) -> Any:
        back = to_real(np.ascontiguousarray(of_result), n, x.shape[1], -sign, scale, 0.5 * inner)
        return back, None, None, None, None, None

    return of_real(x, n, count, sign, scale, inner), pullback


@forward_rule(of_real)
def _of_real_forward(tangents: Any, x: Any, n: Any, count: Any, sign: Any, scale: Any, inner: Any) -> Any:
    tangent = of_real(np.ascontiguousarray(tangents[0]), n, count, sign, scale, inner)
    return of_real(x, n, count, sign, scale, inner), tangent


@reverse_rule(to_real)
def _to_real_reverse(y: Any, n: Any, count: Any, sign: Any, scale: Any, inner: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        back = of_real(np.ascontiguousarray(of_result), n, y.shape[1], -sign, scale, 2.0 * inner)
        return back, None, None, None, None, None

    return to_real(y, n, count, sign, scale, inner), pullback


@forward_rule(to_real)
def _to_real_forward(tangents: Any, y: Any, n: Any, count: Any, sign: Any, scale: Any, inner: Any) -> Any:
    tangent = to_real(np.ascontiguousarray(tangents[0]), n, count, sign, scale, inner)
    return to_real(y, n, count, sign, scale, inner), tangent


@reverse_rule(mirrored)
def _mirrored_reverse(first: Any, n: Any) -> Any:
    return mirrored(first, n), lambda of_result: (folded(np.ascontiguousarray(of_result)), None)


@forward_rule(mirrored)
def _mirrored_forward(tangents: Any, first: Any, n: Any) -> Any:
    return mirrored(first, n), mirrored(np.ascontiguousarray(tangents[0]), n)


@reverse_rule(folded)
def _folded_reverse(y: Any) -> Any:
    return folded(y), lambda of_result: (mirrored(np.ascontiguousarray(of_result), y.shape[1]),)


@forward_rule(folded)
def _folded_forward(tangents: Any, y: Any) -> Any:
    return folded(y), folded(np.ascontiguousarray(tangents[0]))
