"""Code that is there for the rare case: slow copies of loops, which later passes need not optimise.

An ``scf.if`` says which of its regions is cold by the attribute ``adc.cold``, "then" or "else".
"""

from __future__ import annotations

from collections.abc import Iterator

from adc.ir import ops
from adc.ir.core import Block, Op

COLD = "adc.cold"


def warm_regions(op: Op) -> tuple[Block, ...]:
    """The regions of ``op`` that are worth the effort."""
    cold = op.attrs.get(COLD) if op.opdef is ops.if_ else None
    return op.regions if cold is None else op.regions[1:] if cold == "then" else op.regions[:1]


def cold_region(op: Op) -> Block | None:
    """The region of ``op`` that is cold, if one is."""
    warm = warm_regions(op)
    return next((region for region in op.regions if region not in warm), None)


def walk_warm(block: Block) -> Iterator[Op]:
    """Every operation outside cold regions, outer before inner, in order."""
    for op in block.ops:
        yield op
        for region in warm_regions(op):
            yield from walk_warm(region)


def walk_likely(block: Block) -> Iterator[Op]:
    """Every operation but those of cold regions, and of the other side of branches that are likely."""
    for op in block.ops:
        yield op
        for region in op.regions[:1] if ops.LIKELY in op.attrs else warm_regions(op):
            yield from walk_likely(region)


def is_cold(block: Block) -> bool:
    """Whether ``block`` lies in a copy that is only there for subscripts out of the ordinary."""
    op = block.parent_op
    while op is not None:
        if op.opdef is ops.if_ and block not in warm_regions(op):
            return True
        if op.parent is None:
            return False
        block, op = op.parent, op.parent.parent_op
    return False
