"""Programs that depend on single roundings: error-free transformations, exact predicates, equal results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adc import prange

Array = Any


def split(a: float) -> tuple[float, float]:
    p = 134217729.0 * a
    high = p - (p - a)
    return high, a - high


def two_sum(a: float, b: float) -> tuple[float, float]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def two_product(a: float, b: float) -> tuple[float, float]:
    p = a * b
    (c, d), (e, f) = split(a), split(b)
    return p, d * f - (((p - c * e) - d * e) - c * f)


def rest_of_a_sum(x: float, y: float) -> float:
    s, rest = two_sum(x, 1e9 * y)
    return s + 1e17 * rest


def rest_of_a_product(x: float, y: float) -> float:
    p, rest = two_product(x, y)
    return p + 1e17 * rest


def equal_products(x: float, y: float) -> float:
    z = x * y
    w = z - y * x
    return x if w == 0.0 and x * y - z == 0.0 else y


def equal_norms(x: float, y: float) -> float:
    return 1.0 / x if math.sqrt(x * x + y * y) == math.sqrt(y * y + x * x) else x


def squared_by_power(x: float, y: float) -> float:
    return x if x**2 - x * x == 0.0 else y


def discriminant(x: float, y: float) -> float:
    d = x * x - 4 * (0.5 * x) * (0.5 * x)
    return math.sqrt(d) + y


def kahan(x: Array) -> float:
    s = c = 0.0
    for i in range(len(x)):
        y = x[i] * x[i] - c
        t = s + y
        c = (t - s) - y
        s = t
    return s + 1e16 * c


def compensated_horner(x: Array) -> float:
    s, c = x[-1], 0.0
    for k in range(len(x) - 2, -1, -1):
        p, a = two_product(s, 0.7)
        s, b = two_sum(p, x[k])
        c = c * 0.7 + (a + b)
    return s + 1e10 * c


def turns(x: Array, y: Array) -> float:
    total = 0.0
    for i in range(len(x) - 2):
        d = (x[i] - x[i + 2]) * (y[i + 1] - y[i + 2]) - (y[i] - y[i + 2]) * (x[i + 1] - x[i + 2])
        total += d if d > 0 else 1.0 if d == 0 else -0.5 * d
    return total


def turns_by_arrays(x: Array, y: Array) -> float:
    d = (x[:-2] - x[2:]) * (y[1:-1] - y[2:]) - (y[:-2] - y[2:]) * (x[1:-1] - x[2:])
    total = 0.0
    for v in np.where(d == 0.0, 1.0, np.abs(d) * d):
        total += v
    return total


def rotations(x: Array, y: Array) -> float:
    a, b = 1.0, 0.0
    for i in range(len(x)):
        a, b = a * x[i] - b * y[i], a * y[i] + b * x[i]
        size = math.sqrt(a * a + b * b)
        a /= size
        b /= size
    return a - b


def on_threads(x: Array, y: Array) -> float:
    out = np.zeros(len(x))
    for i in prange(len(x)):
        z = x[i] * y[i]
        out[i] = z - y[i] * x[i] + x[i] * x[i] - y[i]
    total = 0.0
    for i in range(len(x)):
        total += out[i]
    return total


def lanes(x: Array, y: Array) -> float:
    out = np.zeros(len(x))
    for i in prange(len(x)):
        t = 0.0
        for j in range(17):
            t += x[i] * y[j] - 0.1
        out[i] = t
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + out[i] * out[i]
    return total


def roots(x: Array, y: Array) -> float:
    total = 0.0
    for v in np.sqrt(x * x - x * x * 1.0) + y:
        total += v
    return total


def stencil(x: Array) -> float:
    u, v = x.copy(), x.copy()
    for _ in range(5):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) - 0.01 * u[i] * u[i]
        u, v = v, u
    total = 0.0
    for w in u:
        total += w * w
    return total


def stencil_of_slices(x: Array) -> float:
    u = x.copy()
    for _ in range(5):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:]) - u[1:-1] * u[1:-1] / 100
    total = 0.0
    for w in u:
        total = w - total * 0.1
    return total


def rows(x: Array, y: Array) -> float:
    n = 12
    a, out = np.outer(x[:n], y[:n]), np.zeros(n)
    for i in range(n):
        for j in range(n):
            out[i] += a[i, j] * x[j]
    total = 0.0
    for i in range(n):
        total -= out[i] * a[i, n - 1 - i]
    return total


def extremes(x: Array, y: Array) -> float:
    low, high = 1e300, -1e300
    for i in range(len(x)):
        low = min(low, x[i] * y[i] - 0.5)
        high = max(high, x[i] - y[i] * 0.3)
    z = np.minimum(np.maximum(x * y - 0.2, 0.1), 0.9) * y - abs(x - y)
    return 3.7 * low + high + z[0] * z[1]


def quotients(x: Array, y: Array) -> float:
    total = 0.0
    for i in range(len(x)):
        total += 100 * x[i] % (y[i] + 0.1) + 1e5 * x[i] // (y[i] + 0.01) - -x[i] // 0.1 + x[i] % -0.7
        q, r = divmod(x[i] - 0.5, 0.1 * y[i] + 0.01)
        total += q * 0.3 - r
    return total


def single(x: Array, y: Array) -> float:
    z = x * y - 0.1 * x + 2 * y
    w = z / 3 - y * y
    s = w[0] * w[1]
    for i in range(len(w)):
        s = s * 0.5 + w[i] * x[i]
    return s


NUMBERS = [
    *(rest_of_a_sum, rest_of_a_product, equal_products, equal_norms, squared_by_power, discriminant),
]
VECTORS = [kahan, compensated_horner, stencil, stencil_of_slices]
PAIRS = [turns, turns_by_arrays, rotations, on_threads, lanes, roots, rows, extremes, quotients]
