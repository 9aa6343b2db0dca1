"""Discrete Fourier transforms along any axis; computed in double precision. The transform itself is a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.planes import transformed_twice
from adc.frontend.kernels.real_transforms import mirrored, of_real, to_real
from adc.frontend.kernels.transforms import transformed
from adc.frontend.prelude import constant, of_parts, parts, stands_for, unsupported
from adc.frontend.prelude.axes import axis_of


def _scale(n: Any, norm: Any, inverse: Any) -> Any:
    kind = constant(norm)
    if kind not in (None, "backward", "ortho", "forward"):
        raise ValueError(f'Invalid norm value {kind}; should be "backward", "ortho" or "forward".')
    if kind == "ortho":
        return 1 / np.sqrt(n)
    if (kind == "forward") != constant(inverse):
        return 1 / float(n)
    return 1.0


def _around(x: Any, k: Any) -> Any:
    """The products of the extents before an axis, and of those after it."""
    before, after = 1, 1
    for size in x.shape[:k]:
        before *= size
    for size in x.shape[k + 1 :]:
        after *= size
    return before, after


def _counted(count: Any) -> None:
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")


def _rows(x: Any, k: Any) -> Any:
    """The numbers along an axis between the other axes, three in all; the parts of complex ones side by side."""
    before, after = _around(x, k)
    if np.iscomplexobj(x):
        y = np.ascontiguousarray(x, np.complex128)
        return parts(y).reshape(before, x.shape[k], 2 * after)
    return np.ascontiguousarray(x, np.float64).reshape(before, x.shape[k], after)


def _complex(found: Any, x: Any, k: Any, *counts: Any) -> Any:
    """The complex numbers with these parts, in the shape of ``x``, but with ``counts`` numbers along one or two axes,
    from ``k`` on. These extents are not read from ``found``: those that are equal to others are known to be."""
    made = of_parts(found.reshape(*x.shape[:k], *counts, *x.shape[k + len(counts) :], 2))
    return made if x.dtype != np.complex64 and x.dtype != np.float32 else made.astype(np.complex64)


def _transform(a: Any, n: Any, axis: Any, norm: Any, inverse: Any) -> Any:
    x = np.asarray(a)
    k = axis_of(x, axis)
    count = x.shape[k] if n is None else n
    _counted(count)
    scale, sign = _scale(count, norm, inverse), (1 if constant(inverse) else -1)
    if np.iscomplexobj(x):
        return _complex(transformed(_rows(x, k), count, count, sign, scale), x, k, count)
    half = of_real(_rows(x, k), count, count // 2 + 1, sign, scale, 1.0)
    return _complex(mirrored(half, count), x, k, count)


def _only(out: Any) -> None:
    if out is not None:
        unsupported("np.fft functions with out= are not supported", "assign the result")


@stands_for("numpy.fft.fft")
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return _transform(a, n, axis, norm, False)


@stands_for("numpy.fft.ifft")
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return _transform(a, n, axis, norm, True)


@stands_for("numpy.fft.rfft")
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    x = np.asarray(a)
    if np.iscomplexobj(x):
        raise TypeError("ufunc 'rfft_n_even' did not contain a loop with signature matching types")
    k = axis_of(x, axis)
    count = x.shape[k] if n is None else n
    _counted(count)
    half = count // 2 + 1
    return _complex(of_real(_rows(x, k), count, half, -1, _scale(count, norm, False), 1.0), x, k, half)


@stands_for("numpy.fft.irfft")
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    x = np.asarray(a)
    k = axis_of(x, axis)
    count = 2 * (x.shape[k] - 1) if n is None else n
    _counted(count)
    y = x if np.iscomplexobj(x) else x.astype(np.complex64 if x.dtype == np.float32 else np.complex128)
    numbers = to_real(_rows(y, k), count, count, 1, _scale(count, norm, True), 1.0)
    made = numbers.reshape(*x.shape[:k], count, *x.shape[k + 1 :])
    return made if y.dtype != np.complex64 else made.astype(np.float32)


def _axes_and_lengths(x: Any, s: Any, axes: Any) -> Any:
    if axes is not None:
        listed = constant(axes)
    else:
        listed = tuple(range(x.ndim)) if s is None else tuple(range(x.ndim - len(s), x.ndim))
    lengths = (None,) * len(listed) if s is None else s
    if len(lengths) != len(listed):
        raise ValueError("Shape and axes have different lengths.")
    whole = tuple(n if n is None or n != -1 else x.shape[k] for n, k in zip(lengths, listed))
    return listed, whole


def _along(a: Any, s: Any, axes: Any, norm: Any, inverse: Any) -> Any:
    x = np.asarray(a)
    listed, lengths = _axes_and_lengths(x, s, axes)
    if len(listed) == 2 and np.iscomplexobj(x) and axis_of(x, listed[0]) + 1 == axis_of(x, listed[1]):
        return _transform_two(x, axis_of(x, listed[0]), lengths, norm, inverse)
    for axis, n in zip(listed[::-1], lengths[::-1]):
        x = _transform(x, n, axis, norm, inverse)
    return x


def _transform_two(x: Any, k: Any, lengths: Any, norm: Any, inverse: Any) -> Any:
    """The transforms along two axes, one behind the other: one call, and nothing between them in a gradient."""
    rows = x.shape[k] if lengths[0] is None else lengths[0]
    columns = x.shape[k + 1] if lengths[1] is None else lengths[1]
    _counted(columns)
    _counted(rows)
    scale, sign = _scale(columns, norm, inverse) * _scale(rows, norm, inverse), (1 if constant(inverse) else -1)
    before, after = _around(x, k)[0], _around(x, k + 1)[1]
    numbers = parts(np.ascontiguousarray(x, np.complex128)).reshape(before, x.shape[k], x.shape[k + 1], 2 * after)
    return _complex(transformed_twice(numbers, rows, columns, rows, columns, sign, scale), x, k, rows, columns)


@stands_for("numpy.fft.fftn")
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return _along(a, s, axes, norm, False)


@stands_for("numpy.fft.ifftn")
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return _along(a, s, axes, norm, True)


@stands_for("numpy.fft.fft2")
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return _along(a, s, axes, norm, False)


@stands_for("numpy.fft.ifft2")
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return _along(a, s, axes, norm, True)


@stands_for("numpy.fft.rfftn")
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    listed, lengths = _axes_and_lengths(np.asarray(a), s, axes)
    x = np.fft.rfft(a, lengths[-1], listed[-1], norm)
    for axis, n in zip(listed[-2::-1], lengths[-2::-1]):
        x = _transform(x, n, axis, norm, False)
    return x


@stands_for("numpy.fft.rfft2")
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return np.fft.rfftn(a, s, axes, norm)


@stands_for("numpy.fft.irfftn")
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    x = np.asarray(a)
    listed, lengths = _axes_and_lengths(x, s, axes)
    for axis, n in zip(listed[:-1], lengths[:-1]):
        x = _transform(x, n, axis, norm, True)
    return np.fft.irfft(x, lengths[-1], listed[-1], norm)


@stands_for("numpy.fft.irfft2")
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return np.fft.irfftn(a, s, axes, norm)


def _other_way(norm: Any) -> Any:
    kind = constant(norm)
    return "forward" if kind in (None, "backward") else "backward" if kind == "forward" else kind


@stands_for("numpy.fft.hfft")
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return np.fft.irfft(np.conj(a), n, axis, _other_way(norm))


@stands_for("numpy.fft.ihfft")
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    _only(out)
    return np.conj(np.fft.rfft(a, n, axis, _other_way(norm)))


@stands_for("numpy.fft.fftfreq")
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    out = np.empty(n)
    first = (n - 1) // 2 + 1
    step = 1.0 / (n * d)
    for k in range(n):
        out[k] = (k if k < first else k - n) * step
    return out


@stands_for("numpy.fft.rfftfreq")
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    return np.arange(0, n // 2 + 1) * (1.0 / (n * d))


def _shifted(x: Any, axes: Any, back: Any) -> Any:
    y = np.asarray(x)
    given = constant(axes)
    listed = tuple(range(y.ndim)) if given is None else (given,) if isinstance(given, int) else given
    for k in listed:
        half = y.shape[k] // 2
        y = np.roll(y, -half if constant(back) else half, k)
    return y


@stands_for("numpy.fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, False)


@stands_for("numpy.fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(x, axes, True)
