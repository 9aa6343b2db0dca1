"""SciPy's convolutions and filters of signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels.windows import convolved, correlated, filtered
from adc.frontend.prelude import constant, stands_for, unsupported
from adc.frontend.prelude.axes import axis_of, lanes, promoted

_LOOPS = "write it as loops, which are compiled and differentiated"


@stands_for("scipy.signal.convolve")
def convolve(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    a, v = np.asarray(in1), np.asarray(in2)
    if a.ndim == 2 and v.ndim == 2:
        return _in_plane(a, v, mode, "fill", 0)
    return _in_line(a, v, mode, "convolve")


@stands_for("scipy.signal.correlate")
def correlate(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    a, v = np.asarray(in1), np.asarray(in2)
    if a.ndim == 2 and v.ndim == 2:
        return _in_plane(a, _conjugate(v)[::-1, ::-1], mode, "fill", 0)
    return _in_line(a, _conjugate(v)[::-1], mode, "correlate")


@stands_for("scipy.signal.fftconvolve", "scipy.signal.oaconvolve")
def fftconvolve(in1: Any, in2: Any, mode: Any = "full", axes: Any = None) -> Any:
    a, v = np.asarray(in1), np.asarray(in2)
    if axes is not None or a.ndim != v.ndim or a.ndim > 2 or a.ndim == 0:
        unsupported("fftconvolve() takes two vectors or two matrices here, all axes of them", _LOOPS)
    lengths = [n + m - 1 for n, m in zip(a.shape, v.shape)]
    sizes = [_power_of_two(n) for n in lengths]
    if a.ndim == 1:
        if np.iscomplexobj(a) or np.iscomplexobj(v):
            full: Any = np.fft.ifft(np.fft.fft(a, sizes[0]) * np.fft.fft(v, sizes[0]))
        else:
            full = np.fft.irfft(np.fft.rfft(a, sizes[0]) * np.fft.rfft(v, sizes[0]), sizes[0])
        start, count = _window(len(a), len(v), mode, "fftconvolve")
        return full[start : start + count].copy()
    if np.iscomplexobj(a) or np.iscomplexobj(v):
        plane: Any = np.fft.ifft2(np.fft.fft2(a, sizes) * np.fft.fft2(v, sizes))
    else:
        plane = np.fft.irfft2(np.fft.rfft2(a, sizes) * np.fft.rfft2(v, sizes), sizes)
    i, n = _window(a.shape[0], v.shape[0], mode, "fftconvolve")
    j, m = _window(a.shape[1], v.shape[1], mode, "fftconvolve")
    return plane[i : i + n, j : j + m].copy()


@stands_for("scipy.signal.convolve2d")
def convolve2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> Any:
    a, v = np.asarray(in1), np.asarray(in2)
    if a.ndim != 2 or v.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    return _in_plane(a, v, mode, boundary, fillvalue)


@stands_for("scipy.signal.correlate2d")
def correlate2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> Any:
    a, v = np.asarray(in1), np.asarray(in2)
    if a.ndim != 2 or v.ndim != 2:
        raise ValueError("correlate2d inputs must both be 2-D arrays")
    return _in_plane(a, _conjugate(v)[::-1, ::-1], mode, boundary, fillvalue, True)


@stands_for("scipy.signal.lfilter")
def lfilter(b: Any, a: Any, x: Any, axis: Any = -1, zi: Any = None) -> Any:
    numerator, denominator, signal = np.asarray(b), np.asarray(a), np.asarray(x)
    kind = promoted(promoted(numerator.dtype, denominator.dtype), signal.dtype)
    kind = promoted(kind, np.float32)
    n = max(len(numerator), len(denominator))
    p, q = np.zeros(n, kind), np.zeros(n, kind)
    p[: len(numerator)] = numerator / denominator[0]
    q[: len(denominator)] = denominator / denominator[0]
    if zi is not None:
        state = np.asarray(zi)
        if signal.ndim != 1 or state.ndim != 1:
            unsupported("lfilter() with zi takes one signal here", "filter the rows one by one")
        if len(state) != n - 1:
            raise ValueError(f"Unexpected shape for zi: expected ({n - 1},), found ({len(state)},).")
        out, state = np.zeros(len(signal), kind), state.astype(kind)
        filtered(p, q, signal, state, out)
        return out, state
    k = axis_of(signal, axis)

    def lane(row: Any, out: Any) -> None:
        filtered(p, q, row, np.zeros(n - 1, kind), out)

    return lanes(lane, signal, k, signal.shape[k], kind)


def _conjugate(v: Any) -> Any:
    return np.conj(v) if np.iscomplexobj(v) else v


def _power_of_two(n: Any) -> Any:
    size = 1
    while size < n:
        size *= 2
    return size


def _window(n: Any, m: Any, mode: Any, name: Any) -> Any:
    """The start of the result within the full convolution of ``n`` and ``m`` elements, and its length."""
    how = constant(mode)
    if how == "full":
        return 0, n + m - 1
    if how == "same":
        return (m - 1) // 2, n
    if how == "valid":
        return min(n, m) - 1, abs(n - m) + 1
    raise ValueError(f"acceptable mode flags are 'valid', 'same', or 'full', not {how!r} ({name})")


def _in_line(a: Any, v: Any, mode: Any, name: Any) -> Any:
    if a.ndim != 1 or v.ndim != 1:
        unsupported("convolutions of more than two dimensions are not supported", _LOOPS)
    kind = promoted(a.dtype, v.dtype)
    start, count = _window(len(a), len(v), mode, name)
    if len(a) == 0 or len(v) == 0:
        return np.zeros(0, kind)
    return convolved(a, v, start, count, kind)


def _in_plane(a: Any, v: Any, mode: Any, boundary: Any, fill: Any, late: Any = False) -> Any:
    """``late``: the middle of an even number of weights is the later one."""
    how, edge = constant(mode), constant(boundary)
    if edge not in ("fill", "wrap", "symm"):
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    if how == "valid":
        if v.shape[0] > a.shape[0] or v.shape[1] > a.shape[1]:
            if v.shape[0] < a.shape[0] or v.shape[1] < a.shape[1]:
                raise ValueError(
                    "For 'valid' mode, one must be at least as large as the other in every dimension"
                )
            return _windows(v, a)
        return _windows(a, v)
    p, q = v.shape[0] - 1, v.shape[1] - 1
    if edge == "fill":
        padded = np.pad(a, ((p, p), (q, q)), constant_values=fill)
    else:
        padded = np.pad(a, ((p, p), (q, q)), mode="wrap" if edge == "wrap" else "symmetric")
    if how == "full":
        return _windows(padded, v)
    if how != "same":
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    i, j = v.shape[0] // 2 if late else p // 2, v.shape[1] // 2 if late else q // 2
    n, m = a.shape
    return _windows(padded[i : i + n + p, j : j + m + q], v)


def _windows(a: Any, v: Any) -> Any:
    """The convolution where the smaller matrix is inside the other."""
    return correlated(a, v[::-1, ::-1], promoted(a.dtype, v.dtype))
