"""What integers a condition compares, and what is known of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.types import IndexType, IntType

# What a comparison says: each ``(right - left) * sign - margin`` is not negative.
MEANING = {
    "sle": ((1, 0),),
    "slt": ((1, 1),),
    "sge": ((-1, 0),),
    "sgt": ((-1, 1),),
    "eq": ((1, 0), (-1, 0)),
}


def comparisons(condition: Value) -> Iterator[Op]:
    """The comparisons of integers that hold if ``condition`` does."""
    for op in (held.op for held in conjuncts(condition)):
        if op is not None and op.opdef is ops.cmpi and op.attrs["predicate"] in MEANING and is_wide(op.operands[0]):
            yield op


def conjuncts(condition: Value) -> Iterator[Value]:
    """``condition``, and what holds if it does."""
    yield condition
    if condition.op is not None and condition.op.opdef is ops.andi:
        for operand in condition.op.operands:
            yield from conjuncts(operand)


def is_wide(value: Value) -> bool:
    """Whether ``value`` is an integer of 64 bits."""
    t = value.type
    return isinstance(t, IndexType) or (isinstance(t, IntType) and t.width == 64 and not t.unsigned)


def decide_order(predicate: str, a: Value, b: Value, proves_ge: Callable[[Value, Value, int], bool]) -> bool | None:
    """Whether a comparison of integers by their order holds, if that is known. ``proves_ge(a, b, margin)``: whether
    ``a >= b + margin`` is."""
    if predicate in ("sgt", "sle"):
        a, b = b, a
    # Now "slt" and "sgt" ask for a < b; "sge" and "sle" for its opposite.
    strict = predicate in ("slt", "sgt")
    if proves_ge(b, a, 1):
        return strict
    return not strict if proves_ge(a, b, 0) else None
