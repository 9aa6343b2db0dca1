"""Arrays that lie where compiled code cannot address them: not aligned, or with strides of broken elements.

Such are fields of packed records and windows on bytes. A call is given aligned copies; what it stored is copied back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NDArray = np.ndarray[Any, Any]


def is_addressable(array: NDArray) -> bool:
    """Whether compiled code can take the array where it is."""
    if not array.size:
        return True
    return array.flags.aligned and all(stride % array.itemsize == 0 for stride in array.strides)


class Borrowed:
    """Aligned copies in place of arrays of one call. ``give_back`` brings what was stored in them to the caller's."""

    def __init__(self) -> None:
        self.pairs: list[tuple[NDArray, NDArray]] = []  # the caller's, and the copy

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
