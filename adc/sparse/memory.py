"""Memory for large arrays that is used again when nobody has the arrays any more: pages of fresh memory cost more than
what is stored in them.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections import deque
from typing import Any

import numpy as np

NDArray = np.ndarray[Any, Any]

_KEPT = 4  # most blocks that are kept
_SMALL = 1 << 16  # bytes; the allocator keeps smaller blocks itself


class Memory:
    """Blocks that were used for arrays, and may be used for others of their size. Threads may share it."""

    def __init__(self) -> None:
        self._free: deque[NDArray] = deque(maxlen=_KEPT)  # its operations are atomic

    def array(self, shape: tuple[int, ...], dtype: Any) -> NDArray:
        """An array with any contents. Its block comes back when it and all its views are gone."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size < _SMALL:
            return np.empty(shape, dtype)
        block = self._block(size)
        owned = np.frombuffer(block.data, dtype)  # views of it refer to it, and not to the block
        weakref.finalize(owned, self._free.append, block).atexit = False
        return owned.reshape(shape)

    def copy(self, of: NDArray) -> NDArray:
        """A copy of an array."""
        made = self.array(of.shape, of.dtype)
        made[...] = of
        return made

    def _block(self, size: int) -> NDArray:
        with contextlib.suppress(IndexError):  # none is left
            for _ in range(_KEPT):
                block = self._free.popleft()
                if block.size == size:
                    return block
                self._free.append(block)
        return np.empty(size, np.uint8)
