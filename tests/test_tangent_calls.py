"""Calls of jvp and hvp after the first one: they go to compiled code, or through Python where necessary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, ArgumentError, ShapeError

FACTOR = 2.0


@jit_grad
def weighted(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i] * y[i] * FACTOR
    return total


@jit_grad
def product(x: Any, y: Any, z: Any) -> Any:
    return np.sum(x * y * z)


@jit_grad
def parts(x: Any, scale: Any, pair: Any) -> Any:
    return x * scale, pair[0] + pair[1][0] * scale, 3, 1.5, len(x)


def _same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted)
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            _same(a, b)
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    else:
        assert found == wanted


X, Y, V = np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.25, 4.0]), np.array([1.0, 0.0, -1.0])
PAIR = (np.array([1.0, 2.0]), (np.array([3.0, 4.0]), "name"))


@pytest.mark.parametrize(
    "function, args, tangents",
    [
        (weighted, (X, Y), (V, X)),
        (weighted, (X, Y), (None, V)),
        (weighted.grad, (X, Y), (V, None)),
        (weighted.value_and_grad, (X, Y), (V, V)),
        (product.grad, (X, Y, V), (Y, X, V)),  # the gradient does not depend on x
        (product.grad, (X, Y, V), (Y, X, None)),
        (parts, (X, 2.0, PAIR), (V, 1.0, (PAIR[0], (PAIR[0], None)))),
        (parts, (X, 2.0, PAIR), (None, 1.0, None)),
        (parts, (X, 2.0, PAIR), (V, np.float64(1.5), (None, (PAIR[0], None)))),
        (parts, (X.astype(np.float32), np.float32(2.0), PAIR), (V.astype(np.float32), np.float32(1.0), None)),
    ],
)
def test_later_calls_are_as_the_first(function: Any, args: Any, tangents: Any) -> None:
    fresh = adc.jvp(function, list(args), tangents)  # lists are taken apart by Python
    assert function._jvps._target is not None
    for _ in range(2):
        _same(adc.jvp(function, args, tangents), fresh)


def test_hvp_by_one_argument() -> None:
    first = adc.hvp(weighted, (X, Y), (V, None), 1)
    np.testing.assert_array_equal(first, 2 * FACTOR * X * V)
    _same(adc.hvp(weighted, (X, Y), (V, None), 1), first)
    np.testing.assert_array_equal(adc.hvp(weighted, (X, Y), (V, None)), 2 * FACTOR * Y * V)


def test_what_compiled_code_does_not_take() -> None:
    value, tangent = adc.jvp(weighted, (X, Y), (V, V))
    with pytest.raises(ShapeError, match="the tangent of y has shape"):
        adc.jvp(weighted, (X, Y), (V, V[:2]))
    with pytest.raises(ArgumentError, match="tuple of 2 tangents"):
        adc.jvp(weighted, (X, Y), (V,))
    with pytest.raises(ArgumentError, match="real numbers"):
        adc.jvp(weighted, (X, Y), (V, 1j * V))
    wide = np.stack([V, V], axis=1)[:, 0]
    _same(adc.jvp(weighted, (X, Y), (wide, V.astype(np.float32))), (value, tangent))
    _same(adc.jvp(weighted, (X, Y), ([1, 0, -1], V)), (value, tangent))
    longer = np.arange(7.0)
    np.testing.assert_array_equal(adc.jvp(weighted, (longer, longer), (longer, None))[1], 4 * np.sum(longer**3))
    _same(adc.jvp(weighted, (X, Y), (V, V)), (value, tangent))


def test_what_is_read_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = adc.jvp(weighted, (X, Y), (V, V))[1]
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert adc.jvp(weighted, (X, Y), (V, V))[1] == 2 * before


def test_what_changes_its_arguments_goes_through_python() -> None:
    @jit_grad
    def doubled(x: Any) -> Any:
        x *= 2.0
        return np.sum(x * x)

    x = X.copy()
    first = adc.jvp(doubled, (x,), (V,))
    _same(adc.jvp(doubled, (x,), (V,)), first)
    np.testing.assert_array_equal(x, X)
    assert doubled._jvps._target is None


def test_arrays_that_do_not_depend_on_what_has_a_tangent() -> None:
    @jit_grad
    def apart(x: Any, y: Any) -> Any:
        return 2.0 * x, 3.0 * y

    for _ in range(2):
        _, (by_x, by_y) = adc.jvp(apart, (X, Y), (V, None))
        np.testing.assert_array_equal(by_x, 2.0 * V)
        np.testing.assert_array_equal(by_y, np.zeros(3))


def test_errors_of_later_calls_name_the_line() -> None:
    @jit_grad
    def picked(x: Any, k: int) -> Any:
        return x[k] * x[k]

    assert adc.jvp(picked, (X, 1), (V, None)) == (4.0, 0.0)
    with pytest.raises(IndexError, match="5"):
        adc.jvp(picked, (X, 5), (V, None))
    assert adc.jvp(picked, (X, 2), (V, None)) == (9.0, -6.0)


def test_a_plain_function_is_known_again() -> None:
    def cube(x: float) -> float:
        return x * x * x

    for _ in range(3):
        assert adc.jvp(cube, (2.0,), (1.0,)) == (8.0, 12.0)
        assert adc.hvp(cube, (2.0,), (1.0,)) == 12.0
    with pytest.raises(AdcError):
        adc.hvp(cube, (2.0,), (1.0,), 3)
