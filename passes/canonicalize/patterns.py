"""What rules look for in operands."""

from __future__ import annotations

import math
from collections.abc import Callable

from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef
from adc.passes.canonicalize.rewriter import Rule


def register(table: dict[OpDef, Rule], *kinds: OpDef) -> Callable[[Rule], Rule]:
    """Enter a rule into ``table`` for the operations ``kinds``."""

    def enter(function: Rule) -> Rule:
        for kind in kinds:
            table[kind] = function
        return function

    return enter


def is_number(value: Value, number: float) -> bool:
    """Whether ``value`` is this constant, sign of zero included."""
    known = constant_of(value)
    return known is not None and known == number and math.copysign(1.0, known) == math.copysign(1.0, number)


def made_by(value: Value, kind: OpDef) -> Op | None:
    """The operation that defines ``value``, if it is of this kind."""
    op = value.op
    return op if op is not None and op.opdef is kind else None


def put_constant_last(op: Op) -> tuple[Value, Value]:
    """Exchange the operands of a commutative operation if only the first is a constant. Returns the operands."""
    a, b = op.operands
    if constant_of(a) is not None and constant_of(b) is None:
        op.set_operand(0, b)
        op.set_operand(1, a)
        return b, a
    return a, b
