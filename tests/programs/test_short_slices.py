"""Slices of one element or none, such as ``a[:, k : k + 1]``, beside whole arrays: values, shapes and errors like those
of NumPy, gradients against differences and the complex step."""

# mypy: ignore-errors
import numpy as np
import pytest

import adc
from adc import jit_grad


def shortest_paths(d):
    for k in range(d.shape[0]):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return np.sum(d * d)


def shortest_paths_in_place(d):
    d = d.copy()
    for k in range(len(d)):
        d[:] = np.minimum(d[:, k : k + 1] + d[k : 1 + k], d)
    return np.sum(d * d)


@pytest.mark.parametrize("function", [shortest_paths, shortest_paths_in_place])
def test_shortest_paths(function) -> None:
    d = np.random.default_rng(0).uniform(0.1, 1.0, (7, 7)) ** 2
    value, by = adc.value_and_grad(jit_grad(function))(d)
    assert value == pytest.approx(function(d), rel=1e-14)
    expected = np.zeros_like(d)
    for at in np.ndindex(d.shape):
        e = np.zeros_like(d)
        e[at] = 1e-6
        expected[at] = (function(d + e) - function(d - e)) / 2e-6
    np.testing.assert_allclose(by, expected, rtol=1e-8, atol=1e-8)


def test_arrays_that_are_not_square() -> None:
    f = jit_grad(shortest_paths)
    wide = np.random.default_rng(1).random((3, 5))
    assert f(wide) == pytest.approx(shortest_paths(wide), rel=1e-14)
    with pytest.raises(ValueError, match="broadcast"):
        f(wide.T.copy())


def elimination(A):
    A = A.copy()
    for k in range(A.shape[0] - 1):
        A[k + 1 :, k:] -= A[k + 1 :, k : k + 1] / A[k, k] * A[k : k + 1, k:]
    return np.sum(A * A)


def scaled_columns(A):
    out = np.zeros_like(A)
    for k in range(A.shape[1]):
        column = A[:, k : k + 1]
        out += column * A * column.sum() + np.sin(column) / A[k : k + 1]
    return np.sum(out * out)


@pytest.mark.parametrize("function", [elimination, scaled_columns])
def test_gradients(function) -> None:
    A = np.random.default_rng(2).uniform(0.5, 1.5, (5, 5)) + 3 * np.eye(5)
    value, by = adc.value_and_grad(jit_grad(function))(A)
    assert value == pytest.approx(function(A), rel=1e-12)
    expected = np.zeros_like(A)
    for at in np.ndindex(A.shape):
        z = A.astype(complex)
        z[at] += 1e-30j
        expected[at] = function(z).imag / 1e-30
    np.testing.assert_allclose(by, expected, rtol=1e-11)


def added(x, y, k):
    return x[k : k + 1] + y


def added_last(x, y, k):
    return y * 2.0 + x[k : 1 + k] * y


def both(x, y, k):
    return x[k : k + 1] * y[k + 1 : k + 2] + y[k : k + 1]


def stored(x, y, k):
    out = y.copy()
    out[:] = x[k : k + 1]
    out[1:] += x[k : k + 1]
    return out


def stored_to(x, y, k):
    out = y.copy()
    out[k : k + 1] = x[k : k + 1] + 1.0
    return out


@pytest.mark.parametrize("function", [added, added_last, both, stored, stored_to])
def test_edges(function) -> None:
    """The slice may be empty: at the end of the array, or where it begins at the last element, counted from the end."""
    compiled = jit_grad(function)
    for n, m in ((4, 4), (4, 6), (4, 1), (1, 4), (1, 1), (4, 0), (0, 4), (0, 0), (0, 1)):
        x, y = np.arange(1.0, 1 + n), np.arange(10.0, 10 + m)
        for k in (-7, -4, -2, -1, 0, 1, 3, 4, 9):
            try:
                expected = function(x, y, k)
            except ValueError:
                with pytest.raises(ValueError, match="broadcast"):
                    compiled(x, y, k)
            else:
                found = compiled(x, y, k)
                assert found.shape == expected.shape
                np.testing.assert_array_equal(found, expected)
