"""Code that leaves its work to others: to the run-time support, as the blocks of rows of a product of matrices do, or
to functions that are compiled by themselves, as a time loop does whose nests are units.

LLVM's passes take as long for it as for any other, and make nothing faster that takes time.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from adc.backend.lowering.lower_effects import LOOPS
from adc.ir import ops
from adc.ir.core import Func, Op
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType

MOST_BESIDES = 16
"""The most operations for each call of a function that loops, in code that leaves its work to these."""


def hands_over(walked: Iterable[Op]) -> bool:
    """Whether products of matrices are all that there is between loops and arithmetic of subscripts."""
    products = False
    for op in walked:
        if op.opdef is ops.matmul:
            products = True
        elif not _is_of_subscripts(op):
            return False
    return products


def only_calls(func: Func, looping: Container[str]) -> bool:
    """Whether a function, all of whose callees are compiled by themselves, does little but call those that loop: in
    each of its loops, or as a whole if it has none."""
    loops = [op.regions[-1] for op in func.walk() if op.opdef in LOOPS]
    for block in loops or [func.body]:
        inside = list(block.walk())
        calls = [op.attrs["callee"] for op in inside if op.opdef is ops.call]
        if len(inside) > MOST_BESIDES * sum(name in looping for name in calls):
            return False
    return True


def _is_of_subscripts(op: Op) -> bool:
    traits = op.opdef.traits
    if op.opdef not in LOOPS and Trait.PURE not in traits and Trait.TERMINATOR not in traits:
        return False
    return all(isinstance(r.type, MemRefType) or r.type.is_integer for r in op.results)
