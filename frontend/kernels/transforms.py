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


def transformed(x: Any, n: Any, count: Any, sign: Any, scale: Any) -> Any:
    """The transforms of ``n`` complex numbers along the second of three axes, times ``scale``. ``sign``: of the
    exponent. The parts of a number, here and in the result, are next to each other along the last axis. If ``x`` has
    fewer numbers, zeros follow them; of the result these are the first ``count``, or zeros follow them."""
    before, held, after = x.shape[0], min(x.shape[1], n), x.shape[2] // 2
    out = np.empty((before, n, 2 * after))
    if _largest_factor(n) > LARGEST_FACTOR:
        _by_convolution(x, n, float(sign), float(scale), out)
    else:
        width = _width(n, after)
        rows = 1
        if width == after and min(before, IN_CACHE // 2 // n) * width >= ENOUGH:
            rows = max(1, min(before, IN_CACHE // 2 // max(n * width, 1)))
        plan = _plan(n, rows * width)
        _, _, _, _, _, _, ar, ai, br, bi, ended = plan
        for i in range(0, before, rows):
            together = min(rows, before - i)
            for start in range(0, after, max(width, 1)):
                w = min(width, after - start)
                taken(x, i, together, held, start, ar, ai, w)
                if held < n:
                    _cleared(ar, ai, held * together * w, n * together * w)
                _run(plan, together * w, float(sign))
                yr, yi = (br, bi) if ended[0] == 1 else (ar, ai)
                kept(yr, yi, out, i, together, start, w, float(scale))
    return fitted(out, count)


def _width(size: Any, after: Any) -> Any:
    """How many of ``after`` columns are transformed side by side."""
    return min(after, max(SIDE_BY_SIDE, IN_CACHE // max(size, 1)))


def _plan(size: Any, columns: Any) -> Any:
    """The roots for transforms of columns of this size, the arrays that passes go between, and a place for whether the
    result is in the second pair of these."""
    first = 1 if columns >= ENOUGH or size <= SHORT else _balanced(size)
    second = size // first
    first_c, first_s = np.empty(first), np.empty(first)
    turned_over = second if first > 1 else 0
    turns_c, turns_s = np.empty((first, turned_over)), np.empty((first, turned_over))
    if first > 1:
        _turns(first_c, first_s, turns_c, turns_s)
    second_c, second_s = np.empty(second), np.empty(second)
    rooted(second_c, second_s, 0, second, 1, second)
    ar, ai = np.empty(columns * size), np.empty(columns * size)
    br, bi = np.empty(columns * size), np.empty(columns * size)
    return first_c, first_s, second_c, second_s, turns_c, turns_s, ar, ai, br, bi, np.empty(1, np.int64)


@when_reached("out")
def _by_convolution(x: Any, n: Any, to: Any, scale: Any, out: Any) -> None:
    before, held, after = x.shape[0], min(x.shape[1], n), x.shape[2] // 2
    size = _convolved(n)
    width = _width(size, after)
    plan = _plan(size, width)
    _, _, _, _, _, _, ar, ai, br, bi, ended = plan
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
            _run(plan, w, to)
            if ended[0] == 1:
                _product(br, bi, ar, ai, fr, fi, to, size, w)
            else:
                _product(ar, ai, ar, ai, fr, fi, to, size, w)
            _run(plan, w, -to)
            if ended[0] == 1:
                _unchirped(br, bi, out, i, start, c, s, to, n, w, scale)
            else:
                _unchirped(ar, ai, out, i, start, c, s, to, n, w, scale)


@reverse_rule(transformed)
def _transformed_reverse(x: Any, n: Any, count: Any, sign: Any, scale: Any) -> Any:
    """The adjoint of a transform is the one with the other sign."""

    def pullback(of_result: Any) -> Any:
        back = transformed(np.ascontiguousarray(of_result), n, x.shape[1], -sign, scale)
        return back, None, None, None, None

    return transformed(x, n, count, sign, scale), pullback


@forward_rule(transformed)
def _transformed_forward(tangents: Any, x: Any, n: Any, count: Any, sign: Any, scale: Any) -> Any:
    return transformed(x, n, count, sign, scale), transformed(np.ascontiguousarray(tangents[0]), n, count, sign, scale)


@when_reached("xr", "xi")
def _cleared(xr: Any, xi: Any, start: Any, end: Any) -> None:
    for k in range(start, end):
        xr[k] = 0.0
        xi[k] = 0.0


def _convolved(n: Any) -> Any:
    size = 1
    while size < 2 * n - 1:
        size *= 2
    return size


def _largest_factor(n: Any) -> Any:
    """The largest prime factor."""
    left = n
    p = 2
    while p * p <= left:
        if left % p == 0:
            left //= p
        else:
            p += 1
    return left


def _balanced(n: Any) -> Any:
    """The largest divisor of ``n`` not above its square root."""
    d = int(np.sqrt(float(n)))
    while n % d != 0:
        d -= 1
    return d


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


@when_reached("first_c", "first_s", "c", "s")
def _turns(first_c: Any, first_s: Any, c: Any, s: Any) -> None:
    """The roots of order n, and the powers ``i * j`` of one of order ``n * m``, i below n, j below m: rows are products
    of two."""
    n, m = c.shape
    rooted(first_c, first_s, 0, n, 1, n)
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
    _, _, _, _, _, _, ar, ai, br, bi, ended = plan
    n, size = len(c), len(ar) // max(width, 1)
    fr, fi = np.empty(size), np.empty(size)
    if width > 0:
        ar[:] = 0.0
        ai[:] = 0.0
        for k in range(n):
            ar[k], ai[k] = c[k], -s[k]
            if k > 0:
                ar[size - k], ai[size - k] = c[k], -s[k]
        _run(plan, 1, 1.0)
        if ended[0] == 1:
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


def _run(plan: Any, w: Any, sign: Any) -> None:
    """Transform the ``w`` columns in the first pair of arrays."""
    first_c, first_s, second_c, second_s, turns_c, turns_s, ar, ai, br, bi, ended = plan
    if len(first_c) == 1:
        _passes(second_c, second_s, w, sign, ar, ai, br, bi, ended)
    else:
        _in_two(first_c, first_s, second_c, second_s, turns_c, turns_s, w, sign, ar, ai, br, bi, ended)


@when_reached("ar", "ai", "br", "bi", "ended")
def _in_two(
    first_c: Any, first_s: Any, second_c: Any, second_s: Any, turns_c: Any, turns_s: Any,
    w: Any, sign: Any, ar: Any, ai: Any, br: Any, bi: Any, ended: Any,
) -> None:  # fmt: skip
    """The same, with columns that are laid out as matrices."""
    first, second = turns_c.shape
    _passes(first_c, first_s, second * w, sign, ar, ai, br, bi, ended)
    if ended[0] == 1:
        turned(br, bi, ar, ai, turns_c, turns_s, w, sign)
        _passes(second_c, second_s, first * w, sign, ar, ai, br, bi, ended)
    else:
        turned(ar, ai, br, bi, turns_c, turns_s, w, sign)
        _passes(second_c, second_s, first * w, sign, br, bi, ar, ai, ended)
        ended[0] = 1 - ended[0]


@when_reached("ar", "ai", "br", "bi", "ended")
def _passes(
    cos: Any, sin: Any, columns: Any, sign: Any, ar: Any, ai: Any, br: Any, bi: Any, ended: Any
) -> None:  # fmt: skip
    """The transforms of the columns by one factor of the length after the other, from one pair of arrays to the other
    and back: by four as long as possible, then by primes."""
    n = len(cos)
    left, p, there = n, 4, 0
    xr, xi, yr, yi = ar, ai, br, bi
    while left > 1:
        while left % p != 0:
            p = 2 if p == 4 else 3 if p == 2 else p + 2
        _pass(p, xr, xi, yr, yi, cos, sin, n // left, sign, left // p, (n // left) * columns)
        xr, xi, yr, yi = yr, yi, xr, xi
        left //= p
        there = 1 - there
    ended[0] = there


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
