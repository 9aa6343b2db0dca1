"""Eliminations: ``A[k+1:, k+1:] -= column * row`` leaves the row and the column as they are, so they alone are kept.
What the reverse sweep adds to them is summed apart from the rest of the array. Where the parts of an array do overlap,
everything is as in Python."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adc import jit_grad
from tests.programs.harness import check


def lu_with_pivots(A):
    A = A.copy()
    for k in range(len(A) - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            row = A[k].copy()
            A[k] = A[p]
            A[p] = row
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, k + 1 :]
    return np.sum(A * A)


def gaussian(A):
    A = A.copy()
    for k in range(len(A) - 1):
        A[k + 1 :, k:] -= np.outer(A[k + 1 :, k] / A[k, k], A[k, k:])
    return np.sum(A * A)


def cholesky_by_columns(A):
    L = A.copy()
    n = len(L)
    for k in range(n):
        L[k, k] = np.sqrt(L[k, k])
        L[k + 1 :, k] /= L[k, k]
        for j in range(k + 1, n):
            L[j:, j] -= L[j:, k] * L[j, k]
    return np.sum(np.tril(L) ** 3)


def from_below(A):
    """The same from the last row and column on, by loops."""
    A = A.copy()
    n, m = A.shape
    for k in range(min(n, m) - 1, 0, -1):
        for i in range(k):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k):
                A[i, j] -= A[i, k] * A[k, j]
    return np.sum(A * A * A)


def shortest_paths(A):
    D = A.copy()
    for k in range(len(D)):
        for i in range(len(D)):
            for j in range(len(D)):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return np.sum(D * A)


def inverse_in_place(A):
    A = A.copy()
    n = len(A)
    for k in range(n):
        p = 1.0 / A[k, k]
        A[k, k] = 1.0
        for j in range(n):
            A[k, j] *= p
        for i in range(n):
            if i != k:
                q = A[i, k]
                A[i, k] = 0.0
                for j in range(n):
                    A[i, j] -= q * A[k, j]
    return np.sum(A * A)


def by_one_of_them(A, k):
    x = A[0].copy()
    for i in range(len(x)):
        x[i] = x[i] / (1.0 + x[k] * x[-1])
    for i in range(len(x) - 1, -1, -1):
        x[i] += x[i] * x[k]
    return np.sum(x * x)


def matrix(n: int, m: int | None = None) -> Any:
    m = n if m is None else m
    return np.random.default_rng(n).uniform(0.1, 0.4, (n, m)) + 2.0 * np.eye(n, m)


@pytest.mark.parametrize("function", [lu_with_pivots, gaussian, cholesky_by_columns])
def test_eliminations(function: Callable[..., Any]) -> None:
    check(function, *((matrix(n),) for n in (5, 0, 1, 2)))


@pytest.mark.parametrize("function", [shortest_paths, inverse_in_place])
def test_elements_that_a_loop_comes_to(function: Callable[..., Any]) -> None:
    check(function, *((matrix(n),) for n in (5, 0, 1, 2)))


def test_one_element() -> None:
    check(by_one_of_them, *((matrix(6), k) for k in (0, 2, 5, -1)), (matrix(1), 0))


def test_shapes_that_are_not_square() -> None:
    for function in (lu_with_pivots, from_below):
        check(function, (matrix(4, 6),), (matrix(5, 5),), (matrix(3, 7),))
    with pytest.raises(IndexError):
        jit_grad(gaussian).grad(matrix(7, 3))


def test_what_is_kept() -> None:
    f = jit_grad(lu_with_pivots)
    f.grad(matrix(5))
    text = str(f.report())
    tape = text[text.index("\ntape:") : text.index("\n\n", text.index("\ntape:"))].splitlines()
    line = str(lu_with_pivots.__code__.co_firstlineno + 9)
    assert [row for row in tape if f"line {line}: A before the loop" in row]
    assert not [row for row in tape if row.count(f"loop in line {line}") > 1], tape
    sums = [row for row in text.splitlines() if f"line {line}: reduction" in row]
    assert sums, text


PLACES = st.sampled_from(["k", "k + 1", "k - 1", "0", "n - 1 - k"])
LIMITS = st.sampled_from([("k + 1", "n"), ("k", "n"), ("0", "k"), ("1", "n - 1"), ("0", "n"), ("k + 2", "n - 1")])


@given(PLACES, PLACES, LIMITS, LIMITS, st.sampled_from(["loops", "slices", "outer"]), st.integers(2, 5))
@settings(max_examples=6, deadline=None)
def test_random_parts(
    row: str, column: str, rows: tuple[str, str], columns: tuple[str, str], spelling: str, n: int
) -> None:
    part = f"A[{rows[0]}:{rows[1]}, {columns[0]}:{columns[1]}]"
    of_column, of_row = f"A[{rows[0]}:{rows[1]}, {column}]", f"A[{row}, {columns[0]}:{columns[1]}]"
    update = {
        "loops": f"""for i in range({rows[0]}, {rows[1]}):
            for j in range({columns[0]}, {columns[1]}):
                A[i, j] -= 0.3 * A[i, {column}] * A[{row}, j]""",
        "slices": f"{part} -= 0.3 * {of_column}[:, None] * {of_row}",
        "outer": f"{part} = {part} - np.outer({of_column}, 0.3 * {of_row})",
    }[spelling]
    text = f"""
def program(A):
    A = A.copy()
    n = len(A)
    for k in range(1, n - 1):
        {update}
    return np.sum(A * A)
"""
    name = f"<parts {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    check(names["program"], (matrix(n),))
