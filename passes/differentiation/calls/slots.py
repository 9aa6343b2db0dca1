"""Room for snapshots: in memory, and on disk.

Snapshots are a stack, and have numbers. Those at its bottom are made first and read least often, so these are the ones
on disk, if any are.

Reference: Stumm and Walther, MultiStage approaches for optimal offline checkpointing, SIAM J. Sci. Comput. 31, 2009.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import FILE
from adc.ir.types import MemRefType
from adc.passes.building import choose, copy
from adc.passes.differentiation.calls.snapshots import Snapshots


@dataclass(frozen=True)
class _OnDisk:
    """The first ``count`` snapshots of an array."""

    slots: Value
    count: Value


@dataclass(frozen=True)
class _Array:
    """Snapshots of an array; ``slots`` are those in memory."""

    slots: Value
    disk: _OnDisk | None

    def save(self, source: Value, number: Value) -> None:
        if self.disk is None:
            return copy(source, self.slots, (), (number,))
        disk = self.disk

        def write() -> None:
            copy(source, disk.slots, (), (number,))
            build(ops.page_out, [disk.slots, number])

        within = ops.cmpi(number, disk.count, predicate="slt")
        return choose(within, write, lambda: copy(source, self.slots, (), (ops.subi(number, disk.count),)))

    def restore(self, number: Value, target: Value) -> None:
        if self.disk is None:
            return copy(self.slots, target, (number,), ())
        disk = self.disk

        def read() -> None:
            copy(disk.slots, target, (number,), ())
            build(ops.page_out, [disk.slots, number])

        within = ops.cmpi(number, disk.count, predicate="slt")
        return choose(within, read, lambda: copy(self.slots, target, (ops.subi(number, disk.count),), ()))


@dataclass(frozen=True)
class Slots(Snapshots):
    """Snapshots of the arrays that a loop writes to, and of the numbers that it carries, of which there is one more."""

    arrays: Sequence[_Array]
    numbers: Sequence[Value]

    @staticmethod
    def made(
        arrays: Sequence[Value], numbers: Sequence[Value], count: Value, on_disk: Value | None, directory: str
    ) -> Slots:
        """Append the allocations of ``count`` slots for each."""
        more = ops.addi(count, const_index(1))
        rows = [ops.alloc(more, type=MemRefType((None,), v.type)) for v in numbers]
        in_memory = count if on_disk is None else ops.subi(count, on_disk)
        stacks = []
        for array in arrays:
            disk = None
            if on_disk is not None:
                slots = _stack(on_disk, array)
                assert slots.op is not None
                slots.op.set_attr(FILE, directory)
                disk = _OnDisk(slots, on_disk)
            stacks.append(_Array(_stack(in_memory, array), disk))
        return Slots(stacks, rows)

    def values(self) -> list[Value]:
        """The values that go into a record."""
        disks = [a.disk for a in self.arrays if a.disk is not None]
        return [*(v for d in disks for v in (d.slots, d.count)), *(a.slots for a in self.arrays), *self.numbers]

    @staticmethod
    def of(values: Iterator[Value], arrays: int, numbers: int, *, disk: bool) -> Slots:
        """The slots whose ``values()`` were these, for so many arrays and numbers."""
        disks = [_OnDisk(next(values), next(values)) if disk else None for _ in range(arrays)]
        return Slots([_Array(next(values), d) for d in disks], [next(values) for _ in range(numbers)])

    def save_arrays(self, number: Value, arrays: Sequence[Value]) -> None:
        for stack, array in zip(self.arrays, arrays, strict=True):
            stack.save(array, number)

    def restore_arrays(self, number: Value, arrays: Sequence[Value]) -> None:
        for stack, array in zip(self.arrays, arrays, strict=True):
            stack.restore(number, array)

    def move(self, source: Value, target: Value) -> None:
        """Append the copy of one snapshot to another number; none is on disk."""
        for slots in (*(a.slots for a in self.arrays), *self.numbers):
            copy(slots, slots, (source,), (target,))


def _stack(count: Value, array: Value) -> Value:
    t = array.type
    assert isinstance(t, MemRefType)
    extents = [ops.dim(array, dim=d) for d in range(t.rank)]
    return ops.alloc(count, *extents, type=MemRefType((None,) * (t.rank + 1), t.element))
