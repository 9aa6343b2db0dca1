"""Physics programs on layouts of ranks that were once refused. ``tests.ranks.table`` runs all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.ranks.fields import conjugate_while, diagonal_roll, fields, received_slices
from tests.ranks.physics import burgers_slices, gray_scott_loops, heat2_pad, programs, vcycle_loops
from tests.ranks.stencils import bits
from tests.ranks.table import check, on_ranks

pytestmark = pytest.mark.usefixtures("stages")

PROGRAMS = {program.f: program for program in (*programs(), *fields())}


@pytest.mark.parametrize(
    ("f", "ranks"),
    [
        *((gray_scott_loops, (1, 2)), (burgers_slices, (2, 2)), (heat2_pad, (2, 2)), (vcycle_loops, (3,))),
        *((received_slices, (2, 1)), (conjugate_while, (2, 2)), (diagonal_roll, (1, 2)), (diagonal_roll, (2, 2))),
    ],
)
def test_bits_are_those_of_one_rank(f: Any, ranks: tuple[int, ...]) -> None:
    right, said = check(PROGRAMS[f], None, ((1,) * len(ranks), ranks))
    assert right == 2, said


def test_a_coarse_grid_with_fewer_points_than_ranks() -> None:
    rng = np.random.default_rng(0)
    f = jit_grad(argnums=(0, 1))(vcycle_loops)
    for n in (5, 9):
        args = rng.random(n), rng.random(n), 2
        (one,) = on_ranks((1,), f, (n,), args)
        np.testing.assert_allclose(one[0], vcycle_loops(*args), rtol=1e-13)
        for count in (2, 6):
            assert {bits(found) for found in on_ranks((count,), f, (n,), args)} == {bits(one)}, (n, count)


@pytest.mark.parametrize("shape", [(1, 5), (2, 3), (3, 1)])
def test_short_axes(shape: tuple[int, int]) -> None:
    """What is a little shorter than the grid has no elements then, or as many as the grid."""
    rng = np.random.default_rng(0)
    args = (rng.random(shape), rng.random(shape), 0.05, 2)
    f = jit_grad(argnums=(0, 1))(burgers_slices)
    (one,) = on_ranks((1, 1), f, shape, args)
    np.testing.assert_allclose(one[0], burgers_slices(*args), rtol=1e-13)
    for ranks in ((2, 1), (2, 2)):
        assert {bits(found) for found in on_ranks(ranks, f, shape, args)} == {bits(one)}, ranks
