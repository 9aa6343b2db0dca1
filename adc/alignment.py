"""Arrays that lie where compiled code cannot address them: not aligned, or with strides of broken elements.

Such are fields of packed records and windows on bytes. A call is given aligned copies; what it stored is copied back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from adc import aliasing
from adc.ir import kinds

NDArray = np.ndarray[Any, Any]


def is_addressable(array: NDArray) -> bool:
    """Whether compiled code can take the array where it is."""
    if not array.size:
        return True
    return array.flags.aligned and all(stride % array.itemsize == 0 for stride in array.strides)


class Borrowed:
    """Aligned copies in place of arrays of one call. ``give_back`` brings what was stored in them to the caller's."""

    def __init__(self) -> None:
        self.pairs: list[tuple[NDArray, NDArray, str]] = []

    def __bool__(self) -> bool:
        return bool(self.pairs)

    def copy(self, array: NDArray, where: str) -> NDArray:
        """The copy for an array; ``where`` is how the caller would write the argument."""
        made = np.array(array, order="K", subok=False)
        made.flags.writeable = array.flags.writeable
        self.pairs.append((array, made, where))
        return made

    def check(self, others: Iterable[tuple[NDArray, str]]) -> None:
        """Refuse copies of arrays that share memory with further arguments: the copies would not."""
        known = [(array, where) for array, _, where in self.pairs]
        for n, (array, where) in enumerate(known):
            for other, there in [*known[:n], *others]:
                if aliasing.groups({0: array, 1: other}):
                    raise kinds.OVERLAPPING_ARGUMENTS(
                        f"argument {where}: the array is not aligned in memory, and shares it with {there}",
                        help="pass a copy of one of them",
                    )

    def give_back(self) -> None:
        for array, made, _ in self.pairs:
            if array.flags.writeable:
                np.copyto(array, made)
