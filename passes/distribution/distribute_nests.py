"""Sums over nested loops: blocks of the outer loop's iterations compute their terms on threads; Python's order stays.

``for i in range(n): for j in range(m): total += f(x[i, j])`` becomes, for blocks of rows, a nest without a sum, which
stores the terms in a buffer and can be parallel, and one that adds them to the total in order. How many rows a block
has follows from the extents alone. Rows that are too long for a buffer are summed one after the other (see
``distribute_sums``), so the nest is there twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import inside
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType, index
from adc.passes.building import strip
from adc.passes.distribution.carried_sums import Link, Sum, sums_of, taken_out
from adc.passes.rewrite import keep_args, put_instead

TERMS = 1 << 14
"""In a block, about: enough work for threads, and some kilobytes in cache."""

ROWS = 8
"""In a block, at least."""

LONGEST = 1 << 16
"""The longest row: buffers have at most eight of these."""


@dataclass(frozen=True, eq=False)
class Nest:
    """``outer`` carries nothing but what ``inner``, in its body, sums."""

    outer: Op
    inner: Op
    sums: Sequence[Sum]
    carried: Sequence[int]  # by the outer loop, of each sum


def find_nest(outer: Op) -> Nest | None:
    """None if the loop does not sum in a loop inside of it, whose limits are always the same."""
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
    """Append what does the same as the nest, which is dropped. Returns a copy that is done where rows are too long."""
    outer = nest.outer
    results = list(outer.results)
    with insert_at(Block(), outer.loc) as otherwise:
        kept = clone_op(outer, {})
        build(ops.yield_, kept.results)
    width = trip_count(*nest.inner.operands[:3])
    with insert_at(Block(), outer.loc) as then:
        totals = _by_blocks(nest, width)
        build(ops.yield_, totals)
    short = ops.cmpi(width, const_index(LONGEST), predicate="sle")
    branch = build(ops.if_, [short], None, [r.type for r in results], [then, otherwise])
    for old, new in zip(results, branch.results, strict=True):
        old.replace_uses(new)
        new.hint = old.hint
    outer.drop()
    return kept


def _by_blocks(nest: Nest, width: Value) -> Sequence[Value]:
    outer = nest.outer
    trips = trip_count(*outer.operands[:3])
    rows = ops.maxsi(ops.floordivsi(const_index(TERMS), ops.maxsi(width, const_index(1))), const_index(ROWS))
    links = [link for s in nest.sums for link in s.links]
    buffers = {link: ops.alloc(rows, width, type=MemRefType((None, None), link.term.type)) for link in links}
    starts = outer.operands[3:]
    block = Block([index, *(v.type for v in starts)], ["block", *(a.hint for a in outer.regions[0].args[1:])])
    with insert_at(block):
        first, count = strip(block.args[0], rows, trips)
        _terms(nest, buffers, first, count, width)
        totals = _totals(nest, buffers, count, width, block.args[1:])
        build(ops.yield_, totals)
    limits = [const_index(0), ops.ceildivsi(trips, rows), const_index(1)]
    return build(ops.for_, [*limits, *starts], None, [v.type for v in starts], [block]).results


def _terms(nest: Nest, buffers: dict[Link, Value], first: Value, count: Value, width: Value) -> None:
    """Append the nest over a block of rows, which stores terms and carries nothing."""
    body, row = nest.outer.regions[0], nest.inner.regions[0]
    for region in (body, row):
        region.pop().drop()
    terms = {link: taken_out(link) for s in nest.sums for link in reversed(s.links)}
    _count(row, nest.inner, const_index(0))
    _count(body, nest.outer, first)
    with insert_at(row, nest.inner.loc):
        for link, term in terms.items():
            build(ops.store, [term, buffers[link], body.args[0], row.args[0]])
        build(ops.yield_, ())
    nest.inner.set_regions(())
    with insert_at(Block(), nest.inner.loc) as made:
        limits = [const_index(0), width, const_index(1)]
        build(ops.for_, limits, dict(nest.inner.attrs), [], [row])
    put_instead(nest.inner, made.ops)
    nest.inner.drop()
    keep_args(row, [0])
    with insert_at(body, nest.outer.loc):
        build(ops.yield_, ())
    keep_args(body, [0])
    nest.outer.set_regions(())
    build(ops.for_, [const_index(0), count, const_index(1)], dict(nest.outer.attrs), [], [body])


def _count(body: Block, loop: Op, first: Value) -> None:
    """Let the counter of ``body`` count iterations, from ``first`` on."""
    lower, _, step = loop.operands[:3]
    counter = body.args[0]
    users = list(counter.uses)
    head = Block()
    with insert_at(head, loop.loc):
        number = counter if constant_of(first) == 0 else ops.addi(counter, first)
        if constant_of(step) != 1:
            number = ops.muli(number, step)
        if constant_of(lower) != 0:
            number = ops.addi(lower, number)
    for op, position in users:
        op.set_operand(position, number)
    body.set_ops([*head.ops, *body.ops])


def _totals(
    nest: Nest, buffers: dict[Link, Value], count: Value, width: Value, starts: Sequence[Value]
) -> Sequence[Value]:
    """Append the nest that adds the terms of a block, in order; what it carries in the end."""
    types = [v.type for v in starts]
    body, row = (Block([index, *types], [hint]) for hint in ("row", "term"))
    with insert_at(row):
        ends = list(row.args[1:])
        for total, k in zip(nest.sums, nest.carried, strict=True):
            for link in total.links:
                ends[k] = link.added(ends[k], ops.load(buffers[link], body.args[0], row.args[0]))
        build(ops.yield_, ends)
    with insert_at(body):
        limits = [const_index(0), width, const_index(1)]
        build(ops.yield_, build(ops.for_, [*limits, *body.args[1:]], None, types, [row]).results)
    limits = [const_index(0), count, const_index(1)]
    return build(ops.for_, [*limits, *starts], None, types, [body]).results
