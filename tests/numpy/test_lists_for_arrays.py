"""Lists and tuples where NumPy's functions take arrays."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.functions import function_of

X = np.array([1.5, -0.25, 3.0])

OF_LISTS = [
    "np.clip([x[0], x[2]], 0, 1.7)",
    "np.clip(x, [0, 1, 2], [1.5, 2, 2.5])",
    "np.clip([x, 2 * x], a_min=[-1, 0, 1], a_max=None)",
    "np.where([True, False, True], x, [4.0, 5, 6])",
    "np.where(x > 1, (1, 2, 3), x)",
    "np.select([[True, False, True], x > 0], [[1, 2, 3], x], 7.0)",
    "np.choose([0, 1, 0], [[1, 2, 3], x])",
    "np.roll([x[0], 2, x[1]], 1) + np.roll([x, x * x], 1, axis=0)",
    "np.round([x[0] / 7, 2.71828], 2)",
    "np.flip([x, 3 * x], 1) + np.fliplr([x, x]) - np.flipud([[1, 2, 3], x])",
    "np.rot90([[1, x[0]], [3, 4]]) @ np.transpose([[1, 2], [x[1], 4]])",
    "np.reshape([x[0], 2, 3, 4], (2, 2)) + np.swapaxes([[1, 2], [3, x[2]]], 0, 1)",
    "np.ravel([[1, x[0]], x[:2]])",
    "np.expand_dims([x[0], 2], 0) + np.squeeze([[x[1], 5]]) + np.moveaxis([[1, 2], [3, 4]], 0, 1)",
    "np.broadcast_to([1, x[0], 3], (2, 3)) + np.full_like([1.0, 2, 3], x[1]) + np.zeros_like([1, 2, 3])",
    "np.vstack(([1, 2, x[0]], x)) + np.column_stack(([1, 2], [3, x[0]], (5, 6)))",
    "np.isclose([x[0], 1], 1.5) & np.isclose(1, [1, 2])",
    "np.allclose([x[0], 1], [1.5, 1])",
    "np.nan_to_num([x[0], np.nan, -np.inf], neginf=-3.0)",
    "np.maximum.accumulate([x[1], x[0], 1]) + np.add.reduceat([1, 2, x[0], 4], [0, 1, 3])",
    "np.add.outer([1, x[0]], [3, 4])",
    "np.array_split([x[0], 2, 3], 2)[0]",
    "np.apply_along_axis(np.sum, 0, [[1, x[0]], [3, 4]])",
    "np.unravel_index([1, 2], (2, 2))[1] + np.ravel_multi_index(([0, 1], [1, 1]), (2, 2))",
    "np.vdot([1, x[0]], [3, 4])",
    "np.angle([1j, x[0]]) + np.real([1j, 2]) + np.imag([1j, 2])",
    "np.sinc([0, x[0]]) + np.i0([0, x[0]])",
]


@pytest.mark.parametrize("text", OF_LISTS)
def test_as_in_numpy(text: str) -> None:
    function = function_of(f"return {text}", "x")
    wanted, found = function(X), adc.jit_grad(function)(X)
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype


def test_gradient() -> None:
    def f(x):
        a, b = np.clip([x, 2 * x], 0, 4)
        return np.sum(np.roll([a, b * b], 1, axis=0) * np.where([True, False, True], [x, x], 1.0))

    def written_out(x):
        a, b = np.clip(x, 0, 4), np.clip(2 * x, 0, 4)
        w = np.array([x[0], 1.0, x[2]])
        return np.sum(b * b * w) + np.sum(a * w)

    np.testing.assert_allclose(adc.grad(f)(X), adc.grad(written_out)(X), rtol=1e-14)
