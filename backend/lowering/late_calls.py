"""Calls of units that are compiled when they are first reached.

A unit is called late where the program may well go another way: in a branch of which neither side is known to be the
usual one, or in the unusual one. So versions of a nest for shapes that no call has are never compiled.
"""

from __future__ import annotations

from adc.backend.library.late import DECLARATIONS
from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_types import quoted
from adc.ir import ops
from adc.ir.branches import usual_side
from adc.ir.core import Op
from adc.ir.nesting import enclosing


def is_late(call: Op) -> bool:
    """Whether the unit that is called need not be there before."""
    block = call.parent
    for op in enclosing(block):
        if op.opdef is ops.if_ and block is not usual_side(op):
            return True
        block = op.parent
    return False


def code_of(e: FunctionEmitter, unit: str) -> str:
    """The address of the code of a unit, which is compiled now if no call has reached it yet."""
    module, name = e.module, f"adc.late.{unit}"
    size = len(unit.encode()) + 1
    module.declare(f"{name}.name", f'@{quoted(f"{name}.name")} = internal constant [{size} x i8] c"{unit}\\00"')
    slot = f"@{quoted(name)}"
    pair = f'{{ ptr, ptr }} {{ ptr null, ptr @{quoted(f"{name}.name")} }}'
    module.declare(name, f"{slot} = internal global {pair}, align 8")
    module.declare("adc_late", DECLARATIONS["adc_late"])
    return e.let(f"call ptr @adc_late(ptr {slot})")
