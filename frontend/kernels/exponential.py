"""The exponential of a matrix, by scaling, a rational approximation, and squaring.

Reference: Higham, The scaling and squaring method for the matrix exponential revisited (2005); for the derivative, the
exponential of a matrix of two by two blocks: Najfeld and Havel, Derivatives of the matrix exponential (1995).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.kernels import forward_rule, reverse_rule
from adc.frontend.kernels.elimination import factored, solved, unit

LARGEST = 5.371920351148152  # the norm for which the approximation has double precision


def exponential(a: Any) -> Any:
    n = a.shape[0]
    largest = 0.0
    for j in range(n):
        total = 0.0
        for i in range(n):
            total += abs(a[i, j])
        largest = max(largest, total)
    squarings = 0
    scale = 1.0
    while largest * scale > LARGEST:
        scale = scale * 0.5
        squarings += 1
    x = a * a.dtype.type(scale)
    one = unit(a)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x6 @ (x6 + 16380.0 * x4 + 40840800.0 * x2)
    odd = x @ (odd + 33522128640.0 * x6 + 10559470521600.0 * x4 + 1187353796428800.0 * x2 + 32382376266240000.0 * one)
    even = x6 @ (182.0 * x6 + 960960.0 * x4 + 1323241920.0 * x2)
    even = even + 670442572800.0 * x6 + 129060195264000.0 * x4 + 7771770303897600.0 * x2 + 64764752532480000.0 * one
    below = even - odd
    lu, pivots, _parity, _singular = factored(below)
    y = solved(below, lu, pivots, even + odd)
    for _ in range(squarings):
        y = y @ y
    return y


def derivative(a: Any, along: Any) -> Any:
    """The derivative of the exponential in a direction."""
    n = a.shape[0]
    blocks = np.zeros((2 * n, 2 * n), a.dtype)
    for i in range(n):
        for j in range(n):
            blocks[i, j] = a[i, j]
            blocks[n + i, n + j] = a[i, j]
            blocks[i, n + j] = along[i, j]
    x = exponential(blocks)
    y = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            y[i, j] = x[i, n + j]
    return y


@reverse_rule(exponential)
def _exponential_reverse(a: Any) -> Any:
    return exponential(a), lambda g: (derivative(a.T.copy(), g),)


@forward_rule(exponential)
def _exponential_forward(tangents: Any, a: Any) -> Any:
    return exponential(a), derivative(a, tangents[0])
