"""Blocks of arrays over grids of ranks, and halo exchange: against one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import errors, jit_grad, mpi
from tests.ranks.programs import check_transposed


@jit_grad(argnums=(0, 1))
def blocks(u0: Any, c: mpi.Same, grid: mpi.Grid, steps: mpi.Same) -> Any:
    """Nine points with a nonlinear term: corners matter."""
    u = np.zeros((u0.shape[0] + 2, u0.shape[1] + 2))
    u[1:-1, 1:-1] = u0
    for _ in range(steps):
        mpi.exchange(u, grid)
        u[1:-1, 1:-1] += c * (u[:-2, :-2] + u[2:, 1:-1] * u[1:-1, 2:] - u[2:, 2:] - u[1:-1, 1:-1])
    return mpi.allreduce(np.sum(u[1:-1, 1:-1] ** 2))


@jit_grad(argnums=(0, 1))
def whole(u0: Any, c: Any, periodic: Any, steps: Any) -> Any:
    n, m = u0.shape
    u = np.zeros((n + 2, m + 2))
    u[1:-1, 1:-1] = u0
    for _ in range(steps):
        if periodic:
            u[0] = u[-2]
            u[-1] = u[1]
            u[:, 0] = u[:, -2]
            u[:, -1] = u[:, 1]
        u[1:-1, 1:-1] += c * (u[:-2, :-2] + u[2:, 1:-1] * u[1:-1, 2:] - u[2:, 2:] - u[1:-1, 1:-1])
    return np.sum(u[1:-1, 1:-1] ** 2)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("n, shape", [(1, (1, 1)), (2, (0, 1)), (3, (1, 0)), (4, (0, 0)), (6, (2, 3))])
def test_blocks_are_the_whole(n: int, shape: tuple[int, int], periodic: bool) -> None:
    u = 0.5 * np.random.default_rng(0).normal(size=(6, 7))
    value, (u_bar, c_bar) = whole.value_and_grad(u, 0.2, periodic, 3)

    def run() -> Any:
        grid = mpi.grid(shape, periodic)
        where = grid.block(6, 7)
        return where, blocks.value_and_grad(u[where].copy(), 0.2, grid, 3)

    found = np.full(u.shape, np.nan)
    for where, (part, (bar, c)) in mpi.simulate(n, run):
        np.testing.assert_allclose(part, value, rtol=1e-13)
        np.testing.assert_allclose(c, c_bar, rtol=1e-12)
        found[where] = bar
    np.testing.assert_allclose(found, u_bar, rtol=1e-12, atol=1e-14)


@jit_grad
def wide(x: Any) -> Any:
    """Two rows on each side, along the only axis, of an array whose rows are not contiguous; twice."""
    n, k = mpi.size(), mpi.rank()
    u = np.outer(np.arange(3.0) + 1.0, x).T
    sides = ((k - 1, k + 1 if k + 1 < n else mpi.NOBODY),)
    grid = mpi.Grid((n,), (k,), sides)
    mpi.exchange(u, grid, 2)
    u *= u
    mpi.exchange(u, grid, width=2)
    return np.sum(u[1:] * u[:-1])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_wide_halos_are_transposed(n: int) -> None:
    check_transposed(wide, n, length=7)


def test_shapes() -> None:
    def shape_of(*given: int) -> tuple[int, ...]:
        return mpi.grid(given).shape

    assert mpi.simulate(12, shape_of, 0, 0)[0] == (3, 4)
    assert mpi.simulate(6, shape_of, 2, 0, 1)[5] == (2, 3, 1)
    assert mpi.simulate(6, lambda: mpi.grid((2, 3)).at)[4] == (1, 1)
    assert mpi.simulate(6, lambda: mpi.grid((2, 3)).sides)[4] == ((1, mpi.NOBODY), (3, 5))
    assert mpi.simulate(6, lambda: mpi.grid((2, 3), (True, False)).sides)[5] == ((2, 2), (4, mpi.NOBODY))
    assert [mpi.simulate(3, lambda: mpi.grid((0,)).block(7))[k] for k in range(3)] == [
        (slice(0, 3),),
        (slice(3, 5),),
        (slice(5, 7),),
    ]
    with pytest.raises(errors.ArgumentValueError, match=r"1 ranks do not fill a grid of \(2, 1\)"):
        mpi.grid((2, 1))
