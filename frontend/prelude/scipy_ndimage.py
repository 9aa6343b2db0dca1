"""SciPy's filters of images, and interpolation between their points."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import axis_of, flat, part

_MARGINS = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant", "grid-constant": "constant",
    "nearest": "edge", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip


@stands_for("scipy.ndimage.correlate1d")
def correlate1d(
    input: Any, weights: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0,
) -> Any:  # fmt: skip
    a, w = _image(input), np.asarray(weights)
    return _given(_along(a, w, axis_of(a, axis), len(w) // 2 + origin, mode, cval), input, output)


@stands_for("scipy.ndimage.convolve1d")
def convolve1d(
    input: Any, weights: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: Any = 0,
) -> Any:  # fmt: skip
    a, w = _image(input), np.asarray(weights)
    return _given(_along(a, w[::-1], axis_of(a, axis), (len(w) - 1) // 2 - origin, mode, cval), input, output)


@stands_for("scipy.ndimage.correlate")
def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    a, w = _image(input), np.asarray(weights)
    _check_filter(a, w, axes)
    before = [n // 2 + o for n, o in zip(w.shape, _each(origin, a.ndim))]
    return _given(_windows(a, w, before, mode, cval), input, output)


@stands_for("scipy.ndimage.convolve")
def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    a, w = _image(input), np.asarray(weights)
    _check_filter(a, w, axes)
    before = [(n - 1) // 2 - o for n, o in zip(w.shape, _each(origin, a.ndim))]
    return _given(_windows(a, np.flip(w), before, mode, cval), input, output)


@stands_for("scipy.ndimage.gaussian_filter1d")
def gaussian_filter1d(
    input: Any, sigma: Any, axis: Any = -1, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: Any = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    a = _image(input)
    w = _gaussian(sigma, order, truncate, radius)
    return _given(_along(a, w, axis_of(a, axis), len(w) // 2, mode, cval), input, output)


@stands_for("scipy.ndimage.gaussian_filter")
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: Any = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    a = _image(input)
    along = tuple(range(a.ndim)) if axes is None else axes
    out = a
    for k, s in zip(along, _each(sigma, len(along))):
        w = _gaussian(s, order, truncate, radius)
        out = _along(out, w, axis_of(a, k), len(w) // 2, mode, cval)
    return _given(out, input, output)


@stands_for("scipy.ndimage.uniform_filter1d")
def uniform_filter1d(
    input: Any, size: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    a = _image(input)
    w = np.full(size, 1.0 / size)
    return _given(_along(a, w, axis_of(a, axis), size // 2 + origin, mode, cval), input, output)


@stands_for("scipy.ndimage.uniform_filter")
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    a = _image(input)
    if axes is not None:
        unsupported("uniform_filter() with axes is not supported", "use uniform_filter1d along each of them")
    out = a
    for k, (n, o) in enumerate(zip(_each(size, a.ndim), _each(origin, a.ndim))):
        out = _along(out, np.full(n, 1.0 / n), k, n // 2 + o, mode, cval)
    return _given(out, input, output)


def _image(input: Any) -> Any:
    a = np.asarray(input)
    if a.dtype.kind != "f":
        unsupported("filters of images take floats here", "convert with astype(float)")
    return a.astype(np.float64)


def _given(found: Any, input: Any, output: Any) -> Any:
    """The result in the dtype of the image."""
    if output is not None:
        unsupported("the argument output is not supported", "assign instead: out[...] = f(x)")
    return found.astype(np.asarray(input).dtype)


def _each(v: Any, count: Any) -> Any:
    """One for each axis."""
    return v if isinstance(v, (list, tuple)) else (v,) * constant(count)


def _check_filter(a: Any, w: Any, axes: Any) -> None:
    if w.ndim != a.ndim:
        raise RuntimeError("filter weights array has incorrect shape.")
    if axes is not None:
        unsupported("filters along some axes are not supported", "use correlate1d along each, or loops")


def _margin(mode: Any) -> Any:
    how = constant(mode)
    if how not in _MARGINS:
        raise RuntimeError("boundary mode not supported")
    return _MARGINS[how]


def _padded(a: Any, widths: Any, mode: Any, cval: Any) -> Any:
    if _margin(mode) == "constant":
        return np.pad(a, widths, constant_values=cval)
    return np.pad(a, widths, mode=_margin(mode))


def _along(a: Any, w: Any, axis: Any, before: Any, mode: Any, cval: Any) -> Any:
    """Weighted sums along one axis, of ``before`` elements before each one and of those after it."""
    axis, n = constant(axis), a.shape[axis]
    if before < 0 or before >= len(w):
        raise ValueError("invalid origin")
    widths = [(before, len(w) - 1 - before) if k == axis else (0, 0) for k in range(a.ndim)]
    padded = _padded(a, widths, mode, cval)
    out = np.zeros(a.shape)
    for j in range(len(w)):
        out += w[j] * part(padded, axis, j, j + n)
    return out


def _windows(a: Any, w: Any, before: Any, mode: Any, cval: Any) -> Any:
    """The same along all axes."""
    for b, n in zip(before, w.shape):
        if b < 0 or b >= n:
            raise ValueError("invalid origin")
    padded = _padded(a, [(b, n - 1 - b) for b, n in zip(before, w.shape)], mode, cval)
    out = np.zeros(a.shape)
    for place in np.ndindex(w.shape):
        window = padded
        for k in range(a.ndim):
            window = part(window, k, place[k], place[k] + a.shape[k])
        out += w[place] * window
    return out


def _gaussian(sigma: Any, order: Any, truncate: Any, radius: Any) -> Any:
    if constant(order) != 0:
        unsupported("derivatives of a Gaussian are not supported", "use np.gradient of gaussian_filter()")
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    x = np.arange(-reach, reach + 1)
    w = np.exp(-0.5 / (sigma * sigma) * x**2)
    return w / np.sum(w)


# Values between points ------------------------------------------------------------------------------------------------


@stands_for("scipy.ndimage.map_coordinates")
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: Any = 3, mode: Any = "constant", cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:  # fmt: skip
    if constant(order) not in (0, 1):
        unsupported("map_coordinates() of this order is not supported", "use order=1, straight lines, or order=0")
    _margin(mode)
    a, at = _image(input), np.asarray(coordinates)
    if at.ndim == 0 or at.shape[0] != a.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    points = [flat(at[d]) for d in range(a.ndim)]
    out = np.zeros(len(points[0]))
    for k in range(len(out)):
        out[k] = _value(a, [p[k] for p in points], order, mode, cval)
    return _given(out.reshape(at.shape[1:]), input, output)


def _value(a: Any, place: Any, order: Any, mode: Any, cval: Any) -> Any:
    if constant(mode) == "constant":
        inside = True
        for x, n in zip(place, a.shape):
            inside = inside and x >= 0 and x <= n - 1
        if not inside:
            return cval * 1.0
    return _between(a, [_folded(x, n, mode) for x, n in zip(place, a.shape)], order, mode, cval)


def _between(a: Any, place: Any, order: Any, mode: Any, cval: Any) -> Any:
    """The value at a place, interpolated along the first axis from values along the others."""
    x, n = place[0], a.shape[0]
    if constant(order) == 0:
        return _at(a, int(np.floor(x + 0.5)), n, place, order, mode, cval)
    below = int(np.floor(x))
    t = x - below
    first = _at(a, below, n, place, order, mode, cval)
    return (1 - t) * first + t * _at(a, below + 1, n, place, order, mode, cval)


def _at(a: Any, i: Any, n: Any, place: Any, order: Any, mode: Any, cval: Any) -> Any:
    k = i
    if constant(mode) == "grid-constant":
        if i < 0 or i >= n:
            return cval * 1.0
    elif _margin(mode) == "symmetric":
        k = _mirrored(i, n)
    elif constant(mode) in ("mirror", "wrap"):
        k = i if i < n else 2 * n - 2 - i if n > 1 else 0
    elif constant(mode) == "grid-wrap":
        k = i % n
    else:
        k = min(max(i, 0), n - 1)
    return _between(a[k], place[1:], order, mode, cval) if a.ndim > 1 else a[k]


def _mirrored(i: Any, n: Any) -> Any:
    j = i % (2 * n)
    return j if j < n else 2 * n - 1 - j


def _folded(x: Any, n: Any, mode: Any) -> Any:
    """A coordinate mapped to one within the image that has the same value."""
    how = constant(mode)
    if how in ("constant", "grid-constant", "grid-wrap"):
        return x
    if how == "nearest":
        return min(max(x, 0.0), n - 1.0)
    if how in ("reflect", "grid-mirror"):
        y = np.mod(x + 0.5, 2.0 * n)
        return (y if y < n else 2.0 * n - y) - 0.5
    if n == 1:
        return 0.0 * x
    if how == "mirror":
        y = np.mod(x, 2.0 * (n - 1))
        return y if y <= n - 1 else 2.0 * (n - 1) - y
    if x >= 0 and x <= n - 1:
        return x
    return np.mod(x, n - 1.0)
