"""Extremes and products along the columns of an array, and extremes without NaN: values, gradients, and SIMD."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(5)


def _given(rows: int, columns: int, dtype: type = np.float64) -> np.ndarray:
    a = RNG.standard_normal((rows, columns)).astype(dtype)
    if columns > 2 and rows > 1:
        a[rows // 2, 1], a[0, 2], a[1, 2] = np.nan, np.inf, -np.inf
    return a


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_number_of_columns(dtype: type) -> None:
    names = ("max", "min", "prod", "ptp", "nanmax", "nanmin")
    functions = {name: function_of(f"return np.{name}(a, axis=0)", "a") for name in names}
    compiled = {name: adc.jit_grad(f) for name, f in functions.items()}
    for rows, columns in [(1, 3), (2, 1), (3, 2), (5, 8), (4, 9), (7, 47), (3, 48), (6, 50), (2, 103), (3, 0)]:
        a = _given(rows, columns, dtype)
        for name, f in functions.items():
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(compiled[name](a), f(a), strict=True, err_msg=f"{name} {a.shape}")
                turned = np.asfortranarray(a)[::-1]
                np.testing.assert_array_equal(compiled[name](turned), f(turned), err_msg=f"{name} {a.shape}")


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint8, np.bool_, np.float32])
def test_integers_and_places(dtype: type) -> None:
    for name in ("max", "min", "sum", "prod", "argmax", "argmin"):
        f = function_of(f"return np.{name}(a, axis=0)", "a")
        compiled = adc.jit_grad(f)
        for rows, columns in [(1, 3), (3, 2), (5, 8), (4, 9), (6, 50)]:
            a = RNG.integers(0, 5, (rows, columns)).astype(dtype)
            np.testing.assert_array_equal(compiled(a), f(a), strict=True, err_msg=f"{name} {a.shape}")


def test_places_of_what_is_no_number() -> None:
    f = function_of("return np.argmax(a, axis=0), np.argmin(a, axis=0)", "a")
    compiled = adc.jit_grad(f)
    for columns in (3, 8, 49):
        a = RNG.integers(0, 3, (7, columns)).astype(float)
        a[3, ::2] = a[5, 1:] = np.nan
        np.testing.assert_array_equal(compiled(a), f(a))


def test_zeros_of_both_signs() -> None:
    compiled = adc.jit_grad(function_of("return np.max(a, axis=0), np.min(a, axis=0), np.max(a), np.min(a)", "a"))
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        found = compiled(np.tile(np.array(zeros)[:, None], (1, 11)))
        assert [np.signbit(np.ravel(r)).all() for r in found] == [False, True, False, True]
        assert [np.signbit(np.ravel(r)).any() for r in found] == [False, True, False, True]


@pytest.mark.parametrize(
    "body",
    [
        "return np.max(a, axis=0) * np.min(a * b, axis=0)",
        "return np.prod(a * b, axis=0)",
        "return np.max(a[:, None] * b, axis=(0, 1)) + np.prod(np.abs(a).T, axis=1)",
        "return np.nanmax(np.where(a > 1, np.nan, a), axis=0)",
    ],
)
def test_gradients(body: str) -> None:
    for columns in (2, 9):
        check(body, a=RNG.standard_normal((4, columns)), b=RNG.random(columns) + 0.5, exact=False, rtol=1e-14)


@pytest.mark.parametrize("given", [[], [0], [99], [3, 50], range(99), range(100)])
def test_extremes_without_nan(given: list[int]) -> None:
    a = RNG.standard_normal(100)
    a[list(given)] = np.nan
    for name in ("nanmax", "nanmin"):
        f = function_of(f"return np.{name}(a)", "a")
        with np.errstate(all="ignore"), pytest.warns(RuntimeWarning) if len(given) == 100 else np.errstate():
            np.testing.assert_array_equal(adc.jit_grad(f)(a), f(a))


@pytest.mark.usefixtures("optimised")
@pytest.mark.parametrize("body", ["return np.max(a, axis=0)", "return np.nanmax(a)", "return np.prod(a, axis=0)"])
def test_they_are_simd(body: str) -> None:
    compiled = adc.jit_grad(function_of(body, "a"))
    compiled(np.ones((3, 4)))
    text = compiled.dump_ir("llvm")
    operation = "fmul" if "prod" in body else "@llvm.maximum"
    assert any(operation in line and " x double>" in line for line in text.splitlines()), text
