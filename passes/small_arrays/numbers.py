"""Integers that are known numbers: subscripts, extents and bounds of loops, if shapes and loop counters are known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.evaluate.evaluate import Undefined
from adc.passes.analysis.kinds import COUNTED, ELEMENT, VIEWS
from adc.passes.small_arrays.views import Shape, element, shape_of_view

DEPTH = 24
"""Subscripts are made of few operations."""


class Numbers:
    """The values of integers, given values of some loop counters and shapes of some memrefs."""

    def __init__(self, shapes: Mapping[Value, Shape], extents: Mapping[tuple[Value, int], int] | None = None) -> None:
        """``extents``: some extents of other memrefs."""
        self._shapes = shapes
        self._extents = extents or {}
        self.counters: dict[Value, int] = {}

    def of(self, value: Value, depth: int = DEPTH) -> int | None:
        op = value.op
        if op is None:
            return self.counters.get(value)
        kind = op.opdef
        if kind is ops.constant:
            number = op.attrs["value"]
            return int(number) if value.type.is_integer else None
        if kind is ops.dim:
            memref, d = op.operands[0], op.attrs["dim"]
            shape = self.shape(memref)
            return self._extents.get((memref, d)) if shape is None else shape[d]
        if depth == 0 or not value.type.is_integer:
            return None
        if kind is ops.bound:
            subscript, extent = (self.of(v, depth - 1) for v in op.operands)
            if subscript is None or extent is None or not -extent <= subscript < extent:
                return None
            return subscript % extent
        if kind.evaluate is None or not kind.pure:
            return None
        numbers = [self.of(v, depth - 1) for v in op.operands]
        if None in numbers:
            return None
        try:
            return int(kind.evaluate(op.attrs, value.type, *numbers))
        except Undefined:
            return None

    def shape(self, memref: Value) -> Shape | None:
        """The shape of a memref, or of a view of one."""
        view = memref.op
        if view is None or view.opdef not in VIEWS:
            return self._shapes.get(memref)
        return shape_of_view(view, self.of, self.shape)

    def elements(self, op: Op, position: int) -> list[int | None]:
        """The elements that an operation reads or writes in the array that is an operand, or of which the operand is a
        view; None for one that is not known, or does not exist."""
        memref = op.operands[position]
        if op.opdef in ELEMENT:
            numbers = [self.of(v) for v in op.operands[position + 1 :]]
            places = [tuple(n for n in numbers if n is not None)] if None not in numbers else [()]
        else:
            places = list(itertools.product(*map(range, self.shape(memref) or ())))
        if self.shape(memref) is None or any(len(at) != len(self.shape(memref) or ()) for at in places):
            return [None]
        found = [element(memref, at, self.of, self.shape) for at in places]
        return [None if place is None else place[1] for place in found]

    def trips(self, loop: Op) -> range | None:
        lower, upper, step = (self.of(v) for v in loop.operands[:3])
        return None if lower is None or upper is None or step is None or step < 1 else range(lower, upper, step)

    def loops_of(self, value: Value, depth: int = DEPTH) -> list[Op] | None:
        """The loops whose counters alone determine ``value``; None if it depends on anything else."""
        op = value.op
        if op is None:
            loop = value.owner.parent_op if isinstance(value.owner, Block) else None
            return [loop] if loop is not None and value.index == 0 and _may_be_written_out(loop) else None
        if self.of(value, depth) is not None:
            return []
        if depth == 0 or not (op.opdef is ops.bound or (op.opdef.evaluate is not None and op.opdef.pure)):
            return None
        found: list[Op] = []
        for operand in op.operands:
            inner = self.loops_of(operand, depth - 1)
            if inner is None:
                return None
            found += inner
        return found or None  # else it is made of numbers and has no value: a subscript out of range


def _may_be_written_out(loop: Op) -> bool:
    """Whether a loop may be unrolled: other attributes, which say how it is to run, would be lost."""
    return loop.opdef in COUNTED and loop.attrs.keys() <= {"threads"}
