"""Slices as values: with run-time bounds, in variables, tuples, containers and arguments, chosen by branches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import hessian, jit_grad
from adc.errors import AdcError

X = np.random.default_rng(3).random(12)


def in_branches(x, k):
    s = slice(1, 4)
    if k > 1:
        s = slice(k, k + 2)
    t = slice(k) if k > 2 else slice(k, None)  # other parts are None
    u = slice(None, None, -k) if k == 3 else s
    return np.sum(x[s] ** 2) * (s == slice(2, 4)) + np.sum(np.sin(x[t])) + np.prod(x[u])


def in_loops(x, k):
    s, total = slice(0, k), 0.0
    for i in range(3):
        total += (i + 1) * np.sum(x[s] ** 2)
        s = slice(s.stop, s.stop + 2)
    s = slice(0, 2)
    while s.stop <= len(x):
        total += np.prod(x[s])
        s = slice(s.start + k, s.stop + k)
    return total


def part(x, s):
    return np.sum(np.sin(x[s]))


def in_functions(x, k):
    return part(x, slice(k, -1)) + part(x, slice(1, -1)) + part(x, slice(None, None, -k)) + part(x, slice(k))


def in_containers(x, k):
    y = x.reshape(3, 4)
    inner = (slice(k, -1), slice(None, k))
    named = {"a": slice(k, 5), "b": slice(0, k)}
    grown = []
    for i in range(k):
        grown.append(slice(i, i + 2))
    total = np.sum(y[inner] ** 3) + np.sum(y[tuple(slice(k, e) for e in y.shape)]) + np.sum(y[:, named["b"]])
    for one in [slice(i, i + k) for i in range(4)]:
        total += np.sum(x[one]) ** 2
    for one in grown:
        total += np.sum(x[one] ** 3)
    return total + np.sum(x[named["a"]] ** 2) * np.sum(x[named["b"]])


def stored_to(x, k):
    y = x.copy()
    s = slice(k, 2 * k + 1)
    y[s] *= 3.0
    y[slice(0, k)] = x[s][:k] * x[slice(k - 1, 2 * k - 1)]
    return np.sum(y**2)


def taken_apart(x, k):
    s, r = slice(k, None, 2), slice(-1, -k - 2, -1)
    i, j, h = s.indices(len(x))
    a, b, c = r.indices(len(x))
    known = slice(5).indices(3)[1] + (s.step if s.stop is None else 0) + isinstance(s, slice)
    return np.sum(x[s]) * (i + j + h) + x[a] * (b + 2 * c) + known


@pytest.mark.parametrize("f", [in_branches, in_loops, in_functions, in_containers, stored_to, taken_apart])
def test_values_and_gradients(f: Callable[..., Any]) -> None:
    compiled = jit_grad(f)
    for k in (1, 2, 3):
        assert compiled(X, k) == pytest.approx(f(X, k), rel=1e-13)
        steps = 1e-6 * np.eye(12)
        differences = [(f(X + e, k) - f(X - e, k)) / 2e-6 for e in steps]
        np.testing.assert_allclose(compiled.grad(X, k), differences, rtol=1e-6, atol=1e-7)


def test_results_texts_and_second_derivatives(capsys: pytest.CaptureFixture[str]) -> None:
    def made(x, k):
        s = slice(k, 2 * k)
        print(s, f"{slice(k)}")
        return s, x[s] * x[slice(0, k)]

    s, values = jit_grad(made)(X, 3)
    assert s == slice(3, 6) and np.array_equal(values, X[3:6] * X[:3])
    assert capsys.readouterr().out == "slice(3, 6, None) slice(None, 3, None)\n"
    expected = np.zeros((12, 12))
    expected[range(3), range(3, 6)] = expected[range(3, 6), range(3)] = 1.0
    assert np.array_equal(hessian(lambda x, k: np.sum(x[slice(k, 2 * k)] * x[slice(0, k)]))(X, 3), expected)


def rows_of(values, first, columns, x):
    y = np.empty(len(first) - 1)
    for i in range(len(y)):
        row = slice(first[i], first[i + 1])
        y[i] = np.dot(values[row], x[columns[row]])
    return np.sum(np.tanh(y))


@pytest.mark.parametrize(
    "first",
    [[0, 3, 3, 8, 12], [4, 4, 12, 12, 12], [0, 5, 2, 12, 3], [0, -4, 9, -1, 30], [2]],
    ids=["offsets", "empty rows", "not in order", "from the end and beyond", "none"],
)
def test_rows_between_offsets_that_are_loaded(first: list[int]) -> None:
    """Compiled for offsets that are all in range, and for any."""
    rng = np.random.default_rng(5)
    values, columns, offsets = rng.standard_normal(12), rng.integers(-4, 4, 12), np.array(first)
    compiled = jit_grad(argnums=(0, 3))(rows_of)
    for indices in (columns, np.abs(columns) % 4):
        x = X[:4]
        given = values, offsets, indices
        assert compiled(*given, x) == pytest.approx(rows_of(*given, x), rel=1e-14)
        by_values, by_x = compiled.grad(*given, x)
        expected = [
            (rows_of(values + e, offsets, indices, x) - rows_of(values - e, offsets, indices, x)) / 2e-6
            for e in 1e-6 * np.eye(12)
        ]
        np.testing.assert_allclose(by_values, expected, rtol=1e-6, atol=1e-8)
        expected = [(rows_of(*given, x + e) - rows_of(*given, x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(by_x, expected, rtol=1e-6, atol=1e-8)
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        compiled(values, np.array([0, 12]), np.full(12, 4), X[:4])
    with pytest.raises(ValueError, match=r"np.dot: extents differ"):
        compiled(values[:4], np.array([0, 12]), columns, X[:4])


def float_bound(x, k):
    return np.sum(x[slice(1.5, k)])


def with_a_number(x, k):
    s = slice(1, k)
    if k > 3:
        s = 4
    return np.sum(x[s])


def no_such_attribute(x, k):
    return slice(1, k).length


def of_a_list(x, k):
    return [1.0, 2.0, 3.0][slice(0, int(2 * x[0]) + k)][0]


def summed(x, k):
    return np.sum(x) + slice(1, k)


REFUSALS: dict[str, tuple[Callable[..., Any], str]] = {
    "float": (float_bound, "a subscript must be an integer, not a float"),
    "no attribute": (no_such_attribute, "slice has no attribute 'length'"),
    "of a list": (of_a_list, "the slice of a tuple or list must be known"),
    "an operand": (summed, "+ is not defined for float64 and slice"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    function, message = REFUSALS[name]
    with pytest.raises(AdcError, match=re.escape(message)):
        jit_grad(function)(X, 2)


def test_a_number_on_another_path() -> None:
    for k in (2, 5):
        for x in (X, -X):
            assert jit_grad(with_a_number)(x, k) == with_a_number(x, k)


def test_errors_of_the_run() -> None:
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        jit_grad(lambda x, k: np.sum(x[slice(0, 4, k - 2)]))(X, 2)
    with pytest.raises(ValueError, match="length should not be negative"):
        jit_grad(lambda x, k: x[slice(1, k).indices(-k)[0]])(X, 2)
