"""Sets of operations by what their cards say, for passes that ask about every operation: looking up an enum member is
slow."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef, Trait

PURE = ops.having(Trait.PURE)
TERMINATORS = ops.having(Trait.TERMINATOR)
READS = ops.having(Trait.READS)
WRITES = ops.having(Trait.WRITES)
TRAPS = ops.having(Trait.TRAPS)
COMMUTATIVE = ops.having(Trait.COMMUTATIVE)
VIEWS = ops.having(Trait.VIEW)
LINEAR = ops.having(Trait.LINEAR)
DIVISIONS = ops.having(Trait.DIVISION)
COUNTED = ops.having(Trait.COUNTED)
LOOPS = ops.having(Trait.LOOP)
STRUCTURED = COUNTED | {ops.if_}
"""Control flow that is known to end."""
REGIONS = frozenset(kind for kind in ops.TABLE.values() if kind.regions)
ELEMENT: dict[OpDef, int] = {kind: kind.element for kind in ops.TABLE.values() if kind.element is not None}
"""Operations that read or change one element of an array, and which operand the array is; subscripts follow it."""
TARGET = ops.having(target=1)
"""Operations that write to elements of the array that is their second operand."""
ELEMENT_WRITES = TARGET & ELEMENT.keys()
SILENT = frozenset(kind for kind in ops.TABLE.values() if not kind.regions) - READS - WRITES - TRAPS
"""Operations without regions that neither read nor write memory nor end the run."""


def accessed(op: Op) -> tuple[Value, ...]:
    """The array whose element an operation reads or changes, and the subscripts."""
    return op.operands[ELEMENT[op.opdef] :]


def unchecked(subscript: Value) -> Value:
    """The integer that a checked subscript is, unless that counts from the end."""
    while subscript.op is not None and subscript.op.opdef is ops.bound:
        subscript = subscript.op.operands[0]
    return subscript


def is_elementwise(user: Op, position: int) -> bool:
    """Whether the user of an array at an operand accesses elements of it, sets all of them, or asks for an extent."""
    if user.opdef is ops.fill:
        return position == 1
    return ELEMENT.get(user.opdef) == position or user.opdef is ops.dim


def adds_ones(reshape: Op) -> bool:
    """Whether a reshape only adds and drops dimensions of extent one."""
    return all(m == n == 1 or not m or not n for m, n in reshape.attrs["groups"])
