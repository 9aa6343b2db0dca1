"""Loops that leave their work to the run-time support, as the blocks of rows of a product of matrices do.

LLVM's passes take as long for them as for any others, and make nothing faster that takes time.
"""

from __future__ import annotations

from collections.abc import Iterable

from adc.backend.lowering.lower_effects import LOOPS
from adc.ir import ops
from adc.ir.core import Op
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType


def hands_over(walked: Iterable[Op]) -> bool:
    """Whether products of matrices are all that there is between loops and arithmetic of subscripts."""
    products = False
    for op in walked:
        if op.opdef is ops.matmul:
            products = True
        elif not _is_of_subscripts(op):
            return False
    return products


def _is_of_subscripts(op: Op) -> bool:
    traits = op.opdef.traits
    if op.opdef not in LOOPS and Trait.PURE not in traits and Trait.TERMINATOR not in traits:
        return False
    return all(isinstance(r.type, MemRefType) or r.type.is_integer for r in op.results)
