"""The cost of k means: squared distances of points to the nearest centre."""

from __future__ import annotations

import numpy as np

from adc import prange

ACTIVE = (1,)


def arguments():
    rng = np.random.default_rng(6)
    return rng.standard_normal((8000, 4)), rng.standard_normal((10, 4))


def loops(points, centres):
    n, d = points.shape
    total = 0.0
    for p in prange(n):
        least = 1e300
        for c in range(centres.shape[0]):
            s = 0.0
            for j in range(d):
                s += (points[p, j] - centres[c, j]) ** 2
            least = min(least, s)
        total += least
    return total


def nearest_first(points, centres):
    n, d = points.shape
    total = 0.0
    for p in range(n):
        best, least = 0, np.inf
        for c in range(len(centres)):
            s = 0.0
            for j in range(d):
                s += (points[p, j] - centres[c, j]) ** 2
            if s < least:
                best, least = c, s
        for j in range(d):
            away = points[p, j] - centres[best, j]
            total += away * away
    return total


def broadcast(points, centres):
    away = points[:, None, :] - centres[None, :, :]
    return np.sum(np.min(np.sum(away**2, axis=2), axis=1))


def expanded(points, centres):
    squares = np.sum(points**2, axis=1)[:, None] - 2.0 * points @ centres.T + np.sum(centres**2, axis=1)
    return np.sum(np.min(squares, axis=1))


def chosen(points, centres):
    away = points[:, None, :] - centres
    nearest = np.argmin((away * away).sum(axis=-1), axis=1)
    rest = points - centres[nearest]
    return np.sum(rest * rest)


def rows(points, centres):
    total = 0.0
    for point in points:
        away = centres - point
        total += np.min(np.sum(away * away, axis=1))
    return total


def columns(points, centres):
    least = np.full(len(points), np.inf)
    for c in range(centres.shape[0]):
        s = np.zeros(len(points))
        for j in range(points.shape[1]):
            s += (points[:, j] - centres[c, j]) ** 2
        least = np.minimum(least, s)
    return least.sum()


SPELLINGS = loops, nearest_first, broadcast, expanded, chosen, rows, columns
