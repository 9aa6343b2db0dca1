"""Memory for snapshots, in blocks that are freed while a tape needs their room.

Large snapshots have a block each. Small ones are rows of one block, since a header for each would cost more than it is
worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.building import copy
from adc.passes.checkpointing.conventions import BLOCKS, LENT
from adc.passes.differentiation.calls.snapshots import Snapshots

LARGE = 1024
"""Snapshots of at least so many bytes have blocks of their own."""


@dataclass(frozen=True)
class Blocks(Snapshots):
    """Snapshots of the arrays that a loop writes to and of the numbers that it carries. Each array has a holder of its
    blocks, which have room for ``rows`` snapshots each. There is one snapshot of the numbers more than of the
    arrays."""

    holders: Sequence[Value]
    numbers: Sequence[Value]
    rows: Value

    @staticmethod
    def made(arrays: Sequence[Value], numbers: Sequence[Value], count: Value, asked: str) -> Blocks:
        """Append the allocations for ``count`` snapshots. ``asked``: see ``BLOCKS``."""
        one = const_index(1)
        large = ops.cmpi(const_index(LARGE), reduce(ops.addi, map(_bytes, arrays), const_index(0)), predicate="sle")
        rows = ops.select(large, one, ops.maxsi(count, one))
        blocks = ops.select(large, count, one)
        holders = [ops.alloc(blocks, type=MemRefType((None,), _block_type(array))) for array in arrays]
        more = ops.addi(count, one)
        found = Blocks(holders, [ops.alloc(more, type=MemRefType((None,), v.type)) for v in numbers], rows)
        body = Block([one.type])
        with insert_at(body):
            found._allocate(body.args[0], arrays, lent=False)
            build(ops.yield_, ())
        build(ops.for_, [const_index(0), blocks, one], {BLOCKS: asked}, [], [body])
        return found

    def values(self) -> list[Value]:
        """The values that go into a record."""
        return [self.rows, *self.holders, *self.numbers]

    @staticmethod
    def of(values: Iterator[Value], arrays: int, numbers: int) -> Blocks:
        """The blocks whose ``values()`` were these, for so many arrays and numbers."""
        rows = next(values)
        return Blocks([next(values) for _ in range(arrays)], [next(values) for _ in range(numbers)], rows)

    def count(self) -> Value:
        """Append the number of blocks."""
        return ops.dim(self.holders[0], dim=0) if self.holders else const_index(0)

    def save_arrays(self, number: Value, arrays: Sequence[Value]) -> None:
        block, row = self._place(number)
        for array, holder in zip(arrays, self.holders, strict=True):
            copy(array, ops.load(holder, block), (), (row,))

    def restore_arrays(self, number: Value, arrays: Sequence[Value]) -> None:
        block, row = self._place(number)
        for array, holder in zip(arrays, self.holders, strict=True):
            copy(ops.load(holder, block), array, (row,), ())

    def take(self, block: Value, arrays: Sequence[Value]) -> None:
        """Append the allocation of a block whose room was lent."""
        self._allocate(block, arrays, lent=True)

    def lend(self, first: Value, end: Value) -> None:
        """Append the deallocation of the blocks from ``first`` to before ``end``, to lend their room."""
        body = Block([first.type])
        with insert_at(body):
            for holder in self.holders:
                build(ops.dealloc, [ops.load(holder, body.args[0])], {LENT: True})
            build(ops.yield_, ())
        build(ops.for_, [first, end, const_index(1)], {BLOCKS: ""}, [], [body])

    def free(self, left: Value) -> None:
        """Append the deallocation of everything; ``left`` is the number of blocks that remain."""
        self.lend(const_index(0), left)
        for holder in self.holders:
            build(ops.dealloc, [holder], {BLOCKS: ""})
        for row in self.numbers:
            build(ops.dealloc, [row])

    def _place(self, number: Value) -> tuple[Value, Value]:
        return ops.divsi(number, self.rows), ops.remsi(number, self.rows)

    def _allocate(self, number: Value, arrays: Sequence[Value], *, lent: bool) -> None:
        for array, holder in zip(arrays, self.holders, strict=True):
            t = _block_type(array)
            block = ops.alloc(self.rows, *(ops.dim(array, dim=d) for d in range(t.rank - 1)), type=t)
            assert block.op is not None
            if lent:
                block.op.set_attr(LENT, True)
            build(ops.store, [block, holder, number])


def _block_type(array: Value) -> MemRefType:
    t = array.type
    assert isinstance(t, MemRefType)
    return MemRefType((None,) * (t.rank + 1), t.element)


def _bytes(array: Value) -> Value:
    t = array.type
    assert isinstance(t, MemRefType)
    extents = (ops.dim(array, dim=d) for d in range(t.rank))
    return reduce(ops.muli, extents, const_index(scalar_bytes(t.element)))
