"""Nests whose loops differ by a few iterations: one buffer of the tape serves them all, if most of it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad


def colours(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for s in range(steps):
        for i in range(u.shape[0]):
            for j in range(1 + (i + s) % 2, u.shape[1] - 1, 2):
                u[i, j] = u[i, j] * k[i, j] + 0.5 * u[i, j - 1] * u[i, j + 1]
    return np.sum(u * u)


def bands(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        for i in range(u.shape[0]):
            for j in range(max(i - 2, 0), min(i + 3, u.shape[1])):
                u[i, j] = u[i, j] * u[i, j] * k[i, j]
    return np.sum(u * u)


def ends(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for s in range(steps):
        for i in range(u.shape[0]):
            for j in range((s - i) % 3, u.shape[1] - i % 2):
                u[i, j] = u[i, j] * u[i, j] * k[i, j]
    return np.sum(u * u)


def few(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        for i in range(u.shape[0]):
            for p in range(4):
                for _q in range(p):
                    u[i, p] = u[i, p] * u[i, p] * k[i, p]
    return np.sum(u * u)


def triangle(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        for i in range(u.shape[0]):
            for j in range(min(i, u.shape[1])):
                u[i, j] = u[i, j] * u[i, j] * k[i, j]
    return np.sum(u * u)


def lines(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for s in range(steps):
        for i in range(s % 2, u.shape[0], 2):
            for j in range(u.shape[1]):
                u[i, j] = u[i, j] * u[i, j] * k[i, j]
    return np.sum(u * u)


def windows(u: Any, k: Any, steps: int) -> Any:
    out = u.copy()
    for _ in range(steps):
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                x = out[i, j]
                for p in range(max(i - 1, 0), min(i + 2, u.shape[0])):
                    for q in range(max(j - 1, 0), min(j + 2, u.shape[1])):
                        x = x + 0.1 * x * x * k[p, q]
                out[i, j] = 0.3 * x
    return np.sum(out * out)


def substeps(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for s in range(steps):
        for _ in range(8 if s % 3 == 0 else 1):
            for i in range(u.shape[0]):
                u[i, 0] = 0.5 * u[i, 0] * u[i, 0] + 0.1 * k[i, 0]
    return np.sum(u * u)


def further(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for s in range(steps):
        for _ in range(steps - 1 + (s % 3 == 0)):
            for i in range(u.shape[0]):
                u[i, 0] = 0.5 * u[i, 0] * u[i, 0] + 0.1 * k[i, 0]
    return np.sum(u * u)


def rarely(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for s in range(steps):
        for _ in range(2 * (s % 3 == 1)):
            for i in range(u.shape[0]):
                u[i, 0] = u[i, 0] * u[i, 0] * k[i, 0]
    return np.sum(u * u)


def at_most(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for s in range(steps):
        for _ in range(min(3 * s - 2, 4)):
            for i in range(u.shape[0]):
                u[i, 0] = u[i, 0] * u[i, 0] * k[i, 0]
    return np.sum(u * u)


def levels(u: Any, k: Any, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        for p in range(6):
            for q in range(p):
                for r in range(q):
                    u[0, 0] = u[0, 0] * (1.0 - 0.01 * (r + 1) * u[0, 0] * k[0, 0])
    return np.sum(u * u)


ONE_BUFFER = [colours, bands, ends, few, lines, windows]
ROWS = [triangle, substeps, further, rarely, at_most, levels]


@pytest.mark.parametrize("f", ONE_BUFFER + ROWS)
def test_gradients(f: Callable[..., Any]) -> None:
    """Both, and a row of its own for each iteration where loops differ by more."""
    g = jit_grad(argnums=(0, 1))(f)
    for shape, steps in ((5, 8), 5), ((4, 5), 1), ((1, 4), 2), ((0, 4), 2), ((3, 4), 0):
        if f is levels and not shape[0]:
            continue
        rng = np.random.default_rng(1)
        u, k, du, dk = (rng.random(shape) for _ in range(4))
        value, (gu, gk) = g.value_and_grad(u, k, steps)
        if shape == (5, 8):
            assert ("xmemref<" in str(g.dump_ir("adjoint"))) is (f in ROWS)
        assert value == pytest.approx(f(u, k, steps), rel=1e-12)
        along = f(u + 1e-30j * du, k + 1e-30j * dk, steps).imag / 1e-30
        assert np.sum(gu * du) + np.sum(gk * dk) == pytest.approx(along, rel=1e-9, abs=1e-12)
