"""Loads that may come to be executed under a mask.

Branches in a loop that becomes SIMD are masks, and what one of them loads is chosen from what all of them loaded.
LLVM 22 moves a masked load to where its value is chosen, past stores that change what it reads, so that
``if m[i]: x = a[i]; a[i] = 0`` finds zeros (https://github.com/llvm/llvm-project/issues/215453). It does not
see through ``freeze``, which does nothing to what was loaded.
"""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op

_UNROLLED = 64  # iterations of a loop that LLVM may unroll


def settled(e: FunctionEmitter, op: Op, kind: str, value: str) -> str:
    """``value`` of an LLVM type, just loaded by ``op``, as one that is not loaded again later."""
    return e.let(f"freeze {kind} {value}") if _may_be_masked(op) else value


def _may_be_masked(op: Op) -> bool:
    """Whether there is a branch around ``op``, within the innermost loop that LLVM sees."""
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
