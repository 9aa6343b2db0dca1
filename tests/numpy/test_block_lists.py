"""``np.block`` of lists whose length depends on the run, to which an array is not the same as a list of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check_function

Array = Any


def lower_triangle(A: Array, n: int) -> Array:
    powers = [np.eye(2)]
    for _ in range(n):
        powers.append(A @ powers[-1])
    return np.block([[powers[i - j] if j <= i else np.zeros((2, 2)) for j in range(n)] for i in range(n)])


def by_append(A: Array, n: int) -> Array:
    rows = []
    for i in range(n):
        row = []
        for j in range(n + 1):
            row.append(A if i == j else np.zeros_like(A))
        rows.append(row)
    return np.block(rows)


def a_row(A: Array, n: int) -> Array:
    return np.block([A * i for i in range(n)])


def a_row_of_vectors(A: Array, n: int) -> Array:
    return np.block([A[0] * i for i in range(n)])


def a_column(A: Array, n: int) -> Array:
    return np.block([[A * i, A[:, :1] - i] for i in range(n)])


def a_column_of_vectors(A: Array, n: int) -> Array:
    return np.block([[A[0] * i] for i in range(n)])


def of_numbers(A: Array, n: int) -> Array:
    return np.block([[A[0, 0] * i * j for j in range(n)] for i in range(n)])


def known_rows(A: Array, n: int) -> Array:
    return np.block([[A * i for i in range(n)], [np.ones((1, n)), np.zeros((1, n))]])


def complex_ones(A: Array, n: int) -> Array:
    Z = np.block([[A * (1j * i + j) for j in range(n)] for i in range(n)])
    return Z.real + 2.0 * Z.imag


def an_array(A: Array, n: int) -> Array:
    return np.block(A * n), np.block([A])


PROGRAMS = [
    lower_triangle, by_append, a_row, a_row_of_vectors, a_column, a_column_of_vectors, of_numbers, known_rows,
    complex_ones, an_array,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_blocks(program: Callable[..., Any]) -> None:
    A = np.random.default_rng(0).random((2, 2))
    compiled = check_function(program, (A, 3), by=(0,))
    if program is not known_rows:
        for n in (1, 2):
            for got, expected in zip(np.atleast_1d(compiled(A, n)), np.atleast_1d(program(A, n)), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_rows_of_different_lengths() -> None:
    def program(A: Array, n: int) -> Array:
        return np.block([[A for j in range(i + 1)] for i in range(n)])

    with pytest.raises(ValueError, match="different lengths"):
        adc.jit_grad(program)(np.ones((2, 2)), 3)


def an_array_of_lists_of_arrays(A: Array, n: int) -> Array:
    M = [[A * (i - 2 * j) for j in range(n)] for i in range(n + 1)]
    return np.array(M), M[1][0]


def test_an_array_of_lists_of_arrays() -> None:
    check_function(an_array_of_lists_of_arrays, (np.arange(6.0).reshape(2, 3), 3), by=(0,))
