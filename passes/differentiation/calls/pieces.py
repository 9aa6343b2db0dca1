"""Pieces of the steps of a loop, and the arrays and copies that are needed to run them by a schedule."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, Type, f64, index
from adc.passes.differentiation.reverse import shadows
from adc.passes.differentiation.reverse.shadows import cast_to


@dataclass(frozen=True)
class Pieces:
    """``steps`` steps in ``count`` pieces, as equally long as possible, and ``slots`` for snapshots.

    The last piece is among the longest. It is reversed first, so the memory of its tape is enough for all others. If
    ``count`` is ``steps`` itself, each piece is one step.
    """

    steps: Value
    count: Value
    slots: Value

    @property
    def longest(self) -> Value:
        if self.count is self.steps:
            return const_index(1)
        return ops.ceildivsi(self.steps, ops.maxsi(self.count, const_index(1)))

    def bounds(self, start: Value, end: Value, most: Value) -> list[Value]:
        """The arguments with which functions of steps run the pieces from ``start`` to ``end``, of at most ``most``
        steps."""
        return [self.start(start), self.start(end), most, self.steps]

    def start(self, piece: Value) -> Value:
        """The first step of a piece."""
        return ops.divsi(ops.muli(piece, self.steps), ops.maxsi(self.count, const_index(1)))


def root(steps: Value) -> Value:
    """The square root of a number, rounded up; at least one."""
    exact = ops.ceil(ops.sqrt(ops.sitofp(steps, type=f64)))
    return ops.maxsi(ops.fptosi(exact, type=index), const_index(1))


def as_type(memory: Value, t: Type) -> Value:
    assert isinstance(t, MemRefType)
    return cast_to(memory, t)


def like(memory: Value) -> Value:
    """Memory for a copy of an array."""
    t = memory.type
    assert isinstance(t, MemRefType)
    return ops.alloc(*shadows.like(memory), type=MemRefType(t.shape, t.element))


def copied(memory: Value) -> Value:
    fresh = like(memory)
    build(ops.copy, [memory, fresh])
    return fresh


def is_float(t: Type) -> bool:
    return t.element.is_float if isinstance(t, MemRefType) else t.is_float
