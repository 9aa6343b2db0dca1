"""The wave equation on a line, leapfrog; misfit to a record at one point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adc import prange

ACTIVE = (0,)


def arguments():
    rng = np.random.default_rng(3)
    return 0.2 + 0.1 * rng.random(3000), np.sin(0.2 * np.arange(80.0)), rng.random(80)


def loops(c, source, data):
    n = c.shape[0]
    old = np.zeros(n)
    u = np.zeros(n)
    new = np.zeros(n)
    misfit = 0.0
    for t in range(source.shape[0]):
        for i in prange(1, n - 1):
            new[i] = 2.0 * u[i] - old[i] + c[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        new[n // 2] += source[t]
        misfit += (new[n // 3] - data[t]) ** 2
        old, u, new = u, new, old
    return misfit


def in_place(c, source, data):
    n = len(c)
    old, u = np.zeros(n), np.zeros(n)
    misfit = 0.0
    for t in range(len(source)):
        for i in range(1, n - 1):
            old[i] = 2.0 * u[i] - old[i] + c[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        old[n // 2] += source[t]
        misfit += (old[n // 3] - data[t]) ** 2
        old, u = u, old
    return misfit


def slices(c, source, data):
    n = len(c)
    old, u, new = np.zeros(n), np.zeros(n), np.zeros(n)
    misfit = 0.0
    for t in range(len(source)):
        new[1:-1] = 2.0 * u[1:-1] - old[1:-1] + c[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        new[n // 2] += source[t]
        misfit += (new[n // 3] - data[t]) ** 2
        old, u, new = u, new, old
    return misfit


def new_arrays(c, source, data):
    n = len(c)
    old = np.zeros(n)
    u = np.zeros(n)
    misfit = 0.0
    for t in range(len(source)):
        lap = np.zeros(n)
        lap[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        new = 2 * u - old + c * lap
        new[n // 2] += source[t]
        misfit += (new[n // 3] - data[t]) ** 2
        old = u
        u = new
    return misfit


def copied(c, source, data):
    n = c.size
    old, u, new = np.zeros(n), np.zeros(n), np.zeros(n)
    misfit = 0.0
    for t, s in enumerate(source):
        for i in range(1, n - 1):
            new[i] = 2.0 * u[i] - old[i] + c[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        new[n // 2] = new[n // 2] + s
        misfit = misfit + (new[n // 3] - data[t]) ** 2
        old[:] = u
        u[:] = new
    return misfit


@dataclass
class Field:
    old: np.ndarray
    u: np.ndarray


def advance(field, c, s):
    u, new = field.u, field.old
    new[1:-1] = 2.0 * u[1:-1] - new[1:-1] + c[1:-1] * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    new[len(c) // 2] += s
    field.old, field.u = u, new


def fields(c, source, data):
    field = Field(np.zeros(len(c)), np.zeros(len(c)))
    misfit = 0.0
    for s, d in zip(source, data):
        advance(field, c, s)
        misfit += (field.u[len(c) // 3] - d) ** 2
    return misfit


SPELLINGS = loops, in_place, slices, new_arrays, copied, fields
