"""Code for rare cases: slow copies of loops, which later passes need not optimise.

The attribute ``adc.cold`` of an ``scf.if``, "then" or "else", says which of its regions is cold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from adc.ir import ops
from adc.ir.core import Block, Op
from adc.ir.nesting import enclosing
from adc.passes.analysis.kinds import LOOPS

COLD = ops.COLD


def warm_regions(op: Op) -> tuple[Block, ...]:
    """The regions of ``op`` that are worth optimising."""
    cold = op.attrs.get(COLD) if op.opdef is ops.if_ else None
    return op.regions if cold is None else op.regions[1:] if cold == "then" else op.regions[:1]


def cold_region(op: Op) -> Block | None:
    """The region of ``op`` that is cold, if one is."""
    warm = warm_regions(op)
    return next((region for region in op.regions if region not in warm), None)


def walk_warm(block: Block) -> Iterator[Op]:
    """Every operation outside cold regions, outer before inner, in order."""
    return _walk(block, warm_regions)


def walk_likely(block: Block) -> Iterator[Op]:
    """Every operation, except those in cold regions and on the other side of likely branches."""
    return _walk(block, _likely_regions)


def _likely_regions(op: Op) -> tuple[Block, ...]:
    return op.regions[:1] if ops.LIKELY in op.attrs else warm_regions(op)


def _walk(block: Block, regions: Callable[[Op], tuple[Block, ...]]) -> Iterator[Op]:
    stack: list[Iterator[Op]] = [iter(block.ops)]  # as Block.walk
    while stack:
        for op in stack[-1]:
            yield op
            if op.regions:
                stack.append(chain.from_iterable(region.ops for region in regions(op)))
                break
        else:
            stack.pop()


def is_cold(block: Block) -> bool:
    """Whether ``block`` lies in a copy of code that only serves rare cases."""
    return _is_outside(block, warm_regions)


def is_unlikely(block: Block) -> bool:
    """The same, or on the other side of a likely branch."""
    return _is_outside(block, _likely_regions)


def _is_outside(block: Block, regions: Callable[[Op], tuple[Block, ...]]) -> bool:
    op = block.parent_op
    while op is not None:
        if block not in regions(op):
            return True
        if op.parent is None:
            return False
        block, op = op.parent, op.parent.parent_op
    return False


def is_seldom_run(block: Block) -> bool:
    """Whether ``block`` lies in a region that only some rare iterations of a loop run."""
    while (op := block.parent_op) is not None and op.parent is not None:
        if op.opdef is ops.if_ and block not in warm_regions(op):
            return any(around.opdef in LOOPS for around in enclosing(op.parent))
        block = op.parent
    return False
