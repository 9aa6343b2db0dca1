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


def of_real(x: Any, n: Any, sign: Any, scale: Any) -> Any:
    """The first half of the transforms of ``n`` numbers along the second of three axes, from 0 to ``n // 2``, times
    ``scale``; the rest are the conjugates. There are zeros after the numbers if there are fewer. ``sign``: of the
    exponent."""
    before, held, after = x.shape[0], min(x.shape[1], n), x.shape[2]
    half = n // 2
    out = np.empty((before, half + 1, 2 * after))
    turned = -scale * sign
    if n % 2 == 0:
        if after == 1 and x.shape[1] == n:
            pairs = x.reshape(before, half, 2 * after)
        else:
            pairs = np.empty((before, half, 2 * after)) if held == n else np.zeros((before, half, 2 * after))
            _paired(x, held, pairs)
        _separated(transformed(pairs, half, -1, 1.0), out, float(scale), float(turned))
    else:
        _of_odd(x, n, float(sign), float(scale), out)
    return out


@when_reached("pairs")
def _paired(x: Any, held: Any, pairs: Any) -> None:
    for i in range(x.shape[0]):
        for k in range(held):
            for j in range(x.shape[2]):
                pairs[i, k // 2, 2 * j + k % 2] = x[i, k, j]


@when_reached("out")
def _of_odd(x: Any, n: Any, sign: Any, scale: Any, out: Any) -> None:
    before, held, after = x.shape[0], min(x.shape[1], n), x.shape[2]
    given = np.zeros((before, held, 2 * after))
    for i in range(before):
        for k in range(held):
            for j in range(after):
                given[i, k, 2 * j] = x[i, k, j]
    out[:] = transformed(given, n, int(sign), scale)[:, : n // 2 + 1]


def whole_of_real(x: Any, n: Any, sign: Any, scale: Any) -> Any:
    """As ``of_real``, with all ``n`` numbers of the transform."""
    first = of_real(x, n, sign, scale)
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


def to_real(y: Any, n: Any, scale: Any) -> Any:
    """The ``n`` real numbers whose transform begins with ``y``, times ``n * scale``. The imaginary parts that are zero
    in such a transform are ignored; ``y`` is cut, or zeros follow it."""
    before, half, after = y.shape[0], n // 2, y.shape[2] // 2
    if n % 2 == 0:
        z = transformed(_joined(fitted(y, half + 1)), half, 1, scale)
        if after == 1:
            out = z.reshape(before, n, after)
        else:
            out = np.empty((before, n, after))
            _unpaired(z, out)
    else:
        out = np.empty((before, n, after))
        _to_odd(y, float(scale), out)
    return out


@when_reached("out")
def _unpaired(z: Any, out: Any) -> None:
    for i in range(z.shape[0]):
        for k in range(z.shape[1]):
            for j in range(out.shape[2]):
                out[i, 2 * k, j] = z[i, k, 2 * j]
                out[i, 2 * k + 1, j] = z[i, k, 2 * j + 1]


@when_reached("out")
def _to_odd(y: Any, scale: Any, out: Any) -> None:
    before, n, after = out.shape
    whole = np.zeros((before, n, 2 * after))
    for i in range(before):
        for j in range(after):
            whole[i, 0, 2 * j] = y[i, 0, 2 * j]
        for k in range(1, min(y.shape[1], n // 2 + 1)):
            for j in range(after):
                r, m = y[i, k, 2 * j], y[i, k, 2 * j + 1]
                whole[i, k, 2 * j], whole[i, k, 2 * j + 1] = r, m
                whole[i, n - k, 2 * j], whole[i, n - k, 2 * j + 1] = r, -m
    z = transformed(whole, n, 1, scale)
    for i in range(before):
        for k in range(n):
            for j in range(after):
                out[i, k, j] = z[i, k, 2 * j]


def _separated(z: Any, out: Any, scale: Any, turned: Any) -> None:
    """The transform of the numbers from that of the pairs: real parts times ``scale``, imaginary ones times
    ``turned``."""
    before, half, after = z.shape[0], z.shape[1], z.shape[2] // 2
    cos, sin = _half_turns(2 * half)
    for i in range(before):
        for j in range(0, 2 * after, 2):
            out[i, 0, j], out[i, 0, j + 1] = scale * (z[i, 0, j] + z[i, 0, j + 1]), 0.0
            out[i, half, j], out[i, half, j + 1] = scale * (z[i, 0, j] - z[i, 0, j + 1]), 0.0
    if after == 1:
        _lines_separated(z, cos, sin, out, scale, turned)
    else:
        _columns_separated(z, cos, sin, out, scale, turned)


@when_reached("out")
def _lines_separated(z: Any, cos: Any, sin: Any, out: Any, scale: Any, turned: Any) -> None:
    before, half = z.shape[0], z.shape[1]
    flat_z, flat_out = z.reshape(before, 2 * half), out.reshape(before, 2 * half + 2)
    for i in range(before):
        for k in range(1, half):
            ar, ai = flat_z[i, 2 * k], flat_z[i, 2 * k + 1]
            br, bi = flat_z[i, 2 * (half - k)], flat_z[i, 2 * (half - k) + 1]
            dr, di = ai + bi, br - ar
            flat_out[i, 2 * k] = scale * (0.5 * ((ar + br) + (dr * cos[k] + di * sin[k])))
            flat_out[i, 2 * k + 1] = turned * (0.5 * ((ai - bi) + (di * cos[k] - dr * sin[k])))


@when_reached("out")
def _columns_separated(z: Any, cos: Any, sin: Any, out: Any, scale: Any, turned: Any) -> None:
    before, half, after = z.shape[0], z.shape[1], z.shape[2] // 2
    for i in range(before):
        for k in range(1, half):
            c, s = cos[k], sin[k]
            for j in range(after):
                ar, ai = z[i, k, 2 * j], z[i, k, 2 * j + 1]
                br, bi = z[i, half - k, 2 * j], z[i, half - k, 2 * j + 1]
                dr, di = ai + bi, br - ar
                out[i, k, 2 * j] = scale * (0.5 * ((ar + br) + (dr * c + di * s)))
                out[i, k, 2 * j + 1] = turned * (0.5 * ((ai - bi) + (di * c - dr * s)))


def _joined(y: Any) -> Any:
    """Twice the transform of the pairs, from that of the numbers."""
    before, half, after = y.shape[0], y.shape[1] - 1, y.shape[2] // 2
    pairs = np.empty((before, half, 2 * after))
    cos, sin = _half_turns(2 * half)
    for i in range(before):
        for j in range(0, 2 * after, 2):
            pairs[i, 0, j] = y[i, 0, j] + y[i, half, j]
            pairs[i, 0, j + 1] = y[i, 0, j] - y[i, half, j]
    if after == 1:
        _lines_joined(y, cos, sin, pairs)
    else:
        _columns_joined(y, cos, sin, pairs)
    return pairs


@when_reached("pairs")
def _lines_joined(y: Any, cos: Any, sin: Any, pairs: Any) -> None:
    before, half = pairs.shape[0], pairs.shape[1]
    flat_y, flat_pairs = y.reshape(before, 2 * half + 2), pairs.reshape(before, 2 * half)
    for i in range(before):
        for k in range(1, half):
            ar, ai = flat_y[i, 2 * k], flat_y[i, 2 * k + 1]
            br, bi = flat_y[i, 2 * (half - k)], flat_y[i, 2 * (half - k) + 1]
            dr, di = ar - br, ai + bi
            flat_pairs[i, 2 * k] = (ar + br) - (dr * sin[k] + di * cos[k])
            flat_pairs[i, 2 * k + 1] = (ai - bi) + (dr * cos[k] - di * sin[k])


@when_reached("pairs")
def _columns_joined(y: Any, cos: Any, sin: Any, pairs: Any) -> None:
    before, half, after = pairs.shape[0], pairs.shape[1], pairs.shape[2] // 2
    for i in range(before):
        for k in range(1, half):
            c, s = cos[k], sin[k]
            for j in range(after):
                ar, ai = y[i, k, 2 * j], y[i, k, 2 * j + 1]
                br, bi = y[i, half - k, 2 * j], y[i, half - k, 2 * j + 1]
                dr, di = ar - br, ai + bi
                pairs[i, k, 2 * j] = (ar + br) - (dr * s + di * c)
                pairs[i, k, 2 * j + 1] = (ai - bi) + (dr * c - di * s)


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


def _inner(y: Any, n: Any, sign: Any, factor: Any) -> Any:
    """``y``, or its conjugate, with those elements multiplied that stand for two elements of the whole transform.
    ``sign``: of the exponent, which is positive for the conjugate."""
    before, count, after = y.shape[0], y.shape[1], y.shape[2] // 2
    out = np.empty((before, count, 2 * after))
    flat_y, flat_out = y.reshape(before, count * 2 * after), out.reshape(before, count * 2 * after)
    end, turned = (n + 1) // 2 * after, -1.0 if sign > 0 else 1.0
    for i in range(before):
        for k in range(count * after):
            f = factor if after <= k and k < end else 1.0
            flat_out[i, 2 * k] = f * flat_y[i, 2 * k]
            flat_out[i, 2 * k + 1] = turned * f * flat_y[i, 2 * k + 1]
    return out


def _halves(y: Any, n: Any) -> Any:
    """The first half of the part of ``y`` that is the transform of real numbers."""
    before, count, after = y.shape[0], n // 2 + 1, y.shape[2] // 2
    out = np.empty((before, count, 2 * after))
    for i in range(before):
        for k in range(count):
            other = n - k if k > 0 else 0
            for j in range(after):
                out[i, k, 2 * j] = 0.5 * (y[i, k, 2 * j] + y[i, other, 2 * j])
                out[i, k, 2 * j + 1] = 0.5 * (y[i, k, 2 * j + 1] - y[i, other, 2 * j + 1])
    return out


def from_first(y: Any, n: Any, sign: Any, scale: Any, count: Any) -> Any:
    """The adjoint of ``of_real`` of ``count`` numbers."""
    return fitted(to_real(_inner(y, n, sign, 0.5), n, scale), count)


def from_whole(y: Any, n: Any, sign: Any, scale: Any, count: Any) -> Any:
    """The adjoint of ``whole_of_real`` of ``count`` numbers."""
    return fitted(to_real(_inner(_halves(y, n), n, sign, 1.0), n, scale), count)


def from_numbers(x: Any, n: Any, scale: Any, count: Any) -> Any:
    """The adjoint of ``to_real`` of ``count`` numbers."""
    return fitted(_inner(of_real(x, n, -1, scale), n, -1, 2.0), count)


@reverse_rule(of_real)
def _of_real_reverse(x: Any, n: Any, sign: Any, scale: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return from_first(np.ascontiguousarray(of_result), n, sign, scale, x.shape[1]), None, None, None

    return of_real(x, n, sign, scale), pullback


@forward_rule(of_real)
def _of_real_forward(tangents: Any, x: Any, n: Any, sign: Any, scale: Any) -> Any:
    return of_real(x, n, sign, scale), of_real(np.ascontiguousarray(tangents[0]), n, sign, scale)


@reverse_rule(from_first)
def _from_first_reverse(y: Any, n: Any, sign: Any, scale: Any, count: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return of_real(np.ascontiguousarray(of_result), n, sign, scale), None, None, None, None

    return from_first(y, n, sign, scale, count), pullback


@forward_rule(from_first)
def _from_first_forward(tangents: Any, y: Any, n: Any, sign: Any, scale: Any, count: Any) -> Any:
    tangent = from_first(np.ascontiguousarray(tangents[0]), n, sign, scale, count)
    return from_first(y, n, sign, scale, count), tangent


@reverse_rule(whole_of_real)
def _whole_of_real_reverse(x: Any, n: Any, sign: Any, scale: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return from_whole(np.ascontiguousarray(of_result), n, sign, scale, x.shape[1]), None, None, None

    return whole_of_real(x, n, sign, scale), pullback


@forward_rule(whole_of_real)
def _whole_of_real_forward(tangents: Any, x: Any, n: Any, sign: Any, scale: Any) -> Any:
    return whole_of_real(x, n, sign, scale), whole_of_real(np.ascontiguousarray(tangents[0]), n, sign, scale)


@reverse_rule(from_whole)
def _from_whole_reverse(y: Any, n: Any, sign: Any, scale: Any, count: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return whole_of_real(np.ascontiguousarray(of_result), n, sign, scale), None, None, None, None

    return from_whole(y, n, sign, scale, count), pullback


@forward_rule(from_whole)
def _from_whole_forward(tangents: Any, y: Any, n: Any, sign: Any, scale: Any, count: Any) -> Any:
    tangent = from_whole(np.ascontiguousarray(tangents[0]), n, sign, scale, count)
    return from_whole(y, n, sign, scale, count), tangent


@reverse_rule(to_real)
def _to_real_reverse(y: Any, n: Any, scale: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return from_numbers(np.ascontiguousarray(of_result), n, scale, y.shape[1]), None, None

    return to_real(y, n, scale), pullback


@forward_rule(to_real)
def _to_real_forward(tangents: Any, y: Any, n: Any, scale: Any) -> Any:
    return to_real(y, n, scale), to_real(np.ascontiguousarray(tangents[0]), n, scale)


@reverse_rule(from_numbers)
def _from_numbers_reverse(x: Any, n: Any, scale: Any, count: Any) -> Any:
    def pullback(of_result: Any) -> Any:
        return to_real(np.ascontiguousarray(of_result), n, scale), None, None, None

    return from_numbers(x, n, scale, count), pullback


@forward_rule(from_numbers)
def _from_numbers_forward(tangents: Any, x: Any, n: Any, scale: Any, count: Any) -> Any:
    return from_numbers(x, n, scale, count), from_numbers(np.ascontiguousarray(tangents[0]), n, scale, count)
