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
) -> None:
    _check_shapes(actual, desired, err_msg)
    if not np.allclose(actual, desired, rtol=rtol, atol=atol, equal_nan=equal_nan):
        raise AssertionError(f"Not equal to tolerance rtol={rtol}, atol={atol}\n{err_msg}")


@stands_for("numpy.testing.assert_array_equal", "numpy.testing.assert_equal")
def assert_array_equal(actual: Any, desired: Any, err_msg: Any = "", verbose: Any = True) -> None:
    _check_shapes(actual, desired, err_msg)
    x, y = np.asarray(actual), np.asarray(desired)
    if not np.all((x == y) | ((x != x) & (y != y))):
        raise AssertionError(f"Arrays are not equal\n{err_msg}")


@stands_for("numpy.testing.assert_almost_equal", "numpy.testing.assert_array_almost_equal")
def assert_array_almost_equal(
    actual: Any, desired: Any, decimal: Any = 6, err_msg: Any = "", verbose: Any = True
) -> None:
    _check_shapes(actual, desired, err_msg)
    x, y = np.asarray(actual), np.asarray(desired)
    if not np.all((np.abs(x - y) < 1.5 * 10.0 ** (-decimal)) | (x == y) | ((x != x) & (y != y))):
        raise AssertionError(f"Arrays are not almost equal to {decimal} decimals\n{err_msg}")


@stands_for("numpy.testing.assert_array_less")
def assert_array_less(x: Any, y: Any, err_msg: Any = "", verbose: Any = True) -> None:
    _check_shapes(x, y, err_msg)
    if not np.all(np.asarray(x) < np.asarray(y)):
        raise AssertionError(f"Arrays are not strictly ordered `x < y`\n{err_msg}")


def _check_shapes(actual: Any, desired: Any, err_msg: Any) -> None:
    """A number may stand beside an array; two arrays have one shape."""
    if np.ndim(actual) > 0 and np.ndim(desired) > 0 and np.shape(actual) != np.shape(desired):
        raise AssertionError(f"(shapes {np.shape(actual)}, {np.shape(desired)} mismatch)\n{err_msg}")
