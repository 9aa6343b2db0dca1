"""Arrays that are filled right before a loop adds to them: only the part that the loop leaves out is filled beforehand.

The shadow of a stencil is set to zero, and then terms are added to it. The part of the array in the domain of the
loops, moved by one shift, counts as zero (``gather.Fresh``), so that terms are stored there, or is set to zero block by
block (``blocks``), in cache; the slabs around it are filled. That saves one or two passes over the array.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, i1
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.nests import Bounds, Box, fill_outside
from adc.passes.building import parallel_loop
from adc.passes.stencil_adjoints.gather import Axis, Fresh
from adc.passes.stencil_adjoints.stencils import Stencil


def find_fill(analysis: Analysis, base: Value, before: Sequence[Op]) -> Op | None:
    """The operation that fills the array ``base``, if nothing touches the array from there to the end of ``before``."""
    for op in reversed(before):
        if op.opdef is ops.fill and op.operands[1] is base:
            return op
        if touches(analysis, op, base):
            return None
    return None


def touches(analysis: Analysis, op: Op, memref: Value) -> bool:
    """Whether ``op``, or what is inside, may access the memory of ``memref``."""
    if op.regions:
        return any(touches(analysis, inner, memref) for region in op.regions for inner in region.ops)
    if op.opdef.pure or op.opdef in (ops.yield_, ops.reduce, ops.condition):
        return False
    if op.opdef is ops.call and any(not v.type.is_float and not v.type.is_integer for v in op.operands):
        return True
    return any(isinstance(v.type, MemRefType) and not analysis.apart_now(v, memref) for v in op.operands)


def zeros_before(analysis: Analysis, stencil: Stencil, before: Sequence[Op]) -> Op | None:
    """The operation that sets the array of ``stencil`` to zero right before its loops, if they have steps of one."""
    if any(constant_of(loop.operands[2]) != 1 for loop in stencil.loops):
        return None
    fill = find_fill(analysis, stencil.base, before)
    if fill is None or str(constant_of(fill.operands[0])) != "0.0":
        return None
    return fill


def fill_around(fill: Op, stencil: Stencil, axes: Sequence[Axis], shift: Sequence[int], block: Block) -> None:
    """Append the slabs around the loops' domain, moved by ``shift``, and drop ``fill``, which is in ``block``."""
    box: Box = []
    for axis, origin in zip(stencil.axes, stencil.origin, strict=True):
        if axis is None:
            place = axes[0].value(origin)
            box.append(Bounds(place, ops.addi(place, const_index(1))))
            continue
        along = axes[axis]
        lower, upper = (along.value(form + origin + shift[axis]) for form in (along.low, along.high))
        runs = along.runs()
        if runs is not None:  # otherwise the sums may have wrapped around
            lower, upper = (ops.select(runs, limit, const_index(0)) for limit in (lower, upper))
        box.append(Bounds(lower, upper))
    fill_outside(fill.operands[0], stencil.base, box)
    block.set_ops([op for op in block.ops if op is not fill])
    fill.drop()


@dataclass(frozen=True)
class Cleared:
    """An array that is set to zero part by part of the loops' domain, moved by ``shift``."""

    stencil: Stencil
    axes: Sequence[Axis]
    shift: Sequence[int]

    def clear(self, ranges: Sequence[tuple[Value, Value]]) -> None:
        """Append loops that set a part to zero, given the range of each axis."""
        base = self.stencil.base.type
        assert isinstance(base, MemRefType)
        zero = const(0.0, base.element)

        def level(at: list[Value]) -> None:
            if len(at) < len(ranges):
                parallel_loop(*ranges[len(at)], lambda x: level([*at, x]))
            else:
                build(ops.store, [zero, self.stencil.base, *self._element(at)])

        level([])

    def _element(self, at: Sequence[Value]) -> list[Value]:
        found = []
        for axis, origin in zip(self.stencil.axes, self.stencil.origin, strict=True):
            if axis is None:
                found.append(self.axes[0].value(origin))
            else:
                found.append(self.axes[axis].plus(at[axis], origin + self.shift[axis]))
        return found


def middle(stencil: Stencil) -> tuple[int, ...]:
    """A shift by which the domain covers all but the rim of the elements that the loops add to."""
    spans = (stencil.span(level) for level in range(len(stencil.loops)))
    return tuple((least + greatest) // 2 for least, greatest in spans)


def fresh_after(fill: Op, stencil: Stencil, axes: Sequence[Axis], block: Block) -> Fresh:
    """Replace ``fill`` by slabs, and by elements that count as zero when they are gathered."""
    shift = middle(stencil)
    fill_around(fill, stencil, axes, shift, block)
    return Fresh(const(1, i1), shift)
