"""Loops that run along arrays: successive iterations access successive elements."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.types import MemRefType

_SHIFTS = frozenset({ops.addi, ops.bound, ops.index_cast})
_SUBSCRIPTS = {kind: kind.element + 1 for kind in ops.TABLE.values() if kind.element is not None}


def goes_along_arrays(loop: Op) -> bool:
    """Whether a parallel loop contains no branch and no loop, and the address of each load and store is either
    invariant or has the counter, plus or minus an invariant, as the subscript of the last dimension, with stride 1."""
    if loop.opdef is not ops.parallel or constant_of(loop.operands[2]) != 1:
        return False
    body = loop.regions[0]
    varying: dict[Value, bool] = {body.args[0]: True}  # value: it increases by 1 per iteration
    for op in body.ops:
        if op.regions:
            return False
        if (first := _SUBSCRIPTS.get(op.opdef)) is not None and not _is_along(op, first, varying):
            return False
        moving = [v for v in op.operands if v in varying]
        if moving:
            shifts = op.opdef in _SHIFTS or (op.opdef is ops.subi and op.operands[0] in varying)
            varying.update(dict.fromkeys(op.results, shifts and len(moving) == 1 and varying[moving[0]]))
    return True


def _is_along(op: Op, first: int, varying: dict[Value, bool]) -> bool:
    t, subscripts = op.operands[first - 1].type, op.operands[first:]
    assert isinstance(t, MemRefType)
    if op.operands[first - 1] in varying or any(v in varying for v in subscripts[:-1]):
        return False
    if not subscripts or subscripts[-1] not in varying:
        return True
    return varying[subscripts[-1]] and (t.strides is None or t.strides[-1] == 1)
