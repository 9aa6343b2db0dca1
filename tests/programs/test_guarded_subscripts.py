"""Subscripts that are only used where they are meant: -1 for no parent, no neighbour, no entry."""

from __future__ import annotations

import numpy as np
import pytest

from adc import jit_grad, prange
from tests.programs.harness import check


def tree(lengths, parents):
    """Distances from the root, which has no parent."""
    at = np.zeros(len(lengths))
    for b in range(len(lengths)):
        if parents[b] == -1:
            at[b] = lengths[b]
        else:
            at[b] = at[parents[b]] * 0.9 + lengths[b] ** 2
    return np.sum(at * at)


def neighbours(u, table):
    out = np.zeros(len(u))
    for i in prange(len(u)):
        for d in range(table.shape[1]):
            j = table[i, d]
            if j >= 0 and u[i] > 0.2:
                out[i] += u[j] - u[i]
            elif j < 0:
                out[i] -= 0.5 * u[i]
    return np.sum(out**2)


def skipped(u, table):
    """One-based, with zero for none."""
    s = 0.0
    for i in range(len(table)):
        for k in table[i]:
            if k == 0:
                continue
            s += np.sin(u[k - 1]) * (i + 1)
    return s


PARENTS = np.array([-1, 0, 0, 1, 3, -1, 5, 2])
TABLE = np.array([[1, -1], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, -1]])


@pytest.mark.parametrize("parents", [PARENTS, np.full(8, -1), PARENTS[:1]])
def test_trees(parents):
    check(tree, (np.random.default_rng(0).random(len(parents)), parents))


def test_neighbours():
    u = np.random.default_rng(1).random(8)
    check(neighbours, (u, TABLE), (u, np.full((8, 3), -1)))
    check(skipped, (u, TABLE + 1), (u, np.zeros((2, 2), int)))


def test_subscripts_that_are_used_are_still_checked():
    parents = PARENTS.copy()
    parents[4] = 8
    for function in (tree, jit_grad(tree)):
        with pytest.raises(IndexError):
            function(np.ones(8), parents)
    parents[4] = -3  # from the end, as in Python
    check(tree, (np.random.default_rng(2).random(8), parents))
