"""The conventions of functions of steps: attributes and arguments."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Func, Op

CHECKPOINT = "adc.checkpoint"
"""Attribute of functions of steps: the schedule (snapshots, steps of a piece, and the name of the function that
computes both, or nothing); how many arguments, the last ones, the loop carries; the name of the function that runs a
range of steps; if the number of steps is not known beforehand, the name of the function that runs as many as there are,
up to its second argument, and returns how many it ran (else nothing); the number of snapshots on disk; and their
directory."""

BOUNDS = 4
"""The first arguments of functions of steps: the first step, the one after the last, the most steps between these two,
and the number of all steps. From the last two it follows, before a schedule gives the others, how much memory is
needed."""

SPANS = "adc.spans"
"""Attribute of functions that run a range of steps, forward or in both sweeps: the range is in the first arguments."""

ASKED = "adc.asked"
"""Attribute of functions that run a loop by a schedule from another function: the name of that."""


BLOCKS = "adc.blocks"
"""Attribute of loops that allocate or free the blocks of snapshots, which are not steps, and of the deallocation of the
array that held them. Its value for the loop that allocates all: the name of the function that computes the schedule;
else nothing."""

LENT = "adc.lent"
"""Attribute of allocations and deallocations of such blocks in between: while a tape has their room, they are freed."""


PLANS = "adc.plans"
"""Attribute of functions that compute a schedule, whose loops are not steps."""


def is_over_steps(func: Func, loop: Op) -> bool:
    """Whether a schedule determines the trip count of a loop of ``func``: sums must not depend on it."""
    if SPANS not in func.attrs or loop.opdef is not ops.for_:
        return False
    block = loop.parent
    while block is not None and (op := block.parent_op) is not None:
        if op.opdef in (ops.for_, ops.while_, ops.parallel):
            return False
        block = op.parent
    return True
