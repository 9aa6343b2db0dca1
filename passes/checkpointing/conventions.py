"""What functions of steps have in common: attributes and arguments."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Func, Op

CHECKPOINT = "adc.checkpoint"
"""Attribute of functions of steps: the schedule (snapshots, steps of a piece, and the function that says both, or
nothing), how many arguments from the end on are what the loop carries, the name of the function that runs a range of
steps, if their number is not known before, that of the one that runs as many as there are, up to its second argument,
and says how many that were (else nothing), the number of snapshots on disk, and the directory for them."""

BOUNDS = 4
"""The first arguments of functions of steps: the first step, the one after the last, a number that they are at most
apart, and the number of all steps. Of the last two follows, before a schedule says the others, how much memory is
taken."""

SPANS = "adc.spans"
"""Attribute of functions that run a range of steps, forward or in both sweeps, which their first arguments say."""

ASKED = "adc.asked"
"""Attribute of functions that run a loop by a schedule that another one says: the name of that."""


BLOCKS = "adc.blocks"
"""Attribute of loops that allocate or free the blocks that snapshots are in, which are no steps, and of the
deallocation of the array that held them: of the loop that allocates all, the name of the function that says the
schedule, else nothing."""

LENT = "adc.lent"
"""Attribute of allocations and deallocations of such blocks in between: while a tape has their room, they are gone."""


PLANS = "adc.plans"
"""Attribute of functions that work out a schedule, whose loops are no steps."""


def is_over_steps(func: Func, loop: Op) -> bool:
    """Whether a schedule says how many iterations a loop of ``func`` has, of which sums must not depend."""
    if SPANS not in func.attrs or loop.opdef is not ops.for_:
        return False
    block = loop.parent
    while block is not None and (op := block.parent_op) is not None:
        if op.opdef in (ops.for_, ops.while_, ops.parallel):
            return False
        block = op.parent
    return True
