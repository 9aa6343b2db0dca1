"""Sums of products in a window that moves along a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import compiled_once, forward_rule, reverse_rule


def convolved(a: Any, w: Any, start: Any, count: Any, kind: Any) -> Any:
    """Elements ``start`` to ``start + count`` of the convolution of two vectors, with zeros outside of it."""
    x, y = np.ascontiguousarray(a.astype(kind, copy=False)), np.ascontiguousarray(w.astype(kind, copy=False))
    if x.dtype.kind == "f":
        return convolution(x, y, start, count)
    return _convolution(x, y, start, count) if x.dtype.kind == "c" else convolution_of_others(x, y, start, count)


def convolution(a: Any, w: Any, start: Any, count: Any) -> Any:
    """The same for floats."""
    return _convolution(a, w, start, count)


@compiled_once
def convolution_of_others(a: Any, w: Any, start: Any, count: Any) -> Any:
    """The same for integers."""
    return _convolution(a, w, start, count)


def _convolution(a: Any, w: Any, start: Any, count: Any) -> Any:
    if len(w) > len(a):
        return _window_sums(w, a[::-1].copy(), start - len(a) + 1, count)
    return _window_sums(a, w[::-1].copy(), start - len(w) + 1, count)


def correlation(a: Any, w: Any, start: Any, count: Any) -> Any:
    """``out[k]`` is the sum of ``a[k + start + j] * w[j]``, with zeros around ``a``."""
    return _window_sums(a, w, start, count) if count >= len(w) else _long_sums(a, w, start, count)


def _window_sums(a: Any, w: Any, start: Any, count: Any) -> Any:
    """``out[k]`` is the sum of ``a[k + start + j] * w[j]``, with zeros around ``a``."""
    n, m = len(a), len(w)
    out = np.zeros(count, a.dtype)
    first = min(max(-start, 0), count)  # where the window is inside the vector
    last = max(min(n - m - start + 1, count), first)
    for k in range(first):
        total = out[k]
        for j in range(max(-start - k, 0), min(n - start - k, m)):
            total += a[k + start + j] * w[j]
        out[k] = total
    inner = a[first + start :]
    for k in range(last - first):
        total = out[first + k]
        for j in range(m):
            total += inner[k + j] * w[j]
        out[first + k] = total
    for k in range(last, count):
        total = out[k]
        for j in range(max(-start - k, 0), min(n - start - k, m)):
            total += a[k + start + j] * w[j]
        out[k] = total
    return out


TOGETHER = 1024  # elements of a long window that are used for all sums in turn, so that they stay in cache


def _long_sums(a: Any, w: Any, start: Any, count: Any) -> Any:
    n, m = len(a), len(w)
    out = np.zeros(count, a.dtype)
    for first in range(0, m, TOGETHER):
        for k in range(count):
            low = max(first, -start - k)
            high = min(min(first + TOGETHER, m), n - start - k)
            if low < high:
                out[k] += np.sum(a[low + start + k : high + start + k] * w[low:high])
    return out


@reverse_rule(convolution)
def _convolution_reverse(a: Any, w: Any, start: Any, count: Any) -> Any:
    n, m = len(a), len(w)

    def back(g: Any) -> Any:
        return correlation(g, w, -start, n), correlation(g, a, -start, m), None, None

    return convolution(a, w, start, count), back


@forward_rule(convolution)
def _convolution_forward(tangents: Any, a: Any, w: Any, start: Any, count: Any) -> Any:
    tangent = convolution(tangents[0], w, start, count) + convolution(a, tangents[1], start, count)
    return convolution(a, w, start, count), tangent


@reverse_rule(correlation)
def _correlation_reverse(a: Any, w: Any, start: Any, count: Any) -> Any:
    n, m = len(a), len(w)

    def back(g: Any) -> Any:
        return convolution(g, w, -start, n), correlation(a, g, start, m), None, None

    return correlation(a, w, start, count), back


@forward_rule(correlation)
def _correlation_forward(tangents: Any, a: Any, w: Any, start: Any, count: Any) -> Any:
    tangent = correlation(tangents[0], w, start, count) + correlation(a, tangents[1], start, count)
    return correlation(a, w, start, count), tangent


def interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any, place: Any) -> Any:
    """The value at ``x`` of the piecewise linear function through points, of which ``place`` are not beyond ``x``."""
    n = len(xp)
    if x != x:
        return x
    if place == 0:
        return left
    if x > xp[n - 1]:
        return right
    j = place - 1
    if j == n - 1 or xp[j] == x:
        return fp[j]
    slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j])
    found = slope * (x - xp[j]) + fp[j]
    if found != found:
        found = slope * (x - xp[j + 1]) + fp[j + 1]
        if found != found and fp[j] == fp[j + 1]:
            found = fp[j]
    return found


def correlated(a: Any, w: Any, kind: Any) -> Any:
    """Sums of products in a window of a matrix, for all positions inside it."""
    n, m = a.shape[0] - w.shape[0] + 1, a.shape[1] - w.shape[1] + 1
    out = np.zeros((n, m), kind)
    for p in range(w.shape[0]):
        for q in range(w.shape[1]):
            out += w[p, q] * a[p : p + n, q : q + m]
    return out


def filtered(b: Any, a: Any, x: Any, state: Any, out: Any) -> None:
    """A rational transfer function, applied to a signal: the transposed direct form. ``state`` is its memory."""
    order = len(state)
    for k in range(len(x)):
        y = b[0] * x[k]
        if order > 0:
            y += state[0]
            for j in range(order - 1):
                state[j] = state[j + 1] + b[j + 1] * x[k] - a[j + 1] * y
            state[order - 1] = b[order] * x[k] - a[order] * y
        out[k] = y
