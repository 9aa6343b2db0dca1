"""Checkpointed loops with messages: all ranks run the same steps again, and gradients keep their bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, mpi

pytestmark = pytest.mark.usefixtures("stages")


def steps(u0: Any, r: mpi.Same, grid: Any, count: mpi.Same) -> Any:
    u = np.zeros(len(u0) + 2)
    u[1:-1] = u0
    size = 1.0
    for _ in range(count):
        mpi.exchange(u, grid)
        u[1:-1] += r * np.sin(u[:-2] * size - 2.0 * u[1:-1] + u[2:])
        size = mpi.allreduce(np.max(u), "max")
    return mpi.allreduce(np.sum(u[1:-1] ** 3)) + size


def until(u0: Any, r: mpi.Same, grid: Any, count: mpi.Same) -> Any:
    """A loop whose length is not known before."""
    u = np.zeros(len(u0) + 2)
    u[1:-1] = u0
    size, done = mpi.allreduce(np.sum(u * u)), 0
    while size > 1e-3 and done < count:
        mpi.exchange(u, grid)
        u[1:-1] = r * np.sin(u[:-2] + u[2:]) + 0.1 * u[1:-1]
        size = mpi.allreduce(np.sum(u * u))
        done += 1
    return mpi.allreduce(np.sum(u[1:-1] ** 3))


@adc.checkpoint
def stage(u: Any, r: Any, grid: Any) -> Any:
    v = u.copy()
    for _ in range(2):
        mpi.exchange(v, grid)
        v[1:-1] += r * np.sin(v[:-2] - 2.0 * v[1:-1] + v[2:]) * mpi.allreduce(np.sum(v[1:-1]))
    return v


def stages(u0: Any, r: mpi.Same, grid: Any, count: mpi.Same) -> Any:
    u = np.zeros(len(u0) + 2)
    u[1:-1] = u0
    for _ in range(count):
        u = stage(u, r, grid)
    return mpi.allreduce(np.sum(u[1:-1] ** 3))


U = np.random.default_rng(1).normal(size=9)


def gradients(f: Any, n: int) -> list[Any]:
    def run() -> Any:
        grid = mpi.grid((0,), periodic=True)
        return f.value_and_grad(U[grid.block(len(U))].copy(), 0.3, grid, 7)

    return mpi.simulate(n, run)


def check_equal(found: Any, wanted: Any) -> None:
    for (value, (u_bar, r_bar)), (other, (v_bar, s_bar)) in zip(found, wanted, strict=True):
        assert value == other
        np.testing.assert_allclose(u_bar, v_bar, rtol=1e-13)
        np.testing.assert_allclose(r_bar, s_bar, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "f, schedule",
    [(steps, adc.revolve(2)), (steps, adc.every(3)), (until, adc.every(1))],
    ids=["two snapshots", "each third step", "until"],
)
def test_schedules(f: Any, schedule: Any, n: int) -> None:
    plain, scheduled = (jit_grad(argnums=(0, 1), checkpoint=c)(f) for c in (None, schedule))
    check_equal(gradients(scheduled, n), gradients(plain, n))
    if n == 1:
        value, bars = gradients(plain, 1)[0]
        many = gradients(plain, 3)
        np.testing.assert_allclose([v for v, _ in many], value, rtol=1e-12)
        np.testing.assert_allclose(np.concatenate([b[0] for _, b in many]), bars[0], rtol=1e-11)
        np.testing.assert_allclose([b[1] for _, b in many], bars[1], rtol=1e-11)


def test_schedule_acts() -> None:
    scheduled = jit_grad(argnums=(0, 1), checkpoint=adc.revolve(2))(steps)
    gradients(scheduled, 2)
    sent: list[str] = []

    def run() -> Any:
        grid = mpi.grid((0,), periodic=True)
        return scheduled.value_and_grad(U[:3], 0.3, grid, 7)

    from adc.mpi import simulated

    before = simulated._Rank.exchange

    def counted(self: Any, *args: Any) -> None:
        sent.append("one")
        before(self, *args)

    simulated._Rank.shift = counted  # type: ignore[method-assign]
    try:
        mpi.simulate(1, run)
    finally:
        simulated._Rank.shift = before  # type: ignore[method-assign]
    assert len(sent) > 2 * 7 * 2  # each step, its adjoint, and steps once more


@pytest.mark.parametrize("n", [1, 3])
def test_functions_that_are_run_again(n: int) -> None:
    again = jit_grad(argnums=(0, 1))(stages)
    value, (u_bar, r_bar) = gradients(again, 1)[0]
    found = gradients(again, n)
    np.testing.assert_allclose([v for v, _ in found], value, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([b[0] for _, b in found]), u_bar, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose([b[1] for _, b in found], r_bar, rtol=1e-10)
    h = 1e-6
    higher, lower = (
        again(U, r, mpi.Grid((1,), (0,), ((0, 0),)), 7) for r in (0.3 + h, 0.3 - h)
    )
    np.testing.assert_allclose(r_bar, (higher - lower) / (2 * h), rtol=1e-6)


def test_messages_of_two_keep_the_tape() -> None:
    """A message may be sent in one step and received in another."""

    def f(u: Any, count: mpi.Same) -> Any:
        v = u.copy()
        for _ in range(count):
            v = np.sin(mpi.sendrecv(v, mpi.rank(), mpi.rank()))
        return mpi.allreduce(np.sum(v))

    with pytest.raises(TypeError, match="the steps of this loop cannot be run again"):
        jit_grad(checkpoint=adc.revolve(2))(f).grad(U, 5)


def test_budgets_may_differ_between_ranks() -> None:
    def f(u: Any, count: mpi.Same) -> Any:
        v, size = u.copy(), 1.0
        for _ in range(count):
            v = np.sin(v) * size
            size = mpi.allreduce(0.1 * size)
        return mpi.allreduce(np.sum(v))

    scheduled = jit_grad(checkpoint=None, memory=10**6)(f)
    np.testing.assert_array_equal(scheduled.grad(U, 5), jit_grad(f).grad(U, 5))
    assert "several ranks run it together" in str(scheduled.report())
