"""How floats flow through an operation: from which operands to which results."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.types import MemRefType, RecordType, Type


def foreign_outputs(op: Op) -> list[Value]:
    """The floats, and arrays of them, that an ``adc.foreign`` returns or writes."""
    return list(filter(has_floats, (*op.results, *(op.operands[k] for k in op.attrs["written"]))))


def has_floats(value: Value) -> bool:
    return value.type.is_float or holds_floats(value)


def edges(op: Op) -> list[tuple[Sequence[Value], Sequence[Value]]]:
    """How values pass between an operation with regions and its regions: pairs of (sources, targets)."""
    kind = op.opdef
    if kind is ops.for_:
        (body,) = op.regions
        inits, yields = op.operands[3:], body.terminator.operands
        args = body.args[1:]
        return [(inits, args), (inits, op.results), (yields, args), (yields, op.results)]
    if kind is ops.parallel:
        return [(op.operands[3:], op.results), (op.regions[0].terminator.operands, op.results)]
    if kind is ops.while_:
        before, after = op.regions
        passed = before.terminator.operands[1:]
        return [
            (op.operands, before.args),
            (passed, after.args),
            (passed, op.results),
            (after.terminator.operands, before.args),
        ]
    if kind is ops.if_:
        return [(region.terminator.operands, op.results) for region in op.regions]
    return []


def holds_floats(memref: Value) -> bool:
    """Whether a value is an array of floats."""
    t = memref.type
    return isinstance(t, MemRefType) and is_active_type(t.element)


def is_reference(value: Value) -> bool:
    return isinstance(value.type, MemRefType | RecordType)


def holds(value: Value) -> bool:
    """Whether a value is memory that holds floats, or memory."""
    t = value.type
    return isinstance(t, MemRefType) and (is_active_type(t.element) or isinstance(t.element, MemRefType))


def is_active_type(t: Type) -> bool:
    return t.is_float or isinstance(t, RecordType)
