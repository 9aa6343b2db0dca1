"""Copies with permuted subscripts, transposed in tiles: whole tiles, parts of them, and blocks of columns."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import adc

SIZES = [(0, 5), (1, 1), (3, 100), (100, 3), (8, 16), (37, 29), (17, 300), (300, 70)]


def turned(x: Any) -> Any:
    return x.T.copy()


def windows(x: Any, y: Any) -> Any:
    y[1:, :-2] = x[2:, 1:].T
    return y


def backwards(x: Any) -> Any:
    out = np.zeros((x.shape[2] + 1, x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                out[k + 1, j, i] = x[i, j, k]
    return out


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4", "u2", "c16"])
def test_all_sizes(kind: str) -> None:
    f = adc.jit_grad(turned)
    for m, n in SIZES:
        x = np.arange(m * n).reshape(m, n).astype(kind)
        np.testing.assert_array_equal(f(x), x.T)


def test_any_bits_are_moved() -> None:
    bits = np.random.default_rng(0).integers(0, 2**63, (40, 24)).astype(np.uint64)
    moved = adc.jit_grad(turned)(bits.view(np.float64))
    np.testing.assert_array_equal(moved.view(np.uint64), bits.T)


def test_windows_write_nothing_beside_them() -> None:
    f = adc.jit_grad(windows)
    for m, n in [(12, 11), (30, 41), (3, 70), (70, 2)]:
        x, y = np.random.default_rng(0).random((m + 1, n)), np.zeros((n, m + 1))
        np.testing.assert_array_equal(f(x, y.copy()), windows(x, y))


def test_what_is_copied_to_all_of_a_column_or_row() -> None:
    def columns(x: Any, y: Any) -> Any:
        y.T[...] = x
        return y

    f = adc.jit_grad(columns)
    for m, n, k in [(9, 8, 3), (3, 40, 17)]:
        x, y = np.random.default_rng(0).random((n, m)), np.zeros((m, n, k))
        np.testing.assert_array_equal(f(x, y.copy()), columns(x, y))


SHAPES = [(26, 10, 3), (3, 1, 17), (9, 2, 30), (1, 4, 5), (4, 5, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0), (11, 16, 8)]


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))), ids=str)
def test_axes_that_continue_one_another_and_those_that_do_not(axes: tuple[int, ...]) -> None:
    def turned(x: Any, out: Any) -> Any:
        out[:, :, 1:] = np.transpose(x, axes)
        return np.transpose(x, axes).copy()

    f = adc.jit_grad(turned)
    for shape in SHAPES:
        x = np.arange(float(np.prod(shape))).reshape(shape)
        padded = np.pad(x, ((0, 0), (1, 1), (0, 1)), constant_values=-1.0)
        for part in (x, padded[:, 1:-1, :-1], x[::-1, ::2]):
            wide = np.transpose(part, axes).shape
            out = np.zeros((wide[0], wide[1], wide[2] + 1))
            wanted = out.copy()
            np.testing.assert_array_equal(f(part, out), turned(part, wanted))
            np.testing.assert_array_equal(out, wanted)


def test_four_axes() -> None:
    x = np.arange(5 * 3 * 9 * 4).astype(np.float32).reshape(5, 3, 9, 4)
    for axes in [(2, 3, 0, 1), (3, 0, 1, 2), (1, 3, 2, 0)]:
        for part in (x, x[:, :2], x[:, :, 1:8], x[..., 1:]):
            found = adc.jit_grad(lambda x, axes=axes: np.transpose(x, axes).copy())(part)
            np.testing.assert_array_equal(found, np.transpose(part, axes))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_loop_between_the_two_and_the_gradient(threads: int) -> None:
    x = np.random.default_rng(0).random((70, 3, 130))
    w = np.random.default_rng(1).random((131, 3, 70))
    f = adc.jit_grad(threads=threads)(backwards)
    np.testing.assert_array_equal(f(x), backwards(x))
    gradient = adc.grad(lambda x, w: np.sum(w * backwards(x)))(x, w)
    np.testing.assert_array_equal(gradient, w[1:].T)


def test_what_overlaps_is_copied_as_numpy_does() -> None:
    def turn_over(x: Any) -> None:
        x[...] = x.T

    x = np.random.default_rng(0).random((20, 20))
    y = x.copy()
    adc.jit_grad(turn_over)(y)
    np.testing.assert_array_equal(y, x.T)
