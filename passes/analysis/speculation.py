"""Which operations may be executed although the program might not reach them."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Func, Op, Value
from adc.ir.nesting import of_kinds
from adc.ir.types import MemRefType
from adc.passes.analysis.kinds import PURE


class Speculation:
    """Answers for one function; to be made before a pass takes its blocks apart."""

    def __init__(self, func: Func) -> None:
        self._undefined = undefined_values(func)

    def safe(self, op: Op) -> bool:
        """Whether ``op`` is pure and has a result whatever its operands hold."""
        if op.opdef not in PURE or op.regions or not _is_defined(op):
            return False
        return not self._undefined or self._undefined.isdisjoint(op.operands)

    def defined(self, value: Value) -> bool:
        return value not in self._undefined

    def note_choice(self, chosen: Value, between: tuple[Value, Value]) -> None:
        """Note that a pass put ``chosen`` in place of a branch's result: it may be undefined if one of the two may
        be."""
        if not self._undefined.isdisjoint(between):
            self._undefined.add(chosen)


def _is_defined(op: Op) -> bool:
    """Whether there is a result whatever the operands that are not constants hold."""
    defined = op.opdef.defined
    if defined is None or isinstance(defined, bool):
        return defined is not False  # the traits say what an operation that is not scalar may do
    number = constant_of(op.operands[1])
    return number is not None and defined(number)


def undefined_values(func: Func) -> set[Value]:
    """Values that may be undefined: results of ``adc.undef``, and what they flow into through loops and branches.

    A record may hold values of branches that its forward sweep did not take. An undefined memref is a memref of extent
    zero, and so defined.
    """
    found: set[Value] = set()
    work = [r for op in of_kinds(func.body, {ops.undef, ops.unpack}) for r in op.results]
    while work:
        value = work.pop()
        if value in found or isinstance(value.type, MemRefType):
            continue
        found.add(value)
        for user, position in value.uses:
            work.extend(_flows_to(user, position))
    return found


def _flows_to(user: Op, position: int) -> list[Value]:
    kind = user.opdef
    if kind is ops.select or kind is ops.pack:
        return list(user.results)
    if kind is ops.unpack:
        return list(user.results)
    if kind is ops.for_ or kind is ops.parallel:
        if position < 3:
            return []
        args = user.regions[0].args[1:]
        return [*user.results[position - 3 : position - 2], *args[position - 3 : position - 2]]
    if kind is ops.while_:
        return [user.regions[0].args[position]]
    block = user.parent
    parent = block.parent_op if block is not None else None
    if block is None or parent is None or user is not block.ops[-1]:
        return []
    if parent.opdef is ops.while_:
        return _flows_in_while(parent, block, position)
    args = parent.regions[0].args[1:] if parent.opdef is ops.for_ else ()
    return [parent.results[position], *args[position : position + 1]]


def _flows_in_while(loop: Op, block: Block, position: int) -> list[Value]:
    before, after = loop.regions
    if block is after:
        return [before.args[position]]
    return [] if position == 0 else [loop.results[position - 1], after.args[position - 1]]
