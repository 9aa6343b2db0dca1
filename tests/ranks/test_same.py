"""Values that are the same on all ranks: gradients have no factor of the number of ranks, and equal one process's."""

from __future__ import annotations

import types
from typing import Annotated, Any

import numpy as np
import pytest

import adc
from adc import jit_grad, mpi
from adc.driver.fingerprints import digest
from tests.ranks.programs import SIZES, on_ranks


@jit_grad(argnums=(0, 1, 2))
def loss(x: Any, r: mpi.Same, w: mpi.Same) -> Any:
    n, k = mpi.size(), mpi.rank()
    y = mpi.sendrecv(x, (k + 1) % n, (k - 1) % n)
    mean = mpi.allreduce(np.sum(y * np.sin(x * r))) / mpi.allreduce(len(x))
    return mean**2 * r + mpi.allreduce(np.sum(x**3 * w)) + np.sum(w**2)


@jit_grad(argnums=(0, 1, 2))
def loss_of_one(x: Any, r: Any, w: Any) -> Any:
    total, cubes = 0.0, 0.0
    for k in range(len(x)):
        total += np.sum(x[k - 1] * np.sin(x[k] * r))
        cubes += np.sum(x[k] ** 3 * w)
    return (total / x.size) ** 2 * r + cubes + np.sum(w**2)


@pytest.mark.parametrize("n", SIZES)
def test_gradient_is_that_of_one_process(n: int) -> None:
    rng = np.random.default_rng(n)
    x, r, w = rng.normal(size=(n, 3)), 0.7, rng.normal(size=3)
    value, (x_bar, r_bar, w_bar) = loss_of_one.value_and_grad(x, r, w)
    for k, (v, bars) in enumerate(on_ranks(loss.value_and_grad, list(x), same=(r, w))):
        np.testing.assert_allclose(v, value, rtol=1e-14)
        for bar, wanted in zip(bars, (x_bar[k], r_bar, w_bar), strict=True):
            np.testing.assert_allclose(bar, wanted, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 3])
def test_pullback_and_hvp_are_those_of_one_process(n: int) -> None:
    rng = np.random.default_rng(n)
    x, r, w = rng.normal(size=(n, 3)), 0.7, rng.normal(size=3)
    dots = rng.normal(size=(n, 3)), 0.4, rng.normal(size=3)
    whole = adc.hvp(loss_of_one, (x, r, w), dots, argnums=(0, 1, 2))
    found = on_ranks(
        lambda x, dot: adc.hvp(loss, (x, r, w), (dot, *dots[1:]), argnums=(0, 1, 2)), list(x), list(dots[0])
    )
    _, back = loss_of_one.pullback(x, r, w)
    wanted = back(-2.0)

    def pulled(x: Any) -> Any:
        _, back = loss.pullback(x, r, w)
        return back(-2.0)

    for k, (second, bars) in enumerate(zip(found, on_ranks(pulled, list(x)), strict=True)):
        for one, all in ((second, whole), (bars, wanted)):
            np.testing.assert_allclose(one[0], all[0][k], rtol=1e-11, atol=1e-12)
            np.testing.assert_allclose(one[1], all[1], rtol=1e-11)
            np.testing.assert_allclose(one[2], all[2], rtol=1e-11, atol=1e-12)


@jit_grad(argnums=(0, 1))
def steps(u: Any, r: mpi.Same, count: mpi.Same) -> Any:
    """Heat in blocks, each with one point of its neighbours at both ends; until it has cooled down."""
    n, k = mpi.size(), mpi.rank()
    left, right = k - 1, k + 1 if k + 1 < n else mpi.NOBODY
    v = np.zeros(len(u) + 2)
    v[1:-1] = u
    for _ in range(count):
        v[:1] = mpi.sendrecv(v[-2:-1], right, left)
        v[-1:] = mpi.sendrecv(v[1:2], left, right)
        v[1:-1] += r * (v[:-2] - 2.0 * v[1:-1] + v[2:])
    size = mpi.allreduce(np.sum(v[1:-1] ** 2))
    while size > 0.5:
        v *= 0.5
        size = mpi.allreduce(np.sum(v[1:-1] ** 2))
    return mpi.allreduce(np.sum(v[1:-1] ** 3)) + size


@jit_grad(argnums=(0, 1))
def steps_of_one(u: Any, r: Any, count: Any) -> Any:
    v = np.zeros(len(u) + 2)
    v[1:-1] = u
    for _ in range(count):
        v[1:-1] += r * (v[:-2] - 2.0 * v[1:-1] + v[2:])
    size = np.sum(v[1:-1] ** 2)
    while size > 0.5:
        v *= 0.5
        size = np.sum(v[1:-1] ** 2)
    return np.sum(v[1:-1] ** 3) + size


@pytest.mark.parametrize("n", SIZES)
def test_blocks_of_heat(n: int) -> None:
    u = np.random.default_rng(0).normal(size=12)
    value, (u_bar, r_bar) = steps_of_one.value_and_grad(u, 0.2, 5)
    found = on_ranks(steps.value_and_grad, np.split(u, n), same=(0.2, 5))
    assert {v for v, _ in found} == {found[0][0]}
    assert {bar for _, (_, bar) in found} == {found[0][1][1]}
    np.testing.assert_allclose(found[0][0], value, rtol=1e-13)
    np.testing.assert_allclose(found[0][1][1], r_bar, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([bars[0] for _, bars in found]), u_bar, rtol=1e-12, atol=1e-14)


@jit_grad
def with_aux(x: Any) -> Any:
    total = mpi.allreduce(np.sum(x * x))
    return total, (x + total, total)


def test_aux_and_pairs() -> None:
    xs = [np.arange(2.0), np.arange(2.0) + 1.0]
    gradient = adc.value_and_grad(with_aux.__wrapped__, has_aux=True)
    for x, ((value, (moved, _)), bar) in zip(xs, on_ranks(gradient, xs), strict=True):
        assert value == 6.0
        np.testing.assert_array_equal(moved, x + 6.0)
        np.testing.assert_array_equal(bar, 2.0 * x)


@jit_grad
def pair(x: Any) -> Any:
    """One number that is the same, one that is not."""
    return mpi.allreduce(np.sum(x * x)), x[0] ** 3


def test_cotangents_of_a_pair() -> None:
    xs = [np.arange(2.0) + 1.0, np.arange(2.0) + 2.0]

    def pulled(x: Any) -> Any:
        _, back = pair.pullback(x)
        return back((10.0, 1.0 + mpi.rank()))[0]

    for k, (x, bar) in enumerate(zip(xs, on_ranks(pulled, xs), strict=True)):
        np.testing.assert_allclose(bar, 20.0 * x + (1.0 + k) * 3.0 * np.array([x[0] ** 2, 0.0]))


@jit_grad
def tied(x: Any) -> Any:
    return mpi.allreduce(x, "max") * 2.0


def test_the_first_of_equals_has_the_derivative() -> None:
    assert on_ranks(tied.grad, [1.0, 3.0, 3.0]) == [0.0, 2.0, 0.0]


def test_annotations_tell_records_apart() -> None:
    """Code that an earlier process compiled is for the same annotations."""

    def f(x: Any, r: mpi.Same) -> Any:
        return mpi.allreduce(np.sum(x)) * r

    other = types.FunctionType(f.__code__, f.__globals__, f.__name__)
    assert digest(f) != digest(other)
    other.__annotations__ = {"x": "float", "r": "Annotated[float, mpi.Same]"}
    assert digest(f) == digest(other)


def test_annotated() -> None:
    @jit_grad(argnums=1)
    def f(x: Any, r: Annotated[float, mpi.Same]) -> Any:
        return mpi.allreduce(np.sum(x)) * r

    assert on_ranks(f.grad, [np.ones(3), np.ones(2)], same=(2.0,)) == [5.0, 5.0]
