"""Ranks arranged in a grid, like the blocks of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from adc.ir import kinds
from adc.ir.messages import NOBODY, communicator


class Grid(NamedTuple):
    """A grid of ranks over the leading axes of an array, as seen by one rank.

    ``shape``: the number of ranks along each axis; ``at``: the position of this rank; ``sides``: for each axis the rank
    before and the rank after it, or ``NOBODY``. Pass it to compiled functions as an argument.
    """

    shape: tuple[int, ...]
    at: tuple[int, ...]
    sides: tuple[tuple[int, int], ...]

    def block(self, *extents: int) -> tuple[slice, ...]:
        """The slices of this rank's block in an array of these extents; block lengths differ by at most one element."""
        found = []
        for extent, count, place in zip(extents, self.shape, self.at, strict=True):
            each, more = divmod(extent, count)
            first = place * each + min(place, more)
            found.append(slice(first, first + each + (place < more)))
        return tuple(found)


def grid(shape: Sequence[int], periodic: bool | Sequence[bool] = False) -> Grid:
    """All ranks as a grid, with the given numbers along its axes; adc chooses those that are 0.

    ``periodic``: whether the first and the last rank along each axis, or along all axes, are neighbours. Raises
    ``ArgumentValueError`` if the ranks do not fill the grid.
    """
    group = communicator()
    counts = filled(tuple(shape), group.size)
    around = tuple(periodic) if isinstance(periodic, Sequence) else (periodic,) * len(counts)
    at = _places(group.rank, counts)
    sides = []
    for axis, (count, wraps) in enumerate(zip(counts, around, strict=True)):
        pair = []
        for step in (-1, 1):
            place = at[axis] + step
            inside = wraps or 0 <= place < count
            pair.append(_rank((*at[:axis], place % count, *at[axis + 1 :]), counts) if inside else NOBODY)
        sides.append((pair[0], pair[1]))
    return Grid(counts, at, tuple(sides))


def filled(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape with zeros replaced by numbers that are as equal as possible: large factors first, each at the smallest
    number."""
    given = math.prod(n for n in shape if n != 0)
    free = [axis for axis, n in enumerate(shape) if n == 0]
    if any(n < 0 for n in shape) or size % given or (not free and given != size):
        raise kinds.INVALID_OPTION(
            f"{size} ranks do not fill a grid of {shape}", help="the numbers of a shape multiply to that of the ranks"
        )
    found = [n or 1 for n in shape]
    for factor in sorted(_factors(size // given), reverse=True):
        found[min(free, key=lambda axis: (found[axis], axis))] *= factor
    return tuple(found)


def _factors(n: int) -> list[int]:
    found, p = [], 2
    while n > 1:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return found


def _places(rank: int, counts: Sequence[int]) -> tuple[int, ...]:
    found = []
    for count in reversed(counts):
        rank, place = divmod(rank, count)
        found.append(place)
    return tuple(reversed(found))


def _rank(places: Sequence[int], counts: Sequence[int]) -> int:
    found = 0
    for place, count in zip(places, counts, strict=True):
        found = found * count + place
    return found
