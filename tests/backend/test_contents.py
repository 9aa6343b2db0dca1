"""Digests of arrays: every change shows, and equal arrays have equal digests wherever they are in memory."""

from __future__ import annotations

import numpy as np
import pytest

from adc.backend.runtime import digest

SIZES = (1, 7, 63, 64, 65, 511, 512, 640, 4097)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.bool_])
def test_each_changed_element_shows(size: int, dtype: type) -> None:
    values = np.random.default_rng(size).integers(0, 2, size).astype(dtype)
    digests = {digest(values)}
    for k in range(size):
        changed = values.copy()
        changed[k] = 1 - changed[k]
        digests.add(digest(changed))
    assert len(digests) == size + 1


def test_each_bit_shows() -> None:
    words = np.zeros(130, np.uint64)
    digests = {digest(words)}
    for k in (0, 1, 64, 128, 129):
        for bit in range(64):
            changed = words.copy()
            changed[k] = np.uint64(1) << np.uint64(bit)
            digests.add(digest(changed))
    assert len(digests) == 1 + 5 * 64


@pytest.mark.parametrize("width", [1, 8, 64, 512, 4096])
def test_elements_that_change_places_show(width: int) -> None:
    """Rows swapped, and squares of a chessboard: sums by rows and by columns stay what they were."""
    board = np.ones((4, width))
    board[::2] = 2.0
    swapped = board[[1, 0, 3, 2]]
    turned = np.where(np.add.outer(np.arange(4), np.arange(width)) % 2 == 0, 1.0, 2.0)
    found = {digest(a) for a in (board, swapped, turned, 3.0 - turned)}
    assert len(found) == len({a.tobytes() for a in (board, swapped, turned, 3.0 - turned)})


def test_place_and_strides_do_not_matter() -> None:
    values = np.random.default_rng(1).standard_normal(1001)
    apart = np.empty(1003)
    every_other = np.zeros(2002)[::2]
    every_other[:] = values
    for offset in range(3):
        apart[offset : offset + 1001] = values
        assert digest(apart[offset : offset + 1001]) == digest(values)
    assert digest(every_other) == digest(values)
    assert digest(np.zeros(0)) == digest(np.ones((0, 3)))
