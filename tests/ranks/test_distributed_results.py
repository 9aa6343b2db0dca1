"""Results, effects and small grids of distributed functions: right on any number of ranks, or refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks import stencils


def field(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape)


@dataclass
class Pair:
    first: Any
    second: Any


def whole(grid: adc.Grid, x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [whole(grid, each) for each in x]
    if isinstance(x, dict):
        return {key: whole(grid, each) for key, each in x.items()}
    if isinstance(x, Pair):
        return [whole(grid, each) for each in (x.first, x.second)]
    return grid.gather(x) if isinstance(x, adc.Field) else x


def equal(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        for a, b in zip(found, expected, strict=True):
            equal(a, b)
    elif isinstance(expected, Pair):
        equal(found, [expected.first, expected.second])
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        equal(list(found.values()), list(expected.values()))
    else:
        np.testing.assert_array_equal(found, expected)


def rows(u: Any) -> Any:
    """Results of the grid's extents, of others, of fewer axes, of axes that changed places; views."""
    made = {"a": [u - 1.0, 3.0], "b": Pair(u * u, 2)}
    return 2.0 * u, u[3:-3].copy(), u.T.copy(), u[:, 3] * 2.0, u[1:, :] + 1.0, u[2:], u.T, made


def columns(u: Any) -> Any:
    return 3.0 * u[2, :], u[:, 2:], u[5], u[:, :-4] * u[:, 4:]


@pytest.mark.parametrize(("f", "ranks"), [(rows, (3, 1)), (columns, (1, 2)), (columns, (1, 1))])
def test_results_of_any_extents_are_whole_or_fields(f: Any, ranks: tuple[int, int]) -> None:
    x = field(13, 11)

    def run() -> Any:
        grid = adc.Grid(x.shape, ranks)
        return whole(grid, adc.distribute(f, grid)(x))

    for found in mpi.simulate(ranks[0] * ranks[1], run):
        equal(found, f(x))


def test_what_may_be_a_view_in_a_branch_is_refused() -> None:
    def either(u: Any) -> Any:
        if u[0, 0] > 0.0:
            return u[1:]
        return u + 1.0

    def run() -> Any:
        return adc.distribute(either, adc.Grid((13, 11)))(field(13, 11))

    with pytest.raises(errors.CompileTypeError, match="cannot be told"):
        mpi.simulate(2, run)


def test_effects_in_arrays_that_are_passed_whole() -> None:
    def shift(u: Any, v: Any) -> Any:
        u[1:, :] = 2.0 * v[:-1, :]
        return np.sum(u * v)

    def run() -> Any:
        u, v = field(7, 4), field(7, 4) + 1.0
        distributed = adc.distribute(shift, adc.Grid(u.shape))
        with pytest.raises(errors.AdcError, match="in common"):
            distributed(u, u[::-1])
        return distributed(u, v), u, v

    u, v = field(7, 4), field(7, 4) + 1.0
    value = shift(u, v)
    for found, after, same in mpi.simulate(3, run):
        assert float(found) == pytest.approx(float(value), rel=1e-14)
        equal((after, same), (u, v))


@jit_grad
def wide(u: Any) -> Any:
    """Two loops that reach over three elements; an array that is shorter by two; differences of differences."""
    n = len(u)
    v = u.copy()
    for i in range(3, n - 3):
        v[i] = u[i - 3] * u[i + 3] + u[i]
    w = np.zeros(max(n - 2, 0))
    for i in range(n - 2):
        w[i] = v[i] * v[i + 2]
    d = u[1:] - u[:-1]
    e = d[1:] * d[:-1]
    v[0] += 2.0 * u[-1]
    return np.sum(w * w) + np.sum(e * e) + np.sum(v * v)


def on_ranks(count: int, f: Any, x: Any, *rest: Any) -> Any:
    def run() -> Any:
        grid = adc.Grid(x.shape)
        value, bar = adc.distribute(f, grid).value_and_grad(x, *rest)
        return float(value), grid.gather(bar).tolist()

    found = mpi.simulate(count, run)
    assert all(each == found[0] for each in found)
    return found[0]


def test_grids_of_a_few_rows() -> None:
    """Smaller than what a loop reaches over, blocks of one row, of none, narrower than that."""
    for n in (1, 2, 3, 4, 7, 9):
        x = field(n) + 0.5
        value, bar = wide.value_and_grad(x)
        one = on_ranks(1, wide, x)
        np.testing.assert_allclose(one[0], value, rtol=1e-13)
        np.testing.assert_allclose(one[1], bar, rtol=1e-13, atol=1e-15)
        for count in (2, 3, 6):
            assert on_ranks(count, wide, x) == one, (n, count)


def test_an_array_that_is_not_always_about_as_long_as_the_grid_is_not_cut() -> None:
    @jit_grad
    def least(u: Any, most: Any) -> Any:
        n = len(u)
        v = np.zeros(max(n - 1, 4))
        for i in range(min(n, most)):
            v[i] = u[i] * u[i]
        return np.sum(v[1:] * v[:-1])

    for n in (2, 4):  # on several ranks each would need all of what it is computed from
        x = field(n)
        assert on_ranks(1, least, x, 4)[0] == pytest.approx(float(least(x, 4)), rel=1e-14)
        with pytest.raises((errors.CompileTypeError, ValueError), match="all of this array"):
            on_ranks(2, least, x, 4)


def test_loops_of_a_few_iterations_are_run_by_all_ranks() -> None:
    @jit_grad
    def few(u: Any) -> Any:
        v = np.zeros(max(len(u) - 1, 4))
        for i in range(min(len(u), 4)):
            v[i] = u[i] * u[i]
        return np.sum(v[1:] * v[:-1]) + np.sum(u)

    for n in (2, 4, 9):
        x = field(n)
        value, bar = few.value_and_grad(x)
        one = on_ranks(1, few, x)
        np.testing.assert_allclose(one[0], value, rtol=1e-14)
        np.testing.assert_allclose(one[1], bar, rtol=1e-14)
        for count in (2, 3, 6):
            assert on_ranks(count, few, x) == one, (n, count)


@pytest.mark.parametrize("seed", [1002, 1003, 1005, 1008, 1011])
def test_random_stencils(seed: int) -> None:
    """Programs that are not refused; ``python -m tests.ranks.stencils`` tries others."""
    verdict = stencils.check(seed, small=True, counts=(3,))
    assert verdict.checked or verdict.skipped.startswith("right"), verdict
