"""Loads that may become masked.

In a loop that becomes SIMD, branches become masks, and a value loaded in a branch is selected from the results of a
masked load. LLVM 22 sinks a masked load to the select that uses its value, past stores that change the loaded memory,
so that ``if m[i]: x = a[i]; a[i] = 0`` loads zeros (https://github.com/llvm/llvm-project/issues/215453). A ``freeze``
of the loaded value, which otherwise has no effect, prevents this.
"""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op

_UNROLLED = 64  # iterations of a loop that LLVM may unroll


def settled(e: FunctionEmitter, op: Op, kind: str, value: str) -> str:
    """``value``, of LLVM type ``kind``, just loaded by ``op``; frozen if necessary, so that LLVM does not sink the
    load."""
    return e.let(f"freeze {kind} {value}") if _may_be_masked(op) else value


def _may_be_masked(op: Op) -> bool:
    """Whether there is a branch around ``op`` inside the innermost loop that is not unrolled."""
    branch, block = False, op.parent
    while block is not None and (parent := block.parent_op) is not None:
        if parent.opdef is ops.if_:
            branch = True
        elif branch:
            return True
        elif not _unrolled(parent):
            return False
        block = parent.parent
    return True  # the function may be called in a branch, and be inlined


def _unrolled(loop: Op) -> bool:
    if loop.opdef is ops.while_:
        return False
    lower, upper = (constant_of(v) for v in loop.operands[:2])
    return lower is not None and upper is not None and upper - lower <= _UNROLLED
