"""How the elements of arrays are distributed over ranks, and which of them ranks send each other: ``adc.distribute``.

Every rank has memory for whole arrays, and computes its own elements. So subscripts are the same as in one process;
memory that is never touched takes no space. Code fetches elements of other ranks before it reads them. A *region* says
which elements each rank is going to read, in numbers that are equal on all ranks: so each rank knows what the others
need from it without being asked. Fetched elements are valid until the array is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any
from zlib import crc32

import numpy as np

from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.messages import NOBODY, TAGS, Communicator

NONE = -1
"""No axis of the grid: for dimensions that all ranks have entirely, and for whole ranges."""

NEAR = 2
"""By how many elements an argument may be shorter or longer than the grid."""

GUARD, AXIS = 4, 10
"""How many integers a guard and an axis of a region take."""

FAR = 1 << 40
"""Beyond the ends of all arrays."""

Box = tuple[tuple[int, int], ...]
TAG = TAGS + 500


@dataclass
class Counts:
    """How often elements were fetched, and what this rank sent for that: messages, bytes, shapes of boxes."""

    fetches: int = 0
    messages: int = 0
    sent: int = 0
    shapes: set[tuple[int, ...]] = field(default_factory=set)


@dataclass
class Partition:
    """Blocks of arrays of about these ``extents``, for a grid of ranks with ``counts`` along its axes.

    One more axis, after those of the grid, distributes over all ranks in order, whatever the grid.
    """

    extents: tuple[int, ...]
    counts: tuple[int, ...]
    group: Communicator
    messages: int = 0
    sent: int = 0  # bytes
    fetches: int = 0
    changes: set[int] = field(default_factory=set, init=False)
    _ends: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict, init=False)
    _plans: dict[Any, _Plan] = field(default_factory=dict, init=False)
    _fresh: dict[int, tuple[int, set[bytes]]] = field(default_factory=dict, init=False)
    _told: int = field(default=0, init=False)
    counts_of: dict[int, Counts] = field(default_factory=dict, init=False)
    """By places in the program: what was sent for them. See ``passes.plans.FetchPlan``."""

    def begin(self) -> None:
        """Forget what was fetched before: arrays may have been changed."""
        self._fresh.clear()
        self.changes.clear()
        self._told = 0
        self.counts_of.clear()

    def ends(self, axis: int, extent: int) -> tuple[int, ...]:
        """Where blocks begin along an axis of an array, and where the last one ends.

        Blocks of an axis of the grid's extent differ in length by one at most. Arrays that are somewhat shorter or
        longer are cut at the same places, as if centred on the grid; others in proportion.
        """
        extent = max(extent, 0)
        known = self._ends.get((axis, extent))
        if known is None:
            flat = axis == len(self.counts)
            whole, count = (self.extents[0], self.group.size) if flat else (self.extents[axis], self.counts[axis])
            each, more = divmod(whole, count)
            inner = [place * each + min(place, more) for place in range(1, count)]
            if 2 * abs(whole - extent) <= whole:
                inner = [end - (whole - extent) // 2 for end in inner]
            else:
                inner = [end * extent // whole for end in inner]
            known = self._ends[axis, extent] = (0, *(min(max(end, 0), extent) for end in inner), extent)
        return known

    def places(self, rank: int) -> tuple[int, ...]:
        """The position of a rank along each axis; the last is the axis of all ranks."""
        found, rest = [rank], rank
        for count in reversed(self.counts):
            rest, place = divmod(rest, count)
            found.append(place)
        return (*reversed(found[1:]), rank)

    def block(self, rank: int, axis: int, extent: int) -> tuple[int, int]:
        """The elements of a rank along an axis of an array."""
        ends, place = self.ends(axis, extent), self.places(rank)[axis]
        return ends[place], ends[place + 1]

    def own(self, axes: Sequence[int], shape: Sequence[int], rank: int | None = None) -> Box:
        """The elements of a rank (by default this one) of an array with ``axes`` of the grid (or ``NONE``)."""
        rank = self.group.rank if rank is None else rank
        pairs = zip(axes, shape, strict=True)
        return tuple((0, n) if axis == NONE else self.block(rank, axis, n) for axis, n in pairs)

    def first(self, axis: int, extent: int) -> int:
        return self.block(self.group.rank, axis, extent)[0]

    def last(self, axis: int, extent: int) -> int:
        return self.block(self.group.rank, axis, extent)[1]

    def distinct(self, a: Any, b: Any) -> bool:
        """Whether two arrays have no memory in common."""
        (first, end), (other, last) = _span(a), _span(b)
        return end <= other or last <= first

    def wrote(self, array: Any) -> None:
        """Forget what was fetched into the memory of an array: it was written."""
        low, high = _span(array)
        for start in [s for s, (end, _) in self._fresh.items() if s < high and low < end]:
            del self._fresh[start]

    def returned(self, array: Any, axes: Any) -> None:
        """Handle a result, of which each rank has its own elements. If it is not cut as arrays of its shape usually
        are, all ranks get all of it."""
        given, expected = tuple(map(int, axes)), self.axes(array.shape)
        if expected is None or self._cut(given) != self._cut(expected):
            self.complete(array, given)

    def complete(self, array: Any, axes: Sequence[int]) -> None:
        """Get all elements of an array, of which each rank has its own."""
        numbers = [*self._cut(axes), 1, 0]  # one box without guards: along each axis, all
        for n in array.shape:
            numbers += [NONE, n, 1, 0, 0, 0, n, 1, 0, 0]
        self.fetch(array, np.array(numbers, np.int64))

    def _cut(self, axes: Sequence[int]) -> tuple[int, ...]:
        """The axes along which there are several ranks."""
        return tuple(k if k != NONE and self.counts[k] > 1 else NONE for k in axes)

    def axes(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        """How an array of a shape is distributed by default: along consecutive axes with the grid's extents. None if it
        is not distributed."""
        rank = len(self.extents)
        for near in (0, NEAR):
            for first in reversed(range(len(shape) - rank + 1)):
                part = shape[first : first + rank]
                if all(abs(n - m) <= near for n, m in zip(part, self.extents, strict=True)):
                    return (*[NONE] * first, *range(rank), *[NONE] * (len(shape) - first - rank))
        return None

    def changed(self, array: Any) -> None:
        """Note that a distributed argument may have been written to."""
        self.changes.add(place(array))

    def fetch(self, array: Any, region: Any, site: int = 0) -> None:
        """Get the elements that this rank is going to read, and send those that others are; all ranks do this
        together. ``site``: the place in the program."""
        key = region.tobytes()
        low, high = _span(array)
        end, known = self._fresh.get(low, (high, set()))
        if key in known:
            return
        self._fresh[low] = max(high, end), known | {key}
        plan = self._plans.get((array.shape, key))
        if plan is None:
            plan = self._plans[array.shape, key] = self._plan(array.shape, [int(n) for n in region])
        self.fetches += 1
        counts = self.counts_of.setdefault(site, Counts())
        counts.fetches += 1
        # Each message carries a checksum of all requests so far, so that it is never taken for another one.
        self._told = crc32(key, self._told)
        head = np.array([self._told], np.uint64).view(array.dtype)
        for dest, sent, source, received in plan.turns:
            out = _packed(head, array, sent)
            room = np.empty(len(head) + sum(map(_size, received)), array.dtype)
            self.group.exchange(out, room, dest, source, TAG)
            at = len(head)
            if source != NOBODY and room[:at].tobytes() != head.tobytes():
                raise kinds.RANK_FAILED(
                    f"ranks do not do the same: rank {source} is not where rank {self.group.rank} is in the program"
                )
            for box in received:
                part = array[_slices(box)]
                part[...] = room[at : at + part.size].reshape(part.shape)
                at += part.size
            self.messages += dest != NOBODY
            self.sent += out.nbytes - head.nbytes
            counts.messages += dest != NOBODY
            counts.sent += out.nbytes - head.nbytes
            counts.shapes.update(tuple(b - a for a, b in box) for box in sent)

    def _plan(self, shape: tuple[int, ...], numbers: list[int]) -> _Plan:
        """Which boxes to send to whom, by distance: in each turn, all ranks send to the rank at the same distance."""
        region = _Region(self, shape, numbers)
        rank, size = self.group.rank, self.group.size
        turns = []
        for distance in range(1, size):
            dest, source = (rank + distance) % size, (rank - distance) % size
            sent, received = region.pieces(rank, dest), region.pieces(source, rank)
            if sent or received:
                turns.append((dest if sent else NOBODY, sent, source if received else NOBODY, received))
        return _Plan(turns)


@dataclass(frozen=True)
class _Plan:
    """Messages, turn by turn: the destination, boxes sent to it, the source, boxes received from it."""

    turns: list[tuple[int, list[Box], int, list[Box]]]


class _Region:
    """What each rank reads of an array, as encoded by compiled code: see ``adc.passes.ranks.regions``.

    The numbers are: the grid's axis for each dimension; the number of boxes; then for each box the number of its
    guards, the guards, all of which a rank must meet to read the box, and the range along each dimension.
    """

    def __init__(self, partition: Partition, shape: tuple[int, ...], numbers: list[int]) -> None:
        self.partition, self.shape = partition, shape
        rank = len(shape)
        self.axes = numbers[:rank]
        self._boxes: list[tuple[list[list[int]], list[list[int]]]] = []
        at = rank + 1
        for _ in range(numbers[rank]):
            guards = [numbers[at + 1 + k * GUARD :][:GUARD] for k in range(numbers[at])]
            at += 1 + len(guards) * GUARD
            self._boxes.append((guards, [numbers[at + k * AXIS :][:AXIS] for k in range(rank)]))
            at += rank * AXIS
        assert at == len(numbers)

    def pieces(self, source: int, dest: int) -> list[Box]:
        """The boxes that one rank sends to another."""
        if not self._answers(source, dest):
            return []
        mine = self.partition.own(self.axes, self.shape, source)
        found: list[Box] = []
        for box in self.boxes(dest):
            piece = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, mine, strict=True))
            if all(a < b for a, b in piece) and piece not in found:
                found.append(piece)
        return found

    def _answers(self, source: int, dest: int) -> bool:
        """Whether ``source`` is the one that sends, among the ranks that have the same elements."""
        counts = self.partition.counts
        if len(counts) in self.axes:
            return True
        pairs = enumerate(zip(self.partition.places(source)[:-1], self.partition.places(dest)[:-1], strict=True))
        return all(a == b for k, (a, b) in pairs if k not in self.axes)

    def boxes(self, rank: int) -> list[Box]:
        """The boxes that a rank reads, without those that are inside others."""
        found: list[Box] = []
        for guards, axes in self._boxes:
            if not all(self._met(rank, *guard) for guard in guards):
                continue
            box = tuple(self._along(rank, n, axis) for n, axis in zip(self.shape, axes, strict=True))
            if all(a < b for a, b in box) and not any(_within(box, other) for other in found):
                found = [other for other in found if not _within(other, box)] + [box]
        return found

    def _met(self, rank: int, axis: int, extent: int, low: int, high: int) -> bool:
        first, last = self.partition.block(rank, axis, extent)
        return max(first, low) < min(last, high)

    def _along(self, rank: int, n: int, numbers: Sequence[int]) -> tuple[int, int]:
        """The range of elements ``a * i + b``, and ``more`` after them, for all ``low <= i < high`` for which one of
        ``q * i + c`` to ``q * i + c + wide`` is in the rank's block along ``axis`` of an array of this ``extent``;
        without an axis, for all ``i``."""
        axis, extent, q, c, wide, low, high, a, b, more = numbers
        if axis != NONE:
            first, last = self.partition.block(rank, axis, extent)
            first, last = first - max(wide, 0), last - 1
            if q < 0:
                first, last = last, first
            low, high = max(low, -((c - first) // q)), min(high, (last - c) // q + 1)
        if low >= high:
            return 0, 0
        first, last = sorted((a * low + b, a * (high - 1) + b))
        return max(first, 0), min(last + 1 + max(more, 0), n)


def place(array: Any) -> int:
    """The address of an array."""
    return _span(array)[0]


def _span(array: Any) -> tuple[int, int]:
    """The range of addresses of a C-contiguous array."""
    low = array.__array_interface__["data"][0]
    return low, low + array.nbytes


def _within(box: Box, other: Box) -> bool:
    return all(c <= a and b <= d for (a, b), (c, d) in zip(box, other, strict=True))


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in box)


def _size(box: Box) -> int:
    found = 1
    for a, b in box:
        found *= b - a
    return found


def _packed(head: Any, array: Any, boxes: list[Box]) -> Any:
    return np.concatenate([head, *(array[_slices(box)].reshape(-1) for box in boxes)])
