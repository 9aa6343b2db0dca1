"""Schedules on several ranks: all run the same steps again, and the bits are those of one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.stencils import bits

pytestmark = pytest.mark.usefixtures("stages")


def ripple(u0: Any, r: Any, steps: Any) -> Any:
    """Two fields, and steps that are not linear."""
    u, w = u0.copy(), 0.5 * u0
    for _ in range(steps):
        v = 2.0 * u - w
        v[1:-1, 1:-1] += r * u[1:-1, 1:-1] * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        w, u = u, np.sin(v)
    return np.sum(u * w)


def on_ranks(ranks: tuple[int, int], f: Any, *args: Any) -> list[Any]:
    def run() -> Any:
        grid = adc.Grid(args[0].shape, ranks)
        value, (u_bar, r_bar) = adc.distribute(f, grid).value_and_grad(*args)
        return value, grid.gather(u_bar), r_bar

    return mpi.simulate(ranks[0] * ranks[1], run)


unscheduled = jit_grad(argnums=(0, 1))(ripple)  # one for all: compiled once


def given() -> tuple[Any, ...]:
    return np.random.default_rng(3).random((9, 8)), 0.05, 7


@pytest.mark.parametrize("schedule", [adc.revolve(2), "sqrt", adc.every(3)], ids=str)
def test_bits_are_those_without_a_schedule_on_any_number_of_ranks(schedule: Any) -> None:
    f = jit_grad(argnums=(0, 1), checkpoint=schedule)(ripple)
    value, (u_bar, r_bar) = unscheduled.value_and_grad(*given())
    assert value == pytest.approx(ripple(*given()), rel=1e-13)
    (one,) = on_ranks((1, 1), f, *given())
    np.testing.assert_allclose(one[1], u_bar, rtol=1e-12)
    assert one[0] == pytest.approx(value, rel=1e-14)
    assert one[2] == pytest.approx(r_bar, rel=1e-12)
    for ranks in ((3, 1), (2, 2)):
        assert {bits(found) for found in on_ranks(ranks, f, *given())} == {bits(one)}, ranks


def fluid(h0: Any, hu0: Any, steps: Any) -> Any:
    """Ends of arrays are written after the middle: what is kept of a step is said by several extents."""
    h, hu = h0.copy(), 0.1 * hu0
    for _ in range(steps):
        hm = 0.5 * (h[1:] + h[:-1]) - 0.02 * np.diff(hu)
        um = 0.5 * (hu[1:] + hu[:-1]) - 0.02 * np.diff(hu**2 / h + h**2)
        h[1:-1] = h[1:-1] - 0.05 * np.diff(um)
        hu[1:-1] = hu[1:-1] - 0.05 * np.diff(um**2 / hm + hm**2)
        hu[0] = -hu[1]
        hu[-1] = -hu[-2]
        h[0] = h[1]
        h[-1] = h[-2]
    return np.sum(h * hu) + h[7]


def test_arrays_that_are_written_in_parts() -> None:
    args = (*(1.0 + np.random.default_rng(3).random((2, 15))), 5)
    value, gradient = jit_grad(argnums=(0, 1))(fluid).value_and_grad(*args)
    f = jit_grad(argnums=(0, 1), checkpoint=adc.revolve(2))(fluid)

    def run() -> Any:
        grid = adc.Grid((15,))
        found, bars = adc.distribute(f, grid).value_and_grad(*args)
        return found, *map(grid.gather, bars)

    (one,) = mpi.simulate(1, run)
    np.testing.assert_allclose(one[1:], gradient, rtol=1e-12)
    assert one[0] == pytest.approx(value, rel=1e-14)
    assert {bits(found) for found in mpi.simulate(3, run)} == {bits(one)}


def bordered(u0: Any, nu: Any, steps: Any) -> Any:
    """Periodic along the first axis, reflecting along the second: single rows and columns are kept of a step."""
    n, m = u0.shape
    u = u0
    for _ in range(steps):
        v = np.empty_like(u)
        for i in range(n):
            for j in range(m):
                below = u[i + 1, j] if i + 1 < n else u[0, j]
                above = u[i - 1, j] if i > 0 else u[n - 1, j]
                right = u[i, j + 1] if j < m - 1 else u[i, m - 2]
                left = u[i, j - 1] if j > 0 else u[i, 1]
                v[i, j] = u[i, j] - 0.05 * u[i, j] * (below - above) + nu * (left + right - 2.0 * u[i, j])
        u = v
    return np.mean(u**2)


def test_borders_of_two_kinds() -> None:
    f = jit_grad(argnums=(0, 1), checkpoint=adc.revolve(2))(bordered)
    args = np.random.default_rng(3).random((7, 6)), 0.1, 3
    value, (u_bar, nu_bar) = jit_grad(argnums=(0, 1))(bordered).value_and_grad(*args)
    (one,) = on_ranks((1, 1), f, *args)
    np.testing.assert_allclose(one[1], u_bar, rtol=1e-12, atol=1e-15)
    assert one[0] == pytest.approx(value, rel=1e-13)
    assert one[2] == pytest.approx(nu_bar, rel=1e-12)
    assert {bits(found) for found in on_ranks((2, 2), f, *args)} == {bits(one)}


def test_steps_are_run_again() -> None:
    """More messages are sent than without a schedule."""

    def sent(f: Any) -> Any:
        grid = adc.Grid((9, 8))
        adc.distribute(f, grid).value_and_grad(*given())
        return grid.sent[0]

    scheduled = jit_grad(argnums=(0, 1), checkpoint=adc.revolve(1))(ripple)
    assert mpi.simulate(2, sent, scheduled)[0] > mpi.simulate(2, sent, unscheduled)[0]


def test_snapshots_on_disk(tmp_path: Any) -> None:
    f = jit_grad(argnums=(0, 1), checkpoint=adc.revolve(1, disk=2, directory=str(tmp_path)))(ripple)
    one = on_ranks((1, 1), unscheduled, *given())[0]
    assert {bits(found) for found in on_ranks((2, 1), f, *given())} == {bits(one)}


def test_a_budget_is_refused() -> None:
    with pytest.raises(errors.AdcError, match="memory="):
        adc.distribute(jit_grad(memory=10**6)(ripple), adc.Grid((9, 8)))


def point(u0: Any, source: Any, steps: Any) -> Any:
    """A check of subscripts: there are two versions of the steps, each with a record."""
    u = u0.copy()
    for t in range(steps):
        u[1:-1] += 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        u[3] += source[t]
    return np.sum(u * u)


def test_steps_in_versions() -> None:
    u0, source = np.random.default_rng(4).random(11), np.linspace(0.1, 0.2, 6)
    f = jit_grad(checkpoint=adc.revolve(2))(point)

    def run(steps: int) -> Any:
        grid = adc.Grid(u0.shape)
        value, gradient = adc.distribute(f, grid).value_and_grad(u0, source, steps)
        return value, grid.gather(gradient)

    (one,) = mpi.simulate(1, run, 6)
    assert one[0] == pytest.approx(point(u0, source, 6), rel=1e-13)
    np.testing.assert_allclose(one[1], jit_grad(point).grad(u0, source, 6), rtol=1e-12)
    assert {bits(found) for found in mpi.simulate(3, run, 6)} == {bits(one)}
    with pytest.raises(IndexError):
        mpi.simulate(3, run, 7)
