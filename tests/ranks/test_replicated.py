"""``adc.distribute(f, grid, replicate=True)``: what cannot be cut is run by all ranks, and has the bits of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.stencils import bits

N = 12


def recurrence(u: Any, w: Any, steps: Any) -> Any:
    """What is computed goes on along the axis; a new array in each step, and a stencil before and after."""
    for _ in range(steps):
        v = u.copy()
        v[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        for i in range(1, len(u)):
            v[i] = 0.5 * v[i] + 0.4 * v[i - 1] * w[i]
        u = np.sin(v)
    return np.sum(u * u)


def thomas(u: Any, w: Any, steps: Any) -> Any:
    """Sweeps up and down, and buffers that change places."""
    c, d = np.zeros_like(u), u.copy()
    for _ in range(steps):
        c[0] = 0.3
        for i in range(1, len(u)):
            b = 3.0 + w[i] * w[i] - 0.5 * c[i - 1]
            c[i] = u[i] / b
            d[i] = (d[i] + 0.5 * d[i - 1]) / b
        for i in range(len(u) - 2, -1, -1):
            d[i] -= c[i + 1] * d[i + 1]
        c, d = d, c
    return np.sum(c * d)


def edges(u: Any, w: Any, steps: Any) -> Any:
    """Elements by what is read from an array."""
    ends = (np.arange(N) * 5 + 1) % N
    for _ in range(steps):
        f = np.zeros_like(u)
        for e in range(N):
            flux = np.sin(w[e] * (u[ends[e]] - u[e]))
            f[e] += flux
            f[ends[e]] -= flux
        u = u + 0.3 * f
    return np.sum(u**3)


def products(u: Any, w: Any, steps: Any) -> Any:
    a = np.outer(w, w) + 0.5
    for _ in range(steps):
        u = np.tanh(a @ u / N)
        u[1:] += u[:-1] * w[1:]
    return np.sum(u * w)


def in_halves(u: Any, w: Any, steps: Any) -> Any:
    for _ in range(steps):
        half = u[: len(u) // 2] * w[: len(u) // 2]
        for i in range(len(half) - 1):
            u[2 * i] += 0.3 * half[i]
            u[2 * i + 1] = 0.3 * half[i] * half[i + 1]
    return np.sum(u * u)


def swept(u: Any, w: Any, steps: Any) -> Any:
    """Gauss-Seidel along both axes."""
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) - w[i, j] * u[i, j] ** 2
        u += 0.1 * np.roll(u, 1, axis=0)
    return np.sum(u * u)


def found(f: Any, shape: tuple[int, ...], ranks: tuple[int, ...], dtype: Any = float, **options: Any) -> list[Any]:
    u, w = np.random.default_rng(3).random((2, *shape)).astype(dtype)

    def run() -> Any:
        grid = adc.Grid(shape, ranks)
        value, gradient = adc.distribute(f, grid, **options).value_and_grad(u.copy(), w.copy(), 2)
        return value, *map(grid.gather, gradient)

    return mpi.simulate(int(np.prod(ranks)), run)


PROGRAMS = [(f, float) for f in (recurrence, thomas, edges, products, in_halves, swept)] + [(thomas, np.float32)]


@pytest.mark.parametrize(("f", "dtype"), PROGRAMS)
def test_bits_of_one_rank(f: Callable[..., Any], dtype: Any) -> None:
    shape = (6, 5) if f is swept else (N,)
    compiled = jit_grad(f, argnums=(0, 1))
    rest = (1,) * (len(shape) - 1)
    one = found(compiled, shape, (1, *rest), dtype)[0]
    several = found(compiled, shape, (3, 2) if rest else (4,), dtype, replicate=True)
    assert all(bits(each) == bits(one) for each in several)
    u, w = np.random.default_rng(3).random((2, *shape)).astype(dtype)
    value, gradient = compiled.value_and_grad(u.copy(), w.copy(), 2)
    assert np.isclose(value, f(u.copy(), w.copy(), 2), rtol=1e-4 if dtype is np.float32 else 1e-12)
    for mine, theirs in zip(one, (value, *gradient), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-4 if dtype is np.float32 else 1e-10)


def test_it_is_refused_otherwise_and_the_way_out_is_named() -> None:
    compiled = jit_grad(recurrence, argnums=(0, 1))
    with pytest.raises(TypeError, match="replicate=True") as caught:
        found(compiled, (N,), (2,))
    assert isinstance(caught.value, errors.CompileTypeError) and caught.value.kind == "not-distributed"


def test_ranks_of_which_one_replicates() -> None:
    def run() -> Any:
        g = adc.distribute(recurrence, adc.Grid((N,)), replicate=mpi.rank() == 0)
        return g(np.ones(N), np.ones(N), 1)

    with pytest.raises(errors.RankError, match="replicate="):
        mpi.simulate(2, run)
