"""A sparse product, repeated, with a saturation between."""

from __future__ import annotations

import math

import numpy as np

from adc import prange

ACTIVE = 0, 4


def arguments():
    rng = np.random.default_rng(4)
    n, row = 5000, 12
    first = np.arange(0, n * row + 1, row)
    values, columns = rng.standard_normal(n * row) / 4, rng.integers(0, n, n * row)
    return values, first, columns, np.repeat(np.arange(n), row), rng.random(n), 6


def loops(values, first, columns, rows, x0, steps):
    n = x0.shape[0]
    x = x0.copy()
    y = np.empty(n)
    for _ in range(steps):
        for i in prange(n):
            s = 0.0
            for e in range(first[i], first[i + 1]):
                s += values[e] * x[columns[e]]
            y[i] = math.tanh(s)
        x, y = y, x
    return np.sum(x)


def running(values, first, columns, rows, x0, steps):
    n = x0.shape[0]
    x = x0.copy()
    for _ in range(steps):
        y = np.empty(n)
        e = 0
        for i in range(n):
            s = 0.0
            while e < first[i + 1]:
                s += values[e] * x[columns[e]]
                e += 1
            y[i] = math.tanh(s)
        x = y
    return np.sum(x)


def accumulated(values, first, columns, rows, x0, steps):
    n = x0.shape[0]
    x = x0.copy()
    for _ in range(steps):
        y = np.zeros(n)
        for e in range(values.shape[0]):
            y[rows[e]] += values[e] * x[columns[e]]
        x = np.tanh(y)
    return np.sum(x)


def added_at(values, first, columns, rows, x0, steps):
    x = x0
    for _ in range(steps):
        y = np.zeros(len(x))
        np.add.at(y, rows, values * x[columns])
        x = np.tanh(y)
    return np.sum(x)


def counted(values, first, columns, rows, x0, steps):
    x = x0
    for _ in range(steps):
        x = np.tanh(np.bincount(rows, values * x[columns], len(x)))
    return x.sum()


def dots(values, first, columns, rows, x0, steps):
    x = x0
    for _ in range(steps):
        y = np.empty_like(x)
        for i in range(len(x)):
            part = slice(first[i], first[i + 1])
            y[i] = np.dot(values[part], x[columns[part]])
        x = np.tanh(y)
    return np.sum(x)


def reduced(values, first, columns, rows, x0, steps):
    x = x0
    for _ in range(steps):
        x = np.tanh(np.add.reduceat(values * x[columns], first[:-1]))
    return np.sum(x)


SPELLINGS = loops, running, accumulated, added_at, counted, dots, reduced
