"""Lists of lists with two lengths that the run determines: their rows are kept in pools, whatever name they have."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from adc.ir.diagnostics import CompileError


def repeated(m, n):
    table = [[0.0] * n for _ in range(m)]
    table[0][0] = 1.0
    return table[-1][-1]


def comprehended(m, n):
    table = [[float(i + j) for j in range(n)] for i in range(m)]
    return sum(map(sum, table))


def appended(m, n):
    table = []
    for _ in range(m):
        table.append([0.0] * n)
    return table[0][0]


def appended_row(m, n):
    table = []
    for i in range(m):
        row = [0.0] * n
        row[0] = float(i)
        table.append(row)
    return table[0][0]


def extended(m, n):
    table = [[0.0] * n]
    table += [[1.0] * n for _ in range(m)]
    return table[0][0]


def under_a_condition(m, n):
    table = []
    if m > 2:
        table.append([0.0 for _ in range(n)])
    return len(table)


def under_a_condition_in_a_loop(m, n):
    table = []
    for i in range(m):
        if i > 1:
            table.append([0.0 for _ in range(n)])
    return len(table)


def in_tuples(m, n):
    table = []
    for i in range(m):
        table.append((i, [0.0] * n))
    return table[0][1][0]


TABLES = [
    repeated, comprehended, appended, appended_row, extended, under_a_condition, under_a_condition_in_a_loop, in_tuples
]  # fmt: skip


@pytest.mark.parametrize("fn", TABLES, ids=lambda f: f.__name__)
def test_tables(fn):
    compiled = adc.jit_grad(fn, argnums=())
    for m, n in ((3, 4), (1, 1), (2, 5)):
        assert compiled(m, n) == fn(m, n)


def of_known_rows(m):
    table = [[0.0, 0.0] for _ in range(m)]
    table[0][1] = 1.0
    return table


def rows_are_arrays(m):
    table = [np.zeros(3) for _ in range(m)]
    table[0][1] = 1.0
    return table


def test_rows_of_known_length_that_change():
    made = adc.jit_grad(of_known_rows, argnums=())(3)
    assert made == of_known_rows(3)
    assert type(made[0]) is list


def test_rows_that_are_arrays_stay_as_they_are():
    with pytest.raises(CompileError, match="keeps a copy") as caught:
        adc.jit_grad(rows_are_arrays, argnums=())(3)
    assert "M = np.zeros((m, n))" in caught.value.help


def one_row_twice(m, n):
    table = [[0.0] * n] * m
    table[0][0] = 1.0
    return table[1][0]


def two_rows(n, x):
    row = [x] * n
    table = [row, [2.0] * n, row]
    table[0][1] = 3.0 * x
    table[0], table[1] = table[1], table[0]
    copy = [r[:] for r in table]
    copy[1][1] = 5.0
    return table[2][1] + 10.0 * table[1][1] + 100.0 * table[0][1] + 1000.0 * copy[2][1]


def three_rows(n, k, x):
    table = [[0.0] * n for _ in range(3)]
    table[k][2] = x
    row = table[0]
    for i in range(3):
        for j in range(n):
            table[i][j] += i * x + j
    row[0] = 8.0 * x
    table[0], table[k] = table[k], table[0]
    return table[0][2] + 10.0 * table[-1][-1] + 100.0 * table[k][0] + sum(map(sum, table)) * len(table[0])


def test_rows_of_a_list_of_known_length_are_objects():
    value, derivative = adc.jit_grad(three_rows, argnums=(2,)).value_and_grad(4, 1, 1.5)
    assert value == three_rows(4, 1, 1.5)
    assert np.ravel(derivative) == [three_rows(4, 1, 2.5) - three_rows(4, 1, 1.5)]
    assert adc.jit_grad(one_row_twice, argnums=())(3, 4) == one_row_twice(3, 4)
    compiled = adc.jit_grad(two_rows, argnums=(1,))
    value, derivative = compiled.value_and_grad(4, 1.5)
    assert value == two_rows(4, 1.5)
    assert np.ravel(derivative) == [33.0 + 3000.0]


def as_array(m, n, x):
    table = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            table[i, j] = x * i + j
    table[[0, 1]] = table[[1, 0]]
    return table[0, 0] + 10.0 * table[1, 1] * x + sum(map(sum, table)) + len(table[0])


def rows_to_read(m, n, x):
    table = []
    for i in range(m):
        row = [0.0] * n
        for j in range(n):
            row[j] = x * i + j
        table.append(np.array(row))
    return table[1][0] + 10.0 * table[0][1] * x + sum(map(sum, table)) + len(table[0])


def row_assigned(m, n, x):
    table = [[0.0, 1.0] for _ in range(m)]
    table[1] = [x * n, x]
    return table[1][0] * table[1][1] + table[0][1]


@pytest.mark.parametrize("fn", [as_array, rows_to_read, row_assigned], ids=lambda f: f.__name__)
def test_the_ways_out(fn):
    value, derivative = adc.jit_grad(fn, argnums=(2,)).value_and_grad(3, 4, 1.5)
    assert value == fn(3, 4, 1.5)
    assert np.ravel(derivative) == [(fn(3, 4, 2.5) - fn(3, 4, 0.5)) / 2.0]  # exact: quadratic, of few bits


def rows_under_a_condition(m, x):
    table = []
    for i in range(m):
        if i % 2 == 1:
            table.append([x * i, 1.0])
    return sum(a * b for a, b in table) + table[-1][0] * x


def rows_under_two_conditions(m, x):
    table = [[x, 2.0]]
    if m > 2:
        table.append([1.0, x])
        table.append([3.0, x * x])
    elif m > 1:
        table.append([x, x])
    if m > 0:
        table.pop(0)
    return sum(a * b for a, b in table)


def rows_of_arrays_under_a_condition(m, x):
    table = []
    for i in range(m):
        if i % 2 == 1:
            table.append([np.full(3, x * i), np.ones(3)])
        else:
            table.append([np.full(3, x), np.full(3, x)])
    return sum([(a * b).sum() for a, b in table], 0.0)


CONDITIONAL = [rows_under_a_condition, rows_under_two_conditions, rows_of_arrays_under_a_condition]


@pytest.mark.parametrize("fn", CONDITIONAL, ids=lambda f: f.__name__)
def test_rows_of_known_length_under_a_condition(fn):
    compiled = adc.jit_grad(fn, argnums=(1,))
    for m in (2, 3, 5):
        value, derivative = compiled.value_and_grad(m, 1.5)
        assert value == fn(m, 1.5)
        assert np.ravel(derivative) == [(fn(m, 2.5) - fn(m, 0.5)) / 2.0]


def named_row(m):
    table, row = [], [0.0]
    if m > 2:
        row = [1.0, 2.0]
        table.append(row)
    row[0] = 7.0
    return [r[0] for r in table]


def row_as_a_result(m):
    table = []

    def added():
        made = [1.0, 2.0]
        table.append(made)
        return made

    row = added() if m > 2 else [3.0, 4.0]
    row[0] = 7.0
    return [r[0] for r in table]


def row_in_an_object(m):
    table, kept = [], [[0.0, 0.0]]
    if m > 2:
        kept[0] = [1.0, 2.0]
        table.append(kept[0])
    kept[0][0] = 7.0
    return [r[0] for r in table]


def row_from_before(m):
    table, row = [], [1.0, 2.0]
    if m > 2:
        table.append(row)
    row[0] = 7.0
    return [r[0] for r in table]


def first_row_has_a_name(m):
    table = [[1.0, 2.0]]
    row = table[0]
    if m > 2:
        table.append([3.0, 4.0])
    row[0] = 7.0
    return [r[0] for r in table]


NAMED = [named_row, row_as_a_result, row_in_an_object, row_from_before, first_row_has_a_name]


@pytest.mark.parametrize("fn", NAMED, ids=lambda f: f.__name__)
def test_a_row_with_another_name(fn):
    compiled = adc.jit_grad(fn, argnums=())
    for m in (2, 3):
        assert compiled(m) == fn(m)


def changed_before_the_length(m, x):
    table = [[1.0, 2.0], [x, 4.0]]
    if m > 2:
        table[0][0] = 5.0 * x
        table.pop()
    return sum(a * b for a, b in table)


def changed_in_a_call(m, x):
    def shorten(rows):
        if m > 2:
            rows[0][0] = 5.0 * x
            rows.pop()

    row = [1.0, 2.0]
    shorten([row, [3.0, 4.0]])
    return row[0] * x


@pytest.mark.parametrize("fn", [changed_before_the_length, changed_in_a_call], ids=lambda f: f.__name__)
def test_rows_changed_in_the_branch_that_changes_the_length(fn):
    compiled = adc.jit_grad(fn, argnums=(1,))
    for m in (2, 3):
        value, derivative = compiled.value_and_grad(m, 1.5)
        assert value == fn(m, 1.5)
        assert np.ravel(derivative) == [(fn(m, 2.5) - fn(m, 0.5)) / 2.0]


def test_rows_of_the_caller_changed_in_the_branch_that_changes_the_length():
    def shorten(rows, m):
        if m > 2:
            rows[0][0] = 5.0
            rows.pop()
        return len(rows)

    row = [1.0, 2.0]
    table = [row, [3.0, 4.0]]
    assert adc.jit_grad(shorten, argnums=())(table, 3) == 1
    assert table == [[5.0, 2.0]]
    assert row == [5.0, 2.0]
