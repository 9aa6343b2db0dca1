"""Messages between all ranks and one of them: values, transposes, gradients as in one process, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.programs import SIZES, check_transposed, on_ranks


@jit_grad
def summed(x: Any) -> Any:
    """Zeros on all but the root: their cotangents must not count."""
    total = mpi.reduce(np.sin(x) * x, root=mpi.size() - 1)
    return np.sum(np.cos(total) * x) + mpi.reduce(x[0]) ** 2 * x[1] + total[0]


@jit_grad
def extreme(x: Any) -> Any:
    return np.sum(mpi.reduce(x * x, "max", mpi.size() - 1) * x) + mpi.reduce(np.min(x), op="min") * x[0]


@jit_grad
def gathered(x: Any) -> Any:
    """The root's rows, and what others do with none."""
    rows = mpi.gather(np.outer(x, x[:2]), mpi.size() // 2)
    y = np.sum(x**3)
    for k in range(len(rows)):
        y += (k + 1.0) * np.sum(np.sin(rows[k]) * x[0])
    return y + np.sum(mpi.gather(x[1]) ** 2) * x[2]


@jit_grad
def scattered(x: Any) -> Any:
    """Rows on each rank, of which those of the root are sent."""
    rows = np.outer(np.arange(1.0, 1.0 + mpi.size()), x**2)
    mine = mpi.scatter(rows, mpi.size() - 1)
    return np.sum(np.sin(mine) * x) + mpi.scatter(rows[:, 1]) * x[0]


@jit_grad
def through_the_root(x: Any) -> Any:
    """To one rank, which works on all, and back; twice, in a helper."""
    y = x.copy()
    for _ in range(2):
        y = worked(y) * x
    return np.sum(y)


def worked(x: Any) -> Any:
    all = mpi.gather(x)
    if mpi.rank() == 0:
        total = np.sum(all, axis=0)
        for k in range(len(all)):
            all[k] = np.cos(all[k] * total) + all[k - 1]
    return mpi.scatter(all)


@jit_grad
def windows(x: Any) -> Any:
    back, odd = mpi.gather(x[::-1]), mpi.gather(np.outer(x, np.sin(x)).T[1:, ::2])
    return np.sum(mpi.scatter(back) * x) + np.sum(mpi.scatter(odd) * x[1:, np.newaxis]) + np.sum(mpi.gather(x[:0]))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    "f", [summed, extreme, gathered, scattered, through_the_root, windows], ids=lambda f: f.__name__
)
def test_derivatives_are_transposes(f: Any, n: int) -> None:
    check_transposed(f, n)


@jit_grad(argnums=(0, 1))
def loss(x: Any, r: mpi.Same) -> Any:
    """The root has the whole array, hands out what it makes of it, and the sum is that of all."""
    all = mpi.gather(x * r)
    mine = mpi.scatter(np.sin(np.cumsum(all, axis=0)))
    total = mpi.bcast(mpi.reduce(np.sum(mine * x)))
    return total**2 * r


@jit_grad(argnums=(0, 1))
def loss_of_one(x: Any, r: Any) -> Any:
    return np.sum(np.sin(np.cumsum(x * r, axis=0)) * x) ** 2 * r


@pytest.mark.parametrize("n", SIZES)
def test_gradients_are_those_of_one_process(n: int) -> None:
    rng = np.random.default_rng(n)
    x, r, dot = rng.normal(size=(n, 3)), 0.7, rng.normal(size=(n, 3))
    value, (x_bar, r_bar) = loss_of_one.value_and_grad(x, r)
    second, mixed = adc.hvp(loss_of_one, (x, r), (dot, 0.3), argnums=(0, 1))
    found = on_ranks(loss.value_and_grad, list(x), same=(r,))
    curved = on_ranks(lambda x, dot: adc.hvp(loss, (x, r), (dot, 0.3), argnums=(0, 1)), list(x), list(dot))
    for k, ((v, (a, b)), (c, d)) in enumerate(zip(found, curved, strict=True)):
        np.testing.assert_allclose([v, b, d], [value, r_bar, mixed], rtol=1e-12)
        np.testing.assert_allclose(a, x_bar[k], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(c, second[k], rtol=1e-11, atol=1e-12)


def test_values_and_dtypes() -> None:
    def run() -> Any:
        k, n = mpi.rank(), mpi.size()
        x = np.arange(3, dtype=np.float32) + np.float32(k)
        rows = np.arange(2 * n).reshape(n, 2) if k == 1 else np.empty((0, 2), int)
        return mpi.reduce(x, root=1), mpi.gather(x, 1), mpi.scatter(rows, 1), mpi.gather(k), mpi.reduce(k, "max")

    for k, found in enumerate(mpi.simulate(3, run)):
        for a, b in zip(found, mpi.simulate(3, jit_grad(run))[k], strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
        total, rows, mine, ranks, last = found
        assert total.dtype == rows.dtype == np.float32 and mine.dtype == np.int64
        np.testing.assert_array_equal(total, [3.0, 6.0, 9.0] if k == 1 else np.zeros(3))
        assert rows.shape == ((3, 3) if k == 1 else (0, 3))
        np.testing.assert_array_equal(mine, [2 * k, 2 * k + 1])
        np.testing.assert_array_equal(ranks, [0, 1, 2] if k == 0 else [])
        assert last == (2 if k == 0 else 0)


@jit_grad(checkpoint=adc.revolve(3))
def in_steps(x: Any, count: mpi.Same) -> Any:
    u = x.copy()
    for _ in range(count):
        mine = mpi.scatter(mpi.gather(u) * 0.5)
        u[:] = np.sin(u) + mine * mpi.bcast(mpi.reduce(u[0]))
    return mpi.allreduce(np.sum(u * u))


def test_schedules() -> None:
    xs = [np.arange(3.0) * 0.1, np.arange(3.0) * 0.2 + 0.1]
    kept = jit_grad(in_steps.__wrapped__)
    for a, b in zip(on_ranks(in_steps.grad, xs, same=(8,)), on_ranks(kept.grad, xs, same=(8,)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    assert "steps of in_steps: at most 3 snapshots of u" in str(in_steps.report())


def on_the_root(x: Any) -> Any:
    if mpi.rank() == 0:
        return np.sum(mpi.gather(x))
    return 0.0


def as_many_as_gathered(x: Any) -> Any:
    total = 0.0
    for _ in range(len(mpi.gather(x))):  # which is none on other ranks
        total += mpi.reduce(x[0])
    return total


@pytest.mark.parametrize("f", [on_the_root, as_many_as_gathered])
def test_under_a_condition_of_the_rank(f: Any) -> None:
    with pytest.raises(SyntaxError, match="all ranks have to do this at once") as caught:
        jit_grad(f)(np.ones(3))
    assert isinstance(caught.value, errors.CompileError) and caught.value.kind == "collective-apart"
    assert caught.value.filename == __file__


@pytest.mark.parametrize(
    "f",
    [lambda x: mpi.reduce(np.sum(x)), lambda x: np.sum(mpi.gather(x)), lambda x: mpi.scatter(mpi.gather(x[0])) * x[0]],
)
def test_what_the_root_has_is_not_the_same_on_all(f: Any) -> None:
    with pytest.raises(TypeError, match="may differ between ranks"):
        adc.grad(f)(np.ones(3))


def test_errors() -> None:
    x = np.ones(3)
    for f in (mpi.reduce, mpi.gather, mpi.scatter):
        for function in (f, jit_grad(lambda x, root, f=f: f(x, root=root))):
            for n in (1, 2):
                rows = [x[:n]] * n
                with pytest.raises(ValueError, match=f"there is no rank 5: there are {n}"):
                    on_ranks(function, rows, same=(5,)) if function is not f else on_ranks(
                        lambda x, f=f: f(x, root=5), rows
                    )
                with pytest.raises(ValueError, match="the root is a rank: 0 or more"):
                    on_ranks(lambda x, f=f: f(x, root=mpi.NOBODY), rows)
    with pytest.raises(ValueError, match="the root is a rank: 0 or more"):
        on_ranks(lambda x: mpi.bcast(x, mpi.NOBODY), [x, x])
    with pytest.raises(ValueError, match=r"one row for each rank: there are 2 ranks, and 3 rows"):
        on_ranks(jit_grad(mpi_scatter), [x, x])
    with pytest.raises(ValueError, match=r"one row for each rank: there are 1 ranks, and 3 rows"):
        mpi.scatter(np.ones((3, 2)))
    with pytest.raises(errors.RankError, match="rank 0 does scatter from rank 0 of 2 float64"):
        on_ranks(mpi_scatter, [np.ones((2, 2)), np.ones((0, 3))])
    with pytest.raises(errors.RankError, match=r"rank 0 does gather to rank 0 of 3 float64 in line \d+:12; rank 1"):
        on_ranks(jit_grad(mpi_gather), [x, x[:2]])
    with pytest.raises(errors.RankError, match="ranks do not do the same"):
        on_ranks(lambda x: mpi.reduce(x, root=mpi.rank()), [x, x])
    with pytest.raises(ValueError, match="takes an array with one row for each rank"):
        mpi.scatter(1.0)
    with pytest.raises(errors.AdcError, match=r"no op='product'"):
        jit_grad(lambda x: mpi.reduce(x, "product"))(x)


def mpi_scatter(x: Any) -> Any:
    return mpi.scatter(x)


def mpi_gather(x: Any) -> Any:
    return mpi.gather(x)
