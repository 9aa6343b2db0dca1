"""Rows that add to an array of zeros store instead: zeros before the loop are needed only outside the rows.

Rows between limits that never decrease (``rows``) go through all elements from the beginning of the first row to the
end of the last one, each element once. An element that a row adds to first is then set to zero in the row, which
forwarding turns into a store of the term, and the array is filled only before and after the rows. As in
``first_writes``, that saves two passes over the array.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType, index
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.nests import Bounds, fill_outside
from adc.passes.rewrite import put_before
from adc.passes.scatter.rows import Rows
from adc.passes.stencil_adjoints.fills import find_fill


def store_first(
    analysis: Analysis, rows: Sequence[Rows], block: Block, front: int, then: Block, otherwise: Block
) -> None:
    """Let the loop of ``rows``, for which ``then`` is empty, store what it adds to arrays that are filled just before:
    at the end of the first ``front`` operations of ``block``, after which the branch between ``then`` and ``otherwise``
    is prepared. What is left of a fill goes to ``then``, and a copy of it to the beginning of ``otherwise``."""
    for row in rows:
        for term in row.accesses:
            scatters = term.opdef is ops.accumulate
            initial = find_fill(analysis, term.operands[1], block.ops[:front]) if scatters else None
            if initial is None or not _only_once(analysis, term, row.loop):
                continue
            _, base, *at = term.operands
            start = Block()
            with insert_at(start, initial.loc):
                zero = build(ops.store, [initial.operands[0], base, *at])
            put_before(term, start.ops)
            analysis.rows[row.loop][zero] = (row.limits, row.offset)
            with insert_at(then, initial.loc):
                fill_outside(initial.operands[0], base, [_reach(row)])
            again = Block()
            with insert_at(again, initial.loc):
                clone_op(initial, {})
            otherwise.set_ops([*again.ops, *otherwise.ops])
            block.set_ops([op for op in block.ops if op is not initial])
            initial.drop()
            front -= 1


def _only_once(analysis: Analysis, term: Op, loop: Op) -> bool:
    """Whether ``term`` is added once to each element of a row, and ``loop`` does nothing else with the array."""
    inner = term.parent.parent_op if term.parent is not None else None
    if inner is None or inner.opdef not in COUNTED:
        return False
    base = term.operands[1]
    if inner.parent is not loop.regions[0] or not isinstance(base.type, MemRefType) or base.type.rank != 1:
        return False
    found = analysis.accesses(loop).found
    return [access.op for access in found if not analysis.apart_now(access.base, base)] == [term]


def _reach(row: Rows) -> Bounds:
    """Append the first element of the first row and the one after the last of the last row; 0 and 0 without rows."""
    lower, upper = row.loop.operands[:2]

    def limit(at: Value) -> Value:
        place = ops.addi(at, const_index(row.offset)) if row.offset else at
        return ops.index_cast(ops.load(row.limits, place), type=index)

    some, none = Block(), Block()
    with insert_at(some):
        build(ops.yield_, [limit(lower), limit(upper)])
    with insert_at(none):
        build(ops.yield_, [const_index(0), const_index(0)])
    runs = ops.cmpi(lower, upper, predicate="slt")
    branch = build(ops.if_, [runs], None, [index, index], [some, none])
    return Bounds(branch.results[0], branch.results[1])
