"""Comparisons of loaded integers that decide whether code runs: in ``if parent[i] != -1: x[parent[i]]`` the subscript
is never -1."""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type
from adc.passes.analysis.attributes import MIRRORED, OPPOSITE_INTEGER
from adc.passes.analysis.conditions import conjuncts


@dataclass(frozen=True)
class Guard:
    """What ``memref`` contains at ``subscripts`` compares as ``predicate`` says with ``number``."""

    memref: Value
    subscripts: tuple[Value, ...]
    predicate: str
    number: int

    def concerns(self, load: Op) -> bool:
        return load.operands == (self.memref, *self.subscripts)

    def holds(self, loaded: Value, t: Type) -> Value:
        """Append the comparison for a number, of type ``t``, that was loaded."""
        return ops.cmpi(loaded, const(self.number, t), predicate=self.predicate)


def guards_of(op: Op, loop: Op) -> Iterator[Guard]:
    """What holds wherever ``op``, which is inside ``loop``, is reached, of integers that are loaded there."""
    block = op.parent
    while isinstance(block, Block) and (around := block.parent_op) is not None and around is not loop:
        if around.opdef is ops.if_:
            condition, first = around.operands[0], block is around.regions[0]
            for held in conjuncts(condition) if first else (condition,):
                guard = _guard(held, opposite=not first)
                if guard is not None:
                    yield guard
        block = around.parent


def load_of(value: Value) -> Op | None:
    """The load of an integer, that may have been widened."""
    op = value.op
    if op is not None and op.opdef in (ops.extsi, ops.index_cast):
        op = op.operands[0].op
    return op if op is not None and op.opdef is ops.load else None


def _guard(condition: Value, *, opposite: bool) -> Guard | None:
    op = condition.op
    if op is None or op.opdef is not ops.cmpi or op.attrs["predicate"] not in OPPOSITE_INTEGER:
        return None
    predicate, (value, other) = op.attrs["predicate"], op.operands
    if constant_of(value) is not None:
        predicate, value, other = MIRRORED[predicate], other, value
    load, number = load_of(value), constant_of(other)
    if load is None or number is None:
        return None
    memref, *subscripts = load.operands
    return Guard(memref, tuple(subscripts), OPPOSITE_INTEGER[predicate] if opposite else predicate, int(number))
