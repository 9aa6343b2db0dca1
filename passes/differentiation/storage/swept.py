"""Does a program go through all of an array anyhow, whenever it comes to a certain loop?

A copy of a whole array costs as much as one pass over it. If the code around a loop passes over the array each time (it
writes all of it, or goes through something as long), one more copy changes the run time only by a constant factor. If
the code changes a few elements and looks some up, a copy would cost much more.
"""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.moments import strip_views
from adc.ir.nesting import inside
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.extents import Extent, Extents
from adc.passes.analysis.kinds import COUNTED, ELEMENT_WRITES, LOOPS


class Swept:
    """Answers for one function."""

    def __init__(self, aliasing: Aliasing, extents: Extents) -> None:
        self._aliasing = aliasing
        self._extents = extents

    def beside(self, memref: Value, anchor: Op) -> bool:
        """Whether something goes through all of ``memref`` each time that the code around ``anchor`` runs."""
        block = anchor.parent
        while block is not None:
            around = block.parent_op
            loop = around if around is not None and around.opdef in LOOPS else None
            if any(self._passes(op, path, memref, loop) for op, path in _always(block, ())):
                return True
            block = around.parent if around is not None and loop is None else None
        return False

    def _passes(self, op: Op, path: tuple[Op, ...], memref: Value, around: Op | None) -> bool:
        """Whether ``op`` does, in the loops ``path``, which are inside ``around``."""
        if op.opdef in COUNTED:
            return self._as_long((*path, op), memref)
        if op.opdef in (ops.fill, ops.copy):
            target = op.operands[1]
            return not path and strip_views(target) is target and self._meets(target, memref)
        if op.opdef not in ELEMENT_WRITES or around is None or not self._meets(op.operands[1], memref):
            return False
        counters = {loop.regions[0].args[0]: loop for loop in path}
        for subscript in op.operands[2:]:
            loop = counters.pop(_without_offset(subscript), None)
            if loop is None or any(inside(v, around) and not _is_constant(v) for v in loop.operands[:3]):
                return False
        return True

    def _meets(self, a: Value, b: Value) -> bool:
        """Whether they may be the same array, or two that swap places."""
        return not self._aliasing.roots(a).isdisjoint(self._aliasing.roots(b))

    def _as_long(self, path: tuple[Op, ...], memref: Value) -> bool:
        """Whether for each dimension of the array there is a loop as long as the dimension."""
        left = list(path)
        for k, extent in enumerate(self._extents.shape(memref)):
            loop = next((loop for loop in left if self._is_as_long(loop, extent, (memref, k))), None)
            if loop is None:
                return False
            left.remove(loop)
        return True

    def _is_as_long(self, loop: Op, extent: Extent, name: Extent) -> bool:
        """Whether a loop goes from a constant to an ``extent``, also known as ``name``, up to a constant offset."""
        lower, upper, step = loop.operands[:3]
        if constant_of(step) != 1 or not _is_constant(lower):
            return False
        found = self._extents.extent(_without_offset(upper))
        if isinstance(found, int):
            return isinstance(extent, int) and 2 * found >= extent
        return found in (extent, name)


def _always(block: Block, path: tuple[Op, ...]) -> Iterator[tuple[Op, tuple[Op, ...]]]:
    """What runs whenever ``block`` does, except that loops may make no iteration; and the loops around each."""
    for op in block.ops:
        yield op, path
        if op.opdef in COUNTED:
            yield from _always(op.regions[0], (*path, op))
        elif op.opdef is ops.if_ and len(warm := warm_regions(op)) == 1:
            yield from _always(warm[0], path)


def _without_offset(value: Value) -> Value:
    """A value without the constants that are added to it and without bounds checks."""
    while (op := value.op) is not None:
        offset = op.opdef in (ops.addi, ops.subi) and _is_constant(op.operands[1])
        if offset or op.opdef is ops.bound:
            value = op.operands[0]
        elif op.opdef is ops.addi and _is_constant(op.operands[0]):
            value = op.operands[1]
        else:
            break
    return value


def _is_constant(value: Value) -> bool:
    return constant_of(value) is not None
