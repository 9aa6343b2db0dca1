"""Whether memory escapes: to another function, or as a value of a region. Memory that does not can be in a stack
frame."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Value
from adc.ir.opdef import Trait

_HERE = frozenset({ops.load, ops.accumulate, ops.copy, ops.matmul, ops.dim, ops.dealloc})


def escapes(memref: Value) -> bool:
    """Whether ``memref``, or a view of it, has uses other than accesses to its elements."""
    for op, position in memref.uses:
        if Trait.VIEW in op.opdef.traits:
            if escapes(op.result):
                return True
        elif op.opdef in (ops.store, ops.fill):
            if position == 0:
                return True
        elif op.opdef not in _HERE:
            return True
    return False
