"""Stores that both branches end with: ``if c: v[i] = a else: v[i] = b`` becomes ``v[i] = a if c else b``.

Loops with such branches vectorise without masks, and their adjoints read and clear one cotangent in each iteration.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Block, Op
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.kinds import SILENT


def sink_stores(branch: Op, *, past: bool = False) -> list[Op]:
    """Take the last stores out of both regions, if they go to one element, and return those to put behind the branch.

    With ``past``, operations after a store that only compute are not in its way.
    """
    sunk: list[Op] = []
    if COLD in branch.attrs:
        return sunk
    then, other = branch.regions
    while (a := _last(then, past)) and (b := _last(other, past)) and _same_element(a, b, then, other):
        for region, store in ((then, a), (other, b)):
            region.set_ops([op for op in region.ops if op is not store])
            region.terminator.add_operand(store.operands[0])
        value = branch.add_result(a.operands[0].type, a.operands[0].hint)
        a.set_operand(0, value)
        b.drop()
        sunk.insert(0, a)
    return sunk


def _last(region: Block, past: bool) -> Op | None:
    op = next((op for op in reversed(region.ops[:-1]) if not past or op.opdef not in SILENT), None)
    is_store = op is not None and op.opdef is ops.store and not isinstance(op.operands[0].type, MemRefType)
    return op if is_store else None


def _same_element(a: Op, b: Op, then: Block, other: Block) -> bool:
    pairs = list(zip(a.operands[1:], b.operands[1:], strict=True)) if len(a.operands) == len(b.operands) else []
    return bool(pairs) and all(x is y and x.block is not then and x.block is not other for x, y in pairs)
