"""Sums that have the same bits for any distribution of their elements over ranks, and their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.programs import SIZES, check_transposed, on_ranks


@jit_grad
def whole(x: Any) -> Any:
    return mpi.allsum(x)


def bits(value: Any) -> bytes:
    return np.asarray(value).tobytes()


def shares(x: Any, rng: Any) -> list[list[Any]]:
    """The elements on one to four ranks, in any order, and some ranks may have none."""
    found = []
    for n in SIZES:
        places = rng.integers(0, n, len(x))
        order = rng.permutation(len(x))
        found.append([x[order][places[order] == k].copy() for k in range(n)])
    return found


RNG = np.random.default_rng(7)
SUMS = {
    "normal": RNG.normal(size=301),
    "scales": RNG.normal(size=97) * 10.0 ** RNG.integers(-300, 300, 97),
    "near": RNG.normal(size=97) * 10.0 ** RNG.integers(-10, 10, 97),
    "cancelling": np.array([1e16, 1.0, -1e16, 3.0, 2.0]),
    "negative": -RNG.random(50) * 1e-3,
    "barely negative": np.array([-1.0, 1.0 - 2.0**-53, 2.0**-60]),
    "subnormal": np.array([5e-324, 5e-324, 0.0, 1e-310, -3e-320]),
    "large": np.array([1.7e308, -1.7e308, 1e308, 2.0**970]),
    "powers": 2.0 ** np.arange(-60.0, 30.0),
    "one": np.array([-0.1]),
    "zeros": np.array([0.0, -0.0]),
    "none": np.zeros(0),
}


@pytest.mark.parametrize("name", SUMS)
def test_same_bits_on_any_number_of_ranks(name: str) -> None:
    x = SUMS[name]
    wanted = math.fsum(x)
    found = whole(x)
    assert abs(found - wanted) <= 2.0 * np.spacing(abs(wanted)) + len(x) * 2.0**-95 * np.max(np.abs(x), initial=0.0)
    for parts in shares(x, np.random.default_rng(0)):
        for f in (whole, mpi.allsum):
            assert {bits(v) for v in on_ranks(f, parts)} == {bits(found)}
    assert bits(whole(-x)) == bits(0.0 - found)


@pytest.mark.parametrize(
    "x, wanted",
    [
        ([np.inf, 1.0, 2.0], np.inf),
        ([1.0, -np.inf, -1e308], -np.inf),
        ([np.inf, -np.inf], np.nan),
        ([np.nan, 1.0], np.nan),
        ([1.7e308, 1.7e308], np.inf),
    ],
)
def test_infinities(x: Any, wanted: float) -> None:
    for parts in shares(np.array(x), np.random.default_rng(1)):
        np.testing.assert_array_equal(on_ranks(whole, parts), wanted)


def test_other_types() -> None:
    single = RNG.normal(size=200).astype(np.float32)
    for parts in shares(single, np.random.default_rng(0)):
        for f in (whole, mpi.allsum):
            assert {bits(v) for v in on_ranks(f, parts)} == {bits(np.float32(math.fsum(single)))}
    for kind in (np.int64, np.int32):
        numbers = np.arange(-3, 9, dtype=kind)
        for parts in shares(numbers, np.random.default_rng(0)):
            assert {int(v) for f in (whole, mpi.allsum) for v in on_ranks(f, parts)} == {30}
    assert on_ranks(whole, [0.5, 0.25]) == [0.75, 0.75]
    rows = [np.ones((2, 3))[:, ::2], np.ones((4, 2)).T]
    assert on_ranks(whole, rows) == [12.0, 12.0]


@jit_grad
def used(x: Any) -> Any:
    """The sum in what differs between ranks, in a loop, and a sum of such."""
    y = x.copy()
    for _ in range(2):
        y = np.sin(y * mpi.allsum(y * x))
    return mpi.allsum(y) * np.sum(x * x)


@pytest.mark.parametrize("n", SIZES)
def test_derivatives_are_transposes(n: int) -> None:
    check_transposed(used, n)


@jit_grad(argnums=(0, 1))
def misfit(u: Any, r: mpi.Same, grid: Any) -> Any:
    v = np.zeros((u.shape[0] + 2, u.shape[1] + 2))
    v[1:-1, 1:-1] = u
    for _ in range(3):
        mpi.exchange(v, grid)
        v[1:-1, 1:-1] += r * np.sin(v[:-2, 1:-1] + v[2:, 1:-1] * v[1:-1, 2:])
    return mpi.allsum(v[1:-1, 1:-1] ** 2) / mpi.allsum(np.ones(u.shape))


def test_blocks() -> None:
    """The value has the same bits on any number of ranks; the gradient is that of one."""
    u = np.random.default_rng(3).normal(size=(6, 7))

    def run() -> Any:
        grid = mpi.grid((0, 0))
        where = grid.block(6, 7)
        return where, misfit.value_and_grad(u[where].copy(), 0.1, grid)

    ((_, (value, (u_bar, r_bar))),) = mpi.simulate(1, run)
    for n in SIZES[1:]:
        for where, (v, (bar, r)) in mpi.simulate(n, run):
            assert bits(v) == bits(value)
            np.testing.assert_allclose(bar, u_bar[where], rtol=1e-11, atol=1e-14)
            np.testing.assert_allclose(r, r_bar, rtol=1e-11)


@jit_grad
def of_each(x: Any) -> Any:
    """Each element has a term by itself, and sums of all."""
    mean = mpi.allsum(x) / mpi.allsum(np.ones(len(x)))
    return mpi.allsum(np.sin(x) * x) * mean


def test_bits_of_gradients() -> None:
    """What depends on sums alone has gradients with the same bits, too."""
    x = np.random.default_rng(4).normal(size=24)
    (wanted,) = mpi.simulate(1, lambda: of_each.grad(x))
    seconds = adc.hvp(of_each, (x,), (np.cos(x),))
    for n in SIZES[1:]:
        assert bits(np.concatenate(on_ranks(of_each.grad, np.split(x, n)))) == bits(wanted)
        found = on_ranks(lambda a, b: adc.hvp(of_each, (a,), (b,)), np.split(x, n), np.split(np.cos(x), n))
        assert bits(np.concatenate(found)) == bits(seconds)


def test_refusals() -> None:
    def apart(x: Any) -> Any:
        return mpi.allsum(x) if x[0] > 0.0 else 0.0

    with pytest.raises(SyntaxError, match="all ranks have to do this at once") as caught:
        jit_grad(apart)(np.ones(3))
    assert isinstance(caught.value, errors.CompileError) and "mpi.allsum(x)" in (caught.value.text or "")
    with pytest.raises(TypeError, match="cannot be sent to other ranks"):
        whole(np.ones(3) + 1j)
