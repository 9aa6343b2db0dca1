"""Nests whose loops differ by a few iterations: one buffer of the tape serves them all."""

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


@pytest.mark.parametrize("f", [colours, bands, ends, few, triangle])
@pytest.mark.parametrize(("shape", "steps"), [((5, 8), 3), ((4, 5), 1), ((1, 4), 2), ((0, 4), 2), ((3, 4), 0)])
def test_gradients(f: Callable[..., Any], shape: tuple[int, int], steps: int) -> None:
    rng = np.random.default_rng(1)
    u, k, du, dk = (rng.random(shape) for _ in range(4))
    value, (gu, gk) = jit_grad(argnums=(0, 1))(f).value_and_grad(u, k, steps)
    assert value == pytest.approx(f(u, k, steps), rel=1e-12)
    along = f(u + 1e-30j * du, k + 1e-30j * dk, steps).imag / 1e-30
    assert np.sum(gu * du) + np.sum(gk * dk) == pytest.approx(along, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("f", [colours, bands, ends, few, triangle])
def test_buffers(f: Callable[..., Any]) -> None:
    """A row of its own for each iteration is for nests whose loops differ by more."""
    g = jit_grad(argnums=(0, 1))(f)
    g.value_and_grad(np.ones((3, 4)), np.ones((3, 4)), 2)
    assert ("xmemref<" in str(g.dump_ir("adjoint"))) is (f is triangle)
