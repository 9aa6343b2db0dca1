"""Columns of complex numbers: from arrays of pairs to arrays of real and imaginary parts, turned there, and back."""

from __future__ import annotations

from typing import Any

from adc.frontend.kernels import when_reached


def taken(x: Any, i: Any, rows: Any, held: Any, start: Any, yr: Any, yi: Any, w: Any) -> None:
    """Take ``w`` columns of some rows, the first ``held`` numbers of each, side by side."""
    if rows > 1 and w == 1:
        _row_taken(x, i, rows, held, yr, yi)
    elif rows > 1:
        _rows_taken(x, i, rows, held, yr, yi, w)
    elif 2 * w == x.shape[2]:
        _all_taken(x, i, held, yr, yi)
    else:
        _part_taken(x, i, held, start, yr, yi, w)


@when_reached("yr", "yi")
def _row_taken(x: Any, i: Any, rows: Any, held: Any, yr: Any, yi: Any) -> None:
    before, n, _ = x.shape
    both = x.reshape(before, n, 2)
    turned_r, turned_i = yr[: held * rows].reshape(held, rows), yi[: held * rows].reshape(held, rows)
    for k in range(held):
        for r in range(rows):
            turned_r[k, r] = both[i + r, k, 0]
            turned_i[k, r] = both[i + r, k, 1]


@when_reached("yr", "yi")
def _rows_taken(x: Any, i: Any, rows: Any, held: Any, yr: Any, yi: Any, w: Any) -> None:
    to_r, to_i = yr[: held * rows * w].reshape(held, rows, w), yi[: held * rows * w].reshape(held, rows, w)
    for k in range(held):
        for r in range(rows):
            for j in range(w):
                to_r[k, r, j] = x[i + r, k, 2 * j]
                to_i[k, r, j] = x[i + r, k, 2 * j + 1]


@when_reached("yr", "yi")
def _all_taken(x: Any, i: Any, held: Any, yr: Any, yi: Any) -> None:
    before, n, twice = x.shape
    whole = x.reshape(before, n * twice)
    for k in range(held * (twice // 2)):
        yr[k] = whole[i, 2 * k]
        yi[k] = whole[i, 2 * k + 1]


@when_reached("yr", "yi")
def _part_taken(x: Any, i: Any, held: Any, start: Any, yr: Any, yi: Any, w: Any) -> None:
    for k in range(held):
        for j in range(w):
            yr[k * w + j] = x[i, k, 2 * (start + j)]
            yi[k * w + j] = x[i, k, 2 * (start + j) + 1]


def kept(xr: Any, xi: Any, out: Any, i: Any, rows: Any, start: Any, w: Any, scale: Any) -> None:
    """Put such columns, times ``scale``, to where they belong."""
    if rows > 1 and w == 1:
        _row_kept(xr, xi, out, i, rows, scale)
    elif rows > 1:
        _rows_kept(xr, xi, out, i, rows, w, scale)
    elif 2 * w == out.shape[2]:
        _all_kept(xr, xi, out, i, scale)
    else:
        _part_kept(xr, xi, out, i, start, w, scale)


@when_reached("out")
def _row_kept(xr: Any, xi: Any, out: Any, i: Any, rows: Any, scale: Any) -> None:
    before, n, _ = out.shape
    both = out.reshape(before, n, 2)
    turned_r, turned_i = xr[: n * rows].reshape(n, rows), xi[: n * rows].reshape(n, rows)
    for r in range(rows):
        for k in range(n):
            both[i + r, k, 0] = scale * turned_r[k, r]
            both[i + r, k, 1] = scale * turned_i[k, r]


@when_reached("out")
def _rows_kept(xr: Any, xi: Any, out: Any, i: Any, rows: Any, w: Any, scale: Any) -> None:
    n = out.shape[1]
    of_r, of_i = xr[: n * rows * w].reshape(n, rows, w), xi[: n * rows * w].reshape(n, rows, w)
    for r in range(rows):
        for k in range(n):
            for j in range(w):
                out[i + r, k, 2 * j] = scale * of_r[k, r, j]
                out[i + r, k, 2 * j + 1] = scale * of_i[k, r, j]


@when_reached("out")
def _all_kept(xr: Any, xi: Any, out: Any, i: Any, scale: Any) -> None:
    before, n, twice = out.shape
    whole = out.reshape(before, n * twice)
    for k in range(n * (twice // 2)):
        whole[i, 2 * k] = scale * xr[k]
        whole[i, 2 * k + 1] = scale * xi[k]


@when_reached("out")
def _part_kept(xr: Any, xi: Any, out: Any, i: Any, start: Any, w: Any, scale: Any) -> None:
    for k in range(out.shape[1]):
        for j in range(w):
            out[i, k, 2 * (start + j)] = scale * xr[k * w + j]
            out[i, k, 2 * (start + j) + 1] = scale * xi[k * w + j]


def _turned_over(x: Any, y: Any) -> None:
    y[...] = x.T


def turned(xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, w: Any, sign: Any) -> None:
    """The transpose of a matrix of rows of ``w`` columns, with its elements rotated in the complex plane. ``x`` is
    overwritten."""
    if w == 1:
        _numbers_turned(xr, xi, yr, yi, cos, sin, sign)
    else:
        _rows_turned(xr, xi, yr, yi, cos, sin, w, sign)


@when_reached("xr", "xi", "yr", "yi")
def _numbers_turned(xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, sign: Any) -> None:
    first, second = cos.shape
    size = first * second
    all_cos, all_sin = cos.reshape(size), sin.reshape(size)
    for k in range(size):
        c, s = all_cos[k], sign * all_sin[k]
        r, m = xr[k], xi[k]
        xr[k] = r * c - m * s
        xi[k] = r * s + m * c
    from_r, from_i = xr[:size].reshape(first, second), xi[:size].reshape(first, second)
    to_r, to_i = yr[:size].reshape(second, first), yi[:size].reshape(second, first)
    _turned_over(from_r, to_r)
    _turned_over(from_i, to_i)


@when_reached("xr", "xi", "yr", "yi")
def _rows_turned(xr: Any, xi: Any, yr: Any, yi: Any, cos: Any, sin: Any, w: Any, sign: Any) -> None:
    first, second = cos.shape
    size = first * second * w
    rows_r, rows_i = xr[:size].reshape(first, second, w), xi[:size].reshape(first, second, w)
    out_r, out_i = yr[:size].reshape(second, first, w), yi[:size].reshape(second, first, w)
    for j in range(second):
        for i in range(first):
            c, s = cos[i, j], sign * sin[i, j]
            for k in range(w):
                r, m = rows_r[i, j, k], rows_i[i, j, k]
                out_r[j, i, k] = r * c - m * s
                out_i[j, i, k] = r * s + m * c
