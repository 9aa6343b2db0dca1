"""Sparsity patterns alone: detection with a matrix in place of a program, and the guarantees of colourings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adc.sparse import colouring, greedy
from adc.sparse.detection import detect, detection_of
from adc.sparse.sparsity import Sparsity


@st.composite
def matrices(draw: Any, *, square: bool = False) -> np.ndarray[Any, Any]:
    """Random numbers at random places: from none to all, some rows and columns full."""
    n = draw(st.integers(0, 90))
    m = n if square else draw(st.integers(0, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    places = rng.random((m, n)) < draw(st.sampled_from([0.0, 0.02, 0.1, 0.5, 1.0]))
    if draw(st.booleans()) and m and n:
        places[rng.integers(m)] = True
        places[:, rng.integers(n)] = True
    return np.where(places, rng.standard_normal((m, n)), 0.0)


def sparsity(a: np.ndarray[Any, Any]) -> Sparsity:
    rows, columns = np.nonzero(a)
    return Sparsity.of(rows, columns, a.shape)


def recovered(a: np.ndarray[Any, Any], found: colouring.Colouring) -> np.ndarray[Any, Any]:
    """The matrix, from sums of its columns or rows of a colour."""
    seeds = (found.colours[None, :] == np.arange(found.sweeps)[:, None]).astype(float)
    sums = seeds @ a if found.way == "reverse" else seeds @ a.T
    made = np.zeros(a.shape)
    made[found.pattern.rows, found.pattern.columns] = sums[found.sweep_of, found.place_of]
    return made


@settings(max_examples=120, deadline=None)
@given(matrices())
def test_detection_finds_what_is_there(a: np.ndarray[Any, Any]) -> None:
    def propagate(words: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.bitwise_or.reduce(np.where(a != 0.0, words[None, :], 0), axis=1)

    detection = detect(a.shape[1], propagate, a.shape[0])
    found, expected = detection.pattern, sparsity(a)
    assert found.shape == a.shape
    assert np.array_equal(found.rows, expected.rows) and np.array_equal(found.columns, expected.columns)
    assert len(detection.sweeps) <= 2 + a.shape[1] / 16
    # Fewer dependences are covered, and no further one is.
    again = detection_of(found)
    assert again.covers(propagate) and again.covers(np.zeros_like if a.shape[0] == a.shape[1] else propagate)
    for missing in range(min(found.entries, 20)):
        less = Sparsity(np.delete(found.rows, missing), np.delete(found.columns, missing), found.shape)
        assert not detection_of(less).covers(propagate)


@settings(max_examples=120, deadline=None)
@given(matrices())
def test_sums_of_columns_and_rows(a: np.ndarray[Any, Any]) -> None:
    pattern, (m, n) = sparsity(a), a.shape
    ways = [colouring.forward(pattern, [(n,)]), colouring.reverse(pattern, [(m,)])]
    for found, least in zip(ways, (pattern.widest, pattern.transposed.widest), strict=True):
        np.testing.assert_allclose(recovered(a, found), a, rtol=1e-12, atol=1e-14)
        assert least <= found.sweeps
    assert colouring.fewest(pattern, [(n,)], [(m,)]).sweeps == min(way.sweeps for way in ways)


@settings(max_examples=60, deadline=None)
@given(matrices(square=True))
def test_stars_recover_symmetric_matrices(a: np.ndarray[Any, Any]) -> None:
    a = a + a.T
    found = colouring.symmetric(sparsity(a).symmetric(), [(len(a),)])
    np.testing.assert_allclose(recovered(a, found), a, rtol=1e-12, atol=1e-14)


def grid(n: int, offsets: list[tuple[int, ...]]) -> Sparsity:
    places = np.indices((n, n)).reshape(2, -1)
    rows, columns = [], []
    for offset in offsets:
        there = places + np.array(offset)[:, None]
        inside = np.all((there >= 0) & (there < n), axis=0)
        rows.append(np.ravel_multi_index(places[:, inside], (n, n)))
        columns.append(np.ravel_multi_index(there[:, inside], (n, n)))
    return Sparsity.of(np.concatenate(rows), np.concatenate(columns), (n * n, n * n))


FIVE = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]


@pytest.mark.parametrize("offsets", [FIVE, [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)], [(2, 1), (0, 0), (-1, 3)]])
def test_stencils_take_as_few_as_there_can_be(offsets: list[tuple[int, ...]]) -> None:
    pattern = grid(30, offsets)
    assert colouring.forward(pattern, [(30, 30)]).sweeps == len(offsets) == pattern.widest


def test_two_fields_on_one_grid() -> None:
    one = grid(12, FIVE)
    n = one.shape[0]
    rows = np.concatenate([one.rows + a * n for a in (0, 1) for _ in (0, 1)])
    columns = np.concatenate([one.columns + b * n for _ in (0, 1) for b in (0, 1)])
    pattern = Sparsity.of(rows, columns, (2 * n, 2 * n))
    assert colouring.forward(pattern, [(12, 12), (12, 12)]).sweeps == 10


def test_compiled_code_colours_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = grid(15, FIVE)
    arrays = np.arange(225), pattern.starts, pattern.columns
    columns = *arrays, pattern.transposed.starts, pattern.transposed.columns
    found = [(greedy.colour_columns, columns), (greedy.colour_stars, arrays)]
    by_python = [greedy.run(function, 0, 225, *given) for function, given in found]
    by_code = [greedy.run(function, greedy.SMALL + 1, 225, *given) for function, given in found]
    for (a, used), (b, same) in zip(by_python, by_code, strict=True):
        assert used == same and np.array_equal(a, b)
