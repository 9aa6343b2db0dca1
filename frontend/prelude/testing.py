"""The assertions of ``numpy.testing``."""

from __future__ import annotations

from typing import Any

import numpy as np

from adc.frontend.prelude import stands_for


@stands_for("numpy.testing.assert_allclose")
def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: Any = 1e-07,
    atol: Any = 0,
    equal_nan: Any = True,
    err_msg: Any = "",
    verbose: Any = True,
    *,
    strict: Any = False,
) -> None:
    x, y = np.asarray(actual), np.asarray(desired)
    _check_forms(x, y, err_msg, strict)
    if not np.all(np.isclose(x, _inexact(y), rtol=rtol, atol=atol, equal_nan=equal_nan)):
        raise AssertionError(f"Not equal to tolerance rtol={rtol}, atol={atol}\n{err_msg}")


@stands_for("numpy.testing.assert_equal")
def assert_equal(actual: Any, desired: Any, err_msg: Any = "", verbose: Any = True, *, strict: Any = False) -> None:
    if isinstance(actual, dict) and isinstance(desired, dict):
        _need(len(actual) == len(desired), err_msg)
        for key in desired:
            _need(key in actual, err_msg)
            assert_equal(actual[key], desired[key], err_msg)
    elif isinstance(actual, (list, tuple)) and isinstance(desired, (list, tuple)):
        _need(len(actual) == len(desired), err_msg)
        for x, y in zip(actual, desired):
            assert_equal(x, y, err_msg)
    elif isinstance(actual, np.ndarray) or isinstance(desired, np.ndarray):
        assert_array_equal(actual, desired, err_msg, strict=strict)
    elif not _is_number(actual) or not _is_number(desired):
        _need(_is_number(actual) == _is_number(desired) and actual == desired, err_msg)
    elif np.iscomplexobj(actual) or np.iscomplexobj(desired):
        assert_equal(np.real(actual), np.real(desired), err_msg)
        assert_equal(np.imag(actual), np.imag(desired), err_msg)
    else:
        same = actual == desired and (actual != 0 or np.signbit(actual) == np.signbit(desired))
        _need(same or (actual != actual and desired != desired), err_msg)


@stands_for("numpy.testing.assert_array_equal")
def assert_array_equal(
    actual: Any, desired: Any, err_msg: Any = "", verbose: Any = True, *, strict: Any = False
) -> None:
    x, y = np.asarray(actual), np.asarray(desired)
    _check_forms(x, y, err_msg, strict)
    if not np.all((x == y) | _both_nan(x, y)):
        raise AssertionError(f"Arrays are not equal\n{err_msg}")


@stands_for("numpy.testing.assert_almost_equal")
def assert_almost_equal(actual: Any, desired: Any, decimal: Any = 7, err_msg: Any = "", verbose: Any = True) -> None:
    if np.iscomplexobj(actual) or np.iscomplexobj(desired):
        assert_array_almost_equal(np.real(actual), np.real(desired), decimal, err_msg)
        assert_array_almost_equal(np.imag(actual), np.imag(desired), decimal, err_msg)
    assert_array_almost_equal(actual, desired, decimal, err_msg)


@stands_for("numpy.testing.assert_array_almost_equal")
def assert_array_almost_equal(
    actual: Any, desired: Any, decimal: Any = 6, err_msg: Any = "", verbose: Any = True
) -> None:
    x, y = np.asarray(actual), np.asarray(desired)
    _check_forms(x, y, err_msg, False)
    if not np.all((np.abs(x - _inexact(y)) < 1.5 * 10.0 ** (-decimal)) | (x == y) | _both_nan(x, y)):
        raise AssertionError(f"Arrays are not almost equal to {decimal} decimals\n{err_msg}")


@stands_for("numpy.testing.assert_array_less")
def assert_array_less(x: Any, y: Any, err_msg: Any = "", verbose: Any = True, *, strict: Any = False) -> None:
    x, y = np.asarray(x), np.asarray(y)
    _check_forms(x, y, err_msg, strict)
    if not np.all((x < y) | _both_nan(x, y)):
        raise AssertionError(f"Arrays are not strictly ordered `x < y`\n{err_msg}")


def _check_forms(x: Any, y: Any, err_msg: Any, strict: Any) -> None:
    """A number may stand beside an array, if it is not strict; two arrays have one shape."""
    if (strict or (x.ndim > 0 and y.ndim > 0)) and x.shape != y.shape:
        raise AssertionError(f"(shapes {x.shape}, {y.shape} mismatch)\n{err_msg}")
    if strict and x.dtype != y.dtype:
        raise AssertionError(f"(dtypes mismatch)\n{err_msg}")


def _inexact(y: Any) -> Any:
    """Integers and booleans as floats."""
    return y * 1.0


def _both_nan(x: Any, y: Any) -> Any:
    return (x != x) & (y != y)


def _is_number(x: Any) -> Any:
    return isinstance(x, (int, float, complex, np.generic))


def _need(equal: Any, err_msg: Any) -> None:
    if not equal:
        raise AssertionError(f"Items are not equal\n{err_msg}")
