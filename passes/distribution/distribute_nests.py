"""Sums over nested loops: blocks of the outer loop compute their terms on threads; the order of the sum stays.

``for i in range(n): for j in range(m): total += f(x[i, j])`` becomes, for blocks of rows, a nest without a sum, which
stores the terms in a buffer and can be parallel, and one that adds them to the total in order. The number of rows in a
block follows from the extents alone. Rows that are too long for a buffer are summed one after the other (see
``distribute_sums``), so the nest exists twice. The costly part may be the terms, or what comes before them in a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const_index, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType
from adc.passes.distribution.carried_sums import Sum, sums_of
from adc.passes.distribution.summed_blocks import by_blocks
from adc.passes.rewrite import replace_op

TERMS = 1 << 14
"""About as many terms in a block: enough work for threads, and some kilobytes in cache."""

ROWS = 8
"""The least number of rows in a block."""

LONGEST = 1 << 16
"""The longest row; a buffer holds at most eight of these."""


@dataclass(frozen=True, eq=False)
class Nest:
    """``outer`` carries only what ``inner``, in its body, sums."""

    outer: Op
    inner: Op
    sums: Sequence[Sum]
    carried: Sequence[int]  # by the outer loop, of each sum


def find_nest(outer: Op) -> Nest | None:
    """The nest of a loop; None if it does not sum in an inner loop with loop-invariant limits."""
    (body,) = outer.regions
    ends = body.terminator.operands
    inner = ends[0].op if ends else None
    if inner is None or inner.opdef is not ops.for_ or inner.parent is not body or len(inner.results) != len(ends):
        return None
    if any(inside(v, outer) for v in inner.operands[:3]):
        return None
    position = {}
    for k, (arg, end) in enumerate(zip(body.args[1:], ends, strict=True)):
        if end.op is not inner or len(end.uses) != 1 or list(arg.uses) != [(inner, 3 + end.index)]:
            return None
        position[end.index] = k
    sums = sums_of(inner)
    if len(sums) != len(ends):
        return None
    return Nest(outer, inner, sums, [position[s.position] for s in sums])


def distribute_nest(nest: Nest) -> Op:
    """Append the equivalent of the nest, which is dropped. Returns a copy of it that runs if rows are too long."""
    outer = nest.outer
    with insert_at(Block(), outer.loc) as otherwise:
        kept = clone_op(outer, {})
        build(ops.yield_, kept.results)
    width = trip_count(*nest.inner.operands[:3])
    with insert_at(Block(), outer.loc) as then:
        rows = ops.maxsi(ops.floordivsi(const_index(TERMS), ops.maxsi(width, const_index(1))), const_index(ROWS))
        links = [link for s in nest.sums for link in s.links]
        buffers = {link: ops.alloc(rows, width, type=MemRefType((None, None), link.term.type)) for link in links}
        build(ops.yield_, by_blocks([outer, nest.inner], nest.sums, nest.carried, rows, buffers))
    short = ops.cmpi(width, const_index(LONGEST), predicate="sle")
    replace_op(outer, build(ops.if_, [short], None, [r.type for r in outer.results], [then, otherwise]).results)
    return kept
