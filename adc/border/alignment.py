"""Arrays that compiled code cannot address: unaligned ones, or with strides that are not whole elements.

Examples are fields of packed records and windows on bytes. A call gets aligned copies; what it stores is copied back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NDArray = np.ndarray[Any, Any]


def is_addressable(array: NDArray) -> bool:
    """Whether compiled code can use the array in place."""
    if not array.size:
        return True
    return array.flags.aligned and all(stride % array.itemsize == 0 for stride in array.strides)


class Borrowed:
    """Aligned copies of the arrays of one call. ``give_back`` copies what was stored in them back to the caller's
    arrays."""

    def __init__(self) -> None:
        self.pairs: list[tuple[NDArray, NDArray]] = []  # the caller's array, and the copy

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def copy(self, array: NDArray) -> NDArray:
        made = np.array(array, order="K", subok=False)
        made.flags.writeable = array.flags.writeable
        self.pairs.append((array, made))
        return made

    def give_back(self) -> None:
        for array, made in self.pairs:
            if array.flags.writeable:
                np.copyto(array, made)
