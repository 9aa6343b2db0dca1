"""Sums of products in a window that moves along a vector."""

from __future__ import annotations

from typing import Any

import numpy as np


def convolved(a: Any, w: Any, start: Any, count: Any, kind: Any) -> Any:
    """Elements ``start`` to ``start + count`` of the convolution of ``a`` with a vector that is no longer, which is
    given as ``w`` in reverse: ``out[k]`` is the sum of ``a[k + start - m + 1 + j] * w[j]``."""
    n, m = len(a), len(w)
    out = np.zeros(count, kind)
    first = min(max(m - 1 - start, 0), count)  # where the window is inside of the vector
    last = max(min(n - start, count), first)
    for k in range(first):
        total = out[k]
        for j in range(m - 1 - (k + start), m):
            total += a[k + start - m + 1 + j] * w[j]
        out[k] = total
    inner = a[first + start - m + 1 :]
    for k in range(last - first):
        total = out[first + k]
        for j in range(m):
            total += inner[k + j] * w[j]
        out[first + k] = total
    for k in range(last, count):
        total = out[k]
        for j in range(n - (k + start - m + 1)):
            total += a[k + start - m + 1 + j] * w[j]
        out[k] = total
    return out


def interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any, place: Any) -> Any:
    """The value at ``x`` of the line through points, of which ``place`` are not behind ``x``."""
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
    """Sums of products in a window of a matrix, wherever it is inside."""
    n, m = a.shape[0] - w.shape[0] + 1, a.shape[1] - w.shape[1] + 1
    out = np.zeros((n, m), kind)
    for p in range(w.shape[0]):
        for q in range(w.shape[1]):
            out += w[p, q] * a[p : p + n, q : q + m]
    return out


def filtered(b: Any, a: Any, x: Any, state: Any, out: Any) -> None:
    """A rational transfer function, applied to a signal: the transposed direct form. ``state`` is what it remembers."""
    order = len(state)
    for k in range(len(x)):
        y = b[0] * x[k]
        if order > 0:
            y += state[0]
            for j in range(order - 1):
                state[j] = state[j + 1] + b[j + 1] * x[k] - a[j + 1] * y
            state[order - 1] = b[order] * x[k] - a[order] * y
        out[k] = y
