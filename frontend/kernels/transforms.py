"""Discrete Fourier transforms along the middle one of three axes, of any length.

Complex numbers are given and returned as pairs of floats, one behind the other along the last axis.

Columns are transformed side by side, as many as fit into a cache, in Stockham's form without a permutation (Van Loan,
Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7). If there are few long columns, each is
first laid out as a matrix, so that inner loops are long there, too (Bailey, FFTs in external or hierarchical memory,
1990); lengths with a large prime factor use a convolution whose length is a power of two (Bluestein 1970).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule, when_reached
from adc.frontend.kernels.butterflies import by_five, by_four, by_prime, by_three, by_two
from adc.frontend.kernels.columns import kept, taken, turned
from adc.frontend.kernels.fitting import fitted

LARGEST_FACTOR = 50  # a pass by a prime p costs p operations for each number
IN_CACHE = 4096  # numbers that are transformed at a time
SIDE_BY_SIDE = 16  # columns that fill cache lines
ENOUGH = 8  # columns that are enough for the inner loops
SHORT = 16  # lengths that are not split


def transformed(x: Any, count: Any, sign: Any, scale: Any) -> Any:
    """The transforms of complex numbers along the second of three axes, of the first ``count`` of them, followed by
    zeros if there are fewer; times ``scale``. ``sign``: of the exponent. The parts of a number, here and in the result,
    are next to each other along the last axis."""
    return complex_transforms(x, count, sign, scale)


def complex_transforms(x: Any, n: Any, sign: Any, scale: Any) -> Any:
    before, held, after = x.shape[0], min(x.shape[1], n), x.shape[2] // 2
    out = np.empty((before, n, 2 * after))
    largest, passes = _factored(n)
    if largest > LARGEST_FACTOR:
        _by_convolution(x, n, float(sign), float(scale), out)
    else:
        width = _width(n, after)
        rows = 1
        if width == after and min(before, IN_CACHE // 2 // n) * width >= ENOUGH:
            rows = max(1, min(before, IN_CACHE // 2 // max(n * width, 1)))
        plan = _plan(n, rows * width, passes)
        _, _, _, _, _, _, ar, ai, br, bi, _, _ = plan
        for i in range(0, before, rows):
            count = min(rows, before - i)
            for start in range(0, after, max(width, 1)):
                w = min(width, after - start)
                taken(x, i, count, held, start, ar, ai, w)
                _cleared(ar, ai, held * count * w, n * count * w)
                yr, yi = (br, bi) if _run(plan, count * w, float(sign)) else (ar, ai)
                kept(yr, yi, out, i, count, start, w, float(scale))
    return out


def _width(size: Any, after: Any) -> Any:
    """How many of ``after`` columns are transformed side by side."""
    return min(after, max(SIDE_BY_SIDE, IN_CACHE // max(size, 1)))


def _plan(size: Any, columns: Any, passes: Any) -> Any:
    """The roots for transforms of columns of this size, the arrays that passes go between, and how many passes there
    are: ``passes`` if columns are not laid out as matrices."""
    first = 1 if columns >= ENOUGH or size <= SHORT else _balanced(size)
    second = size // first
    of_first, of_second = 0, passes
    if first > 1:
        of_first, of_second = _factored(first)[1], _factored(second)[1]
    turns_c, turns_s = np.empty((first, second)), np.empty((first, second))
    if first > 1:
        _turns(turns_c, turns_s)
    first_c, first_s = _roots(first)
    second_c, second_s = _roots(second)
    ar, ai = np.empty(columns * size), np.empty(columns * size)
    br, bi = np.empty(columns * size), np.empty(columns * size)
    return first_c, first_s, second_c, second_s, turns_c, turns_s, ar, ai, br, bi, of_first, of_second


@when_reached("out")
def _by_convolution(x: Any, n: Any, to: Any, scale: Any, out: Any) -> None:
    before, held, after = x.shape[0], min(x.shape[1], n), x.shape[2] // 2
    size = _convolved(n)
    width = _width(size, after)
    plan = _plan(size, width, _factored(size)[1])
    _, _, _, _, _, _, ar, ai, br, bi, _, _ = plan
    c, s = _chirp(n)
    fr, fi = _chirp_transformed(plan, c, s, width)
    for i in range(before):
        for start in range(0, after, max(width, 1)):
            w = min(width, after - start)
            for k in range(held):
                for j in range(w):
                    r, m = x[i, k, 2 * (start + j)], x[i, k, 2 * (start + j) + 1]
                    ar[k * w + j] = r * c[k] - to * m * s[k]
                    ai[k * w + j] = to * r * s[k] + m * c[k]
            _cleared(ar, ai, held * w, size * w)
            if _run(plan, w, to):
                _product(br, bi, ar, ai, fr, fi, to, size, w)
            else:
                _product(ar, ai, ar, ai, fr, fi, to, size, w)
            if _run(plan, w, -to):
                _unchirped(br, bi, out, i, start, c, s, to, n, w, scale)
            else:
                _unchirped(ar, ai, out, i, start, c, s, to, n, w, scale)


@reverse_rule(transformed)
def _transformed_reverse(x: Any, count: Any, sign: Any, scale: Any) -> Any:
    """The adjoint of a transform is the one with the other sign."""

    def pullback(of_result: Any) -> Any:
        return fitted(transformed(np.ascontiguousarray(of_result), count, -sign, scale), x.shape[1]), None, None, None

    return transformed(x, count, sign, scale), pullback


@forward_rule(transformed)
def _transformed_forward(tangents: Any, x: Any, count: Any, sign: Any, scale: Any) -> Any:
    return transformed(x, count, sign, scale), transformed(np.ascontiguousarray(tangents[0]), count, sign, scale)


def _cleared(xr: Any, xi: Any, start: Any, end: Any) -> None:
    for k in range(start, end):
        xr[k] = 0.0
        xi[k] = 0.0


def _convolved(n: Any) -> Any:
    size = 1
    while size < 2 * n - 1:
        size *= 2
    return size


def _factored(n: Any) -> Any:
    """The largest prime factor, and the number of passes: one for two factors that are 2, or any other."""
    left, largest, passes = n, 1, 0
    p = 2
    while p * p <= left:
        while left % p == 0:
            left //= p
            largest = p
            passes += 1
        if p == 2:
            passes = (passes + 1) // 2
        p += 1
    if left > 1:
        passes += 1
    return max(left, largest), passes


def _balanced(n: Any) -> Any:
    """The largest divisor of ``n`` not above its square root."""
    d = 1
    while (d + 1) * (d + 1) <= n:
        d += 1
    while n % d != 0:
        d -= 1
    return d


def _smallest_factor(n: Any) -> Any:
    if n % 4 == 0:
        return 4
    p = 2
    while p * p <= n:
        if n % p == 0:
            return p
        p += 1
    return n


def root(e: Any, n: Any) -> Any:
    """``exp(2j * pi * e / n)``, from an angle of at most a quarter of pi, so that both parts are exact to the last
    bits."""
    quarter = np.floor(4.0 * e / n + 0.5)
    angle = (np.pi / 2) * ((4.0 * e - quarter * n) / n)
    c, s = np.cos(angle), np.sin(angle)
    odd = quarter == 1.0 or quarter == 3.0
    x, y = (s, c) if odd else (c, s)
    return (-x if quarter == 1.0 or quarter == 2.0 else x), (-y if quarter == 2.0 or quarter == 3.0 else y)


@when_reached("c", "s")
def rooted(c: Any, s: Any, start: Any, count: Any, step: Any, n: Any) -> None:
    """Put the powers 0, ``step``, 2 ``step``, ... of a root of order ``n`` into flat arrays, from ``start`` on. Tables
    of roots begin here (``_chirp`` has squares), so that sines and cosines of many numbers are compiled once."""
    for k in range(count):
        c[start + k], s[start + k] = root(float(k * step), float(n))


def _roots(n: Any) -> Any:
    c, s = np.empty(n), np.empty(n)
    rooted(c, s, 0, n, 1, n)
    return c, s


@when_reached("c", "s")
def _turns(c: Any, s: Any) -> None:
    """The powers ``i * j`` of a root of order ``n * m``, i below n, j below m: rows are products of two."""
    n, m = c.shape
    step = 1
    while step * step < n:
        step += 1
    flat_c, flat_s = c.reshape(n * m), s.reshape(n * m)
    for i in range(min(step, n)):
        rooted(flat_c, flat_s, i * m, m, i, n * m)
    for i in range(step, n, step):
        rooted(flat_c, flat_s, i * m, m, i, n * m)
        for k in range(1, min(step, n - i)):
            for j in range(m):
                c[i + k, j] = c[i, j] * c[k, j] - s[i, j] * s[k, j]
                s[i + k, j] = c[i, j] * s[k, j] + s[i, j] * c[k, j]


def _chirp(n: Any) -> Any:
    c, s = np.empty(n), np.empty(n)
    for k in range(n):
        c[k], s[k] = root(float(k * k % (2 * n)), float(2 * n))
    return c, s


def _chirp_transformed(plan: Any, c: Any, s: Any, width: Any) -> Any:
    """The factor of the convolution: the last term of ``jk = (j^2 + k^2 - (j - k)^2) / 2``, transformed and scaled."""
    _, _, _, _, _, _, ar, ai, br, bi, _, _ = plan
    n, size = len(c), len(ar) // max(width, 1)
    fr, fi = np.empty(size), np.empty(size)
    if width > 0:
        ar[:] = 0.0
        ai[:] = 0.0
        for k in range(n):
            ar[k], ai[k] = c[k], -s[k]
            if k > 0:
                ar[size - k], ai[size - k] = c[k], -s[k]
        if _run(plan, 1, 1.0):
            ar[:size] = br[:size]
            ai[:size] = bi[:size]
        for k in range(size):
            fr[k], fi[k] = ar[k] / size, ai[k] / size
    return fr, fi


def _product(xr: Any, xi: Any, yr: Any, yi: Any, fr: Any, fi: Any, sign: Any, size: Any, w: Any) -> None:
    for k in range(size):
        c, s = fr[k], sign * fi[k]
        for j in range(k * w, k * w + w):
            r, i = xr[j], xi[j]
            yr[j] = r * c - i * s
            yi[j] = r * s + i * c


def _unchirped(
    xr: Any, xi: Any, out: Any, i: Any, start: Any, cos: Any, sin: Any, sign: Any, n: Any, w: Any, scale: Any
) -> None:
    for k in range(n):
        c, s = cos[k], sign * sin[k]
        for j in range(w):
            r, m = xr[k * w + j], xi[k * w + j]
            out[i, k, 2 * (start + j)] = scale * (r * c - m * s)
            out[i, k, 2 * (start + j) + 1] = scale * (r * s + m * c)


def _run(plan: Any, w: Any, sign: Any) -> Any:
    """Transform the ``w`` columns in the first pair of arrays; returns whether the result is in the second pair."""
    first_c, first_s, second_c, second_s, turns_c, turns_s, ar, ai, br, bi, of_first, of_second = plan
    first, second = turns_c.shape
    there = of_second % 2 == 1
    if first == 1:
        _passes(second_c, second_s, w, sign, ar, ai, br, bi)
    else:
        _passes(first_c, first_s, second * w, sign, ar, ai, br, bi)
        if of_first % 2 == 1:
            turned(br, bi, ar, ai, turns_c, turns_s, w, sign)
            _passes(second_c, second_s, first * w, sign, ar, ai, br, bi)
        else:
            turned(ar, ai, br, bi, turns_c, turns_s, w, sign)
            _passes(second_c, second_s, first * w, sign, br, bi, ar, ai)
            there = not there
    return there


@when_reached("ar", "ai", "br", "bi")
def _passes(cos: Any, sin: Any, columns: Any, sign: Any, ar: Any, ai: Any, br: Any, bi: Any) -> None:
    """The transforms of the columns by one factor of the length after the other, from one pair of arrays to the other
    and back."""
    n = len(cos)
    left = n
    xr, xi, yr, yi = ar, ai, br, bi
    while left > 1:
        p = _smallest_factor(left)
        _pass(p, xr, xi, yr, yi, cos, sin, n // left, sign, left // p, (n // left) * columns)
        xr, xi, yr, yi = yr, yi, xr, xi
        left //= p


def _pass(
    p: Any, xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, step: Any, sign: Any, m: Any, s: Any
) -> None:
    if p == 4:
        by_four(xr, xi, yr, yi, cos, sin, step, sign, m, s)
    elif p == 2:
        by_two(xr, xi, yr, yi, cos, sin, step, sign, m, s)
    elif p == 3:
        by_three(xr, xi, yr, yi, cos, sin, step, sign, m, s)
    elif p == 5:
        by_five(xr, xi, yr, yi, cos, sin, step, sign, m, s)
    else:
        by_prime(xr, xi, yr, yi, cos, sin, step, sign, p, m, s)
