"""Arrays distributed over the ranks of a grid: ``adc.Grid`` and the blocks of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from adc.border.boundary import public
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import communicator, share_by
from adc.ir.partitions import Partition
from adc.mpi.grids import filled


class Grid:
    """A grid of ranks over which arrays of about the same shape are distributed.

    ``shape`` are the extents of the arrays. ``ranks`` is the number of ranks along each axis; where it is 0, adc
    chooses the number. Without ``ranks``, all ranks are along the first axis. All ranks must create it at once.
    """

    def __init__(self, shape: Sequence[int], ranks: Sequence[int] | None = None) -> None:
        self.shape = tuple(int(n) for n in shape)
        group = communicator()
        self.ranks = filled((0, *[1] * (len(self.shape) - 1)) if ranks is None else tuple(ranks), group.size)
        if len(self.ranks) != len(self.shape) or not self.shape or min(self.shape) < 1:
            raise kinds.INVALID_OPTION(f"a grid of shape {self.shape} has no {self.ranks} ranks along its axes")
        self._partition = Partition(self.shape, self.ranks, group)

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._partition.group.size

    @public
    def scatter(self, x: Any) -> Field:
        """Distribute an array that all ranks have: the field has this rank's block."""
        whole = np.asarray(x)
        axes = self._partition.axes(whole.shape)
        if axes is None:
            raise kinds.UNSUPPORTED_ARGUMENT(
                f"an array of shape {whole.shape} does not have the extents of a grid of {self.shape}",
                help="pass it to the function as it is: all ranks have all of it",
            )
        found = Field(self, np.zeros(whole.shape, whole.dtype), axes)
        found.own[...] = whole[self._slices(axes, whole.shape)]
        return found

    @public
    def gather(self, x: Field) -> Any:
        """The whole array, on all ranks; all ranks must call it at once."""
        array = x.array.copy()
        replace(self._partition).complete(array, x.axes)  # with separate counts of messages
        return array

    @property
    def sent(self) -> tuple[int, int]:
        """The numbers of messages and of bytes that this rank has sent in calls of distributed functions."""
        return self._partition.messages, self._partition.sent

    def _slices(self, axes: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
        return tuple(slice(a, b) for a, b in self._partition.own(axes, shape))

    @contextmanager
    def _used(self) -> Iterator[Partition]:
        self._partition.begin()
        before = share_by(self._partition)
        try:
            yield self._partition
        finally:
            share_by(before)


@dataclass(eq=False)
class Field:
    """A distributed array: ``array`` has the shape of the whole array, but only the block ``own`` belongs to this
    rank."""

    grid: Grid
    array: Any
    axes: tuple[int, ...]

    @property
    def own(self) -> Any:
        """This rank's block, as a view."""
        return self.array[self.grid._slices(self.axes, self.array.shape)]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a rank has its own block of this array alone: .own is that, grid.gather(x) the whole array")

    def __repr__(self) -> str:
        return f"<block of an array of shape {self.shape} on rank {self.grid._partition.group.rank}>"
