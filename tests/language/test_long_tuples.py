"""Tuples whose length depends on the run: ``tuple(x)``, and the columns of rows, ``zip(*rows)``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import CompileError
from tests.numpy.checking import check_function

X = np.array([0.1, 0.7, 0.5, 0.9])


def two_columns(x):  # type: ignore[no-untyped-def]
    rows = []
    for v in x:
        if v > 0.2:
            rows.append((v, v * v))
    a, b = zip(*rows, strict=True)
    return sum(a) * sum(b) + a[0] * len(b)


def columns_as_arrays(x):  # type: ignore[no-untyped-def]
    a, b = map(np.array, zip(*[(v, v * v) for v in x if v > 0.2], strict=True))
    return a @ b


def sorted_with_places(x):  # type: ignore[no-untyped-def]
    pairs = [(v, k) for k, v in enumerate(x) if v > 0.2]
    pairs.sort()
    values, places = zip(*pairs, strict=True)
    return np.dot(values, x[list(places)]) + sum(places)


def columns_of_an_array(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for column in zip(*np.outer(x, x)[x > 0.2], strict=True):
        total += max(column) - min(column) * len(column) + column[-1] * sum(column)
    return total


def no_rows(x):  # type: ignore[no-untyped-def]
    rows, count = [], 0
    for v in x:
        if v > 5.0:
            rows.append((v, v))
    for _ in zip(*rows, strict=True):
        count += 1
    try:
        a, b = zip(*rows, strict=True)
    except ValueError:
        return x[0] * count - 1.0
    return a[0] + b[0]


def operations(x):  # type: ignore[no-untyped-def]
    t = tuple(2 * v for v in x if v > 0.2)
    u = t[1:] + (3.0,)  # noqa: RUF005
    a, _, c = u
    pairs = sum(p * q for p, q in zip(t, t[1:], strict=False))  # noqa: RUF007
    is_tuple = isinstance(t, tuple) and not isinstance(t, list)
    return pairs + u[-1] * len(u) + is_tuple + (t == (1.0, 2.0)) + max(t) + a * c + (x[2] in t) + t.index(2 * x[2])


def of_arrays(x):  # type: ignore[no-untyped-def]
    t = tuple(np.array([v, 1.0]) for v in x if v > 0.2)
    d = deque(t)
    return np.vstack(t), np.concatenate(d), np.sum(t), np.asarray(d).T @ np.ones(len(t)), t[-1] * 2


@pytest.mark.parametrize("function", [two_columns, columns_as_arrays, sorted_with_places, columns_of_an_array, no_rows])
def test_columns(function: Callable[..., Any]) -> None:
    check_function(function, (X,), by=(0,))


@pytest.mark.parametrize("function", [operations, of_arrays])
def test_tuples(function: Callable[..., Any]) -> None:
    check_function(function, (X,), by=(0,))


def test_what_changes_them_is_refused() -> None:
    def store(x):  # type: ignore[no-untyped-def]
        t = tuple(v for v in x if v > 0.2)
        t[0] = 1.0
        return t[0]

    def append(x):  # type: ignore[no-untyped-def]
        t = tuple(v for v in x if v > 0.2)
        t.append(1.0)
        return t[0]

    for function in (store, append):
        with pytest.raises(CompileError, match="tuple"):
            adc.jit_grad(function)(X)


def slices_of_long_lists(x):  # type: ignore[no-untyped-def]
    kept = [v for v in x if v > 0.2]
    kept[1:1] = [2.0 * v for v in kept]
    kept[:1] = [5.0, 6.0 * x[0]]
    kept[::-1] = list(kept)
    kept[4:] = []
    return kept[0] + 2.0 * kept[1] + 3.0 * kept[-1] + len(kept)


def first_items(x):  # type: ignore[no-untyped-def]
    a, b = next(zip(x, x[1:], strict=False))  # noqa: RUF007
    k, v = next(enumerate(x, 3))
    nothing = next(zip(x[:0], x[:0], strict=True), (2.0, 3.0))
    return a * b + k * v + next(map(lambda v: v * v, x)) + next(reversed(x)) + nothing[1] * x[2]


def sums_of_sets(x):  # type: ignore[no-untyped-def]
    places = set()
    for k in range(len(x)):
        if x[k] > 0.2:
            places.add(k)
    return x[0] * sum(places) + sum({1, 2, 3})


@pytest.mark.parametrize("function", [slices_of_long_lists, first_items, sums_of_sets])
def test_relatives(function: Callable[..., Any]) -> None:
    assert adc.jit_grad(function)(X) == pytest.approx(function(X), rel=1e-15)
    assert adc.jit_grad(function).grad(X) == pytest.approx(
        np.array([(function(X + 1e-6 * e) - function(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]), rel=1e-6
    )


def slices_by_one(x: Any) -> Any:
    kept = [v for v in x if v > -9.0]
    kept[1:3:1] = [x[0]]
    kept[::1] = [*kept, 2.0 * x[1]]
    return kept[0] * kept[-1] + len(kept) * kept[1]


def test_slices_by_one_may_change_the_length() -> None:
    assert adc.jit_grad(slices_by_one)(X) == slices_by_one(X)


@pytest.mark.parametrize("function", [lambda x: np.sum(x, axis=range(1)), lambda x: np.expand_dims(x, range(1))[0, 0]])
def test_ranges_are_no_axes_of_sums(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="not a range"):
        adc.jit_grad(function)(X)
    with pytest.raises(TypeError):
        function(X)


def test_slices_of_other_lengths_and_nothing_that_is_first() -> None:
    def other_length(x):  # type: ignore[no-untyped-def]
        kept = [v for v in x if v > 0.2]
        kept[::2] = [v for v in x]
        return kept[0]

    with pytest.raises(ValueError, match="attempt to assign sequence of size 4 to extended slice of size 2"):
        adc.jit_grad(other_length)(X)
    with pytest.raises(StopIteration):
        adc.jit_grad(lambda x: next(zip(x[:0], x, strict=False))[0])(X)
