# ruff: noqa: F821
"""Forty programs written in MLIR. Each is differentiated with respect to its first argument."""

import math

import numpy as np


def square(x: float) -> float:
    return x * x + 1.0


def powers(x: float, n: int) -> float:
    return x**n + 2.0**x + x**1.5 + math.pow(x, 3)


def elementary(x: float) -> float:
    return math.sin(x) * math.cos(x) + math.exp(x) / math.log(x + 2.0) - math.sqrt(x) + math.tanh(x)


def elementary_more(x: float) -> float:
    return math.atan2(x, 2.0) + math.asinh(x) + math.log1p(x) * math.expm1(x) + math.cbrt(x) + math.erf(x)


def library(x: float) -> float:
    return math.hypot(x, 3.0) + math.remainder(x, 0.9) + math.erfc(x)


def branch(x: float) -> float:
    if x > 1.0:
        return x * x * x
    if x < -1.0:
        return -x
    return math.sin(x)


def newton(x: float) -> float:
    y = x
    while abs(y * y - x) > 1e-13:
        y = 0.5 * (y + x / y)
    return y


def logistic(x: float, r: float, n: int) -> float:
    for _ in range(n):
        x = r * x * (1.0 - x)
    return x


def early(x: float, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += x**2 / (k + 1)
        if total > 3.0:
            break
    return total


def integers(x: float, n: int) -> float:
    total = x
    for k in range(n):
        if k % 3 == 1 and k // 2 != 4:
            total *= 1.0 + 1.0 / (k + 1)
        else:
            total -= (k - n) * 0.01 * x
    return total


def clipped(x: float) -> float:
    return min(max(x, -0.5), 0.75) * abs(x - 2.0) + math.floor(x) * x + math.fmod(x, 0.7)


def kepler(e: float, m: float) -> float:
    u = m
    for _ in range(20):
        u = u - (u - e * math.sin(u) - m) / (1.0 - e * math.cos(u))
    return u


def total(x: "f64[::1]") -> float:
    return np.sum(x * x)


def weighted(x: "f64[::1]", y: "f64[:]") -> float:
    return np.sum(x[1:] * y[:-1]) + np.dot(x, y)


def strided(x: "f64[:]") -> float:
    return np.sum(np.exp(x[::2])) + np.sum(x[::-1][1:] * x[:-1])


def softmax(x: "f64[::1]") -> float:
    e = np.exp(x - np.max(x))
    return np.sum(np.log(e / np.sum(e)) * x)


def recurrence(x: "f64[::1]") -> float:
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] * y[i] + x[i]
    return y[-1] + np.sum(y * y)


def running(x: "f64[::1]") -> float:
    return np.sum(np.cumsum(x) ** 2)


def gathered(x: "f64[::1]", at: "i64[::1]") -> float:
    s = 0.0
    for k in range(len(at)):
        s += x[at[k]] ** 2
    return s


def scattered(x: "f64[::1]", at: "i64[::1]") -> float:
    y = np.zeros(3)
    for k in range(len(at)):
        y[at[k] % 3] += x[k]
    return np.sum(y**3)


def masked(x: "f64[::1]") -> float:
    return np.sum(np.where(x > 0.5, x**2, -x)) + np.sum(np.maximum(x, 0.7))


def polynomial(x: "f64[::1]", t: float) -> float:
    value = 0.0
    for k in range(len(x)):
        value = value * t + x[k]
    return value**2


def heat(x: "f64[::1]", r: float, n: int) -> float:
    u = x.copy()
    for _ in range(n):
        v = u.copy()
        v[1:-1] = u[1:-1] + r * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = v
    return np.sum(u**2)


def burgers(x: "f64[::1]", n: int) -> float:
    u = x.copy()
    for _ in range(n):
        u[1:] = u[1:] - 0.1 * u[1:] * (u[1:] - u[:-1])
    return np.sum(u**2)


def swapped(x: "f64[::1]", n: int) -> float:
    a, b = x.copy(), x * 0.5
    for _ in range(n):
        for i in range(1, len(x) - 1):
            b[i] = a[i - 1] * a[i + 1] + 0.1 * b[i]
        a, b = b, a
    return np.sum(a)


def until(x: "f64[::1]") -> float:
    u = x.copy()
    while np.sum(u) < 20.0:
        u = 1.1 * u + 0.01 * u**2
    return np.sum(u * x)


def rows(x: "f64[:, ::1]") -> float:
    return np.sum(np.sum(x, axis=1) ** 2) + np.sum(x.T[1] * x[:, 0])


def product(x: "f64[:, ::1]", y: "f64[:, ::1]") -> float:
    return np.sum((x @ y) ** 2)


def outer(x: "f64[::1]", y: "f64[::1]") -> float:
    return np.sum(np.sin(x[:, None] * y[None, :]))


def laplace(x: "f64[:, ::1]", n: int) -> float:
    u = x.copy()
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return np.sum(u**2)


def wave(x: "f64[:, ::1]", n: int) -> float:
    old, now = x.copy(), x.copy()
    for _ in range(n):
        new = 2.0 * now - old
        new[1:-1, 1:-1] += 0.1 * (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1]
        )
        old, now = now, new
    return np.sum(now**2)


def diagonal(x: "f64[:, ::1]") -> float:
    s = 1.0
    for i in range(x.shape[0]):
        s *= x[i, i]
    return s + np.trace(x)


def reshaped(x: "f64[:, ::1]") -> float:
    y = x.reshape(-1)
    return np.sum(y[1:] * y[:-1]) + np.sum(x.reshape(x.shape[1], x.shape[0])[0] ** 3)


def stacked(x: "f64[::1]") -> float:
    y = np.concatenate((x, 2.0 * x[1:]))
    return np.sum(y**2 * np.arange(len(y)))


def distances(x: "f64[:, ::1]") -> float:
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            d = x[i] - x[j]
            s += 1.0 / math.sqrt(d[0] ** 2 + d[1] ** 2 + 0.1)
    return s


def spring(x: "f64[::1]", k: float, n: int) -> float:
    q, p = x[0], x[1]
    for _ in range(n):
        p -= 0.1 * k * q
        q += 0.1 * p
    return q * q + p * p


def layers(x: "f64[:, ::1]", y: "f64[::1]") -> float:
    h = y
    for _ in range(3):
        h = np.tanh(x @ h)
    return np.sum(h**2)


def variance(x: "f64[::1]") -> float:
    return np.var(x) + np.mean(x) ** 2 + np.std(x)


def single(x: "f32[::1]") -> "f32":
    return np.sum(x * x * x)


def changed(x: "f64[::1]") -> float:
    x[1:] *= 2.0
    x[0] = x[1] * x[2]
    return np.sum(x**2)
