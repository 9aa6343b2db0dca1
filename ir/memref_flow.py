"""The operations through which memrefs flow, and what an analysis of aliasing depends on.

Most changes of a function are to arithmetic. The flow of memrefs is the same after them, and what is known of it stays:
see ``adc.ir.alias``.
"""

from __future__ import annotations

from typing import Any

from adc.ir import ops
from adc.ir.core import Block, Func, Op, Value
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType

_AWAY = frozenset({ops.call, ops.pack, ops.return_})  # to other functions
_SET = frozenset({ops.store, ops.fill})  # to slots of memrefs of memrefs
_OF_NUMBERS = frozenset(kind for kind in ops.TABLE.values() if kind.evaluate is not None) - {ops.select}
_WITHOUT = _OF_NUMBERS | {ops.dim, ops.accumulate, ops.bound, ops.assert_, ops.dealloc, ops.constant, ops.threads}
"""Operations that are never concerned."""
_BY_ATTRIBUTES = frozenset({ops.call, ops.unpack})
_TERMINATORS = ops.having(Trait.TERMINATOR)
_FOLLOWED = frozenset({ops.alloc, ops.load, ops.copy, ops.grow, ops.select, ops.for_, ops.while_, ops.if_, ops.unpack})


class MemrefFlow:
    """The flow of memrefs in a function as it is now.

    ``followed``: the operations that make memrefs, keep them or hand them on, in order; those that have regions twice,
    before what is in them and after it. ``calls``: all calls, in order. ``marks``: equal as long as the memrefs are the
    same, in the same blocks and order, with the same origins. ``is_marked``: whether this says all that an analysis
    depends on: where memrefs are loaded from slots, it depends on numbers too.
    """

    def __init__(self, func: Func) -> None:
        self.followed: list[Op] = []
        self.calls: list[Op] = []
        self.marks: list[Any] = [[attrs.get("adc.alias") for attrs in func.arg_attrs]]
        self.is_marked = True
        self._block(func.body)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemrefFlow) and self.is_marked and other.is_marked and self.marks == other.marks

    __hash__ = None  # type: ignore[assignment]

    def _block(self, block: Block) -> None:
        marks = self.marks
        marks.append(block)
        marks += [(arg, arg.type) for arg in block.args if type(arg.type) is MemRefType]
        for op in [op for op in block.ops if op.opdef not in _WITHOUT]:
            kind = op.opdef
            if kind is ops.load:
                if type(op.results[0].type) is MemRefType:
                    self.is_marked = False
                    self.followed.append(op)
            elif kind in _SET:
                if type(op.operands[0].type) is MemRefType:
                    self._put(op, op.operands)
            elif op.regions:
                self._with_regions(op)
            elif kind is ops.select:
                if type(op.results[0].type) is MemRefType:
                    self._put(op, op.operands)
            elif op.operands or op.results:  # most loops carry nothing
                self._other(op)
        marks.append(None)

    def _with_regions(self, op: Op) -> None:
        marks, before = self.marks, len(self.marks)
        made = [(v, v.type) for v in op.results if type(v.type) is MemRefType]
        is_followed = bool(made) or op.opdef is ops.while_
        if is_followed:
            self.followed.append(op)
            marks += (op, _memrefs(op.operands))
        else:
            marks.append(op)
        inside = len(marks)
        for region in op.regions:
            self._block(region)
        if is_followed:
            self.followed.append(op)
            marks.append(made)
        elif len(marks) == inside + 2 * len(op.regions):
            del marks[before:]  # there is no memref in it

    def _other(self, op: Op) -> None:
        kind = op.opdef
        made = [(v, v.type) for v in op.results if type(v.type) is MemRefType]
        given = _memrefs(op.operands)
        if kind is ops.call:
            self.calls.append(op)
        if made or (kind in _AWAY and given) or kind is ops.copy:
            if kind in _FOLLOWED or kind in _AWAY:
                self.followed.append(op)
        elif kind is not ops.call and not (given and kind in _TERMINATORS):
            return
        self.marks += (op, given, made)
        if kind in _BY_ATTRIBUTES:
            self.marks.append(list(op.attrs.items()))

    def _put(self, op: Op, operands: tuple[Value, ...]) -> None:
        self.followed.append(op)
        self.marks += (op, operands)


def _memrefs(values: tuple[Value, ...]) -> list[Value]:
    return [v for v in values if type(v.type) is MemRefType]
