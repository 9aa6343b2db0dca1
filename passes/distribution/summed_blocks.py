"""Blocks of iterations that store the terms of sums in buffers, and then add them, in the original order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.types import index
from adc.passes.building import strip
from adc.passes.distribution.carried_sums import Link, Sum, taken_out
from adc.passes.rewrite import keep_args, put_instead

Buffers = Mapping[Link, Value]


def by_blocks(
    loops: Sequence[Op], sums: Sequence[Sum], carried: Sequence[int], size: Value, buffers: Buffers
) -> Sequence[Value]:
    """Append the sums of a loop, or of one with another inside; ``loops`` lose their bodies. Returns what the outer
    loop carries.

    ``carried``: the positions at which it carries the ``sums``. The terms of ``size`` of its iterations are in
    ``buffers`` at a time. Nothing but sums is carried between the loops.
    """
    outer = loops[0]
    starts = outer.operands[3:]
    counts = [trip_count(*loop.operands[:3]) for loop in loops]
    block = Block([index, *(v.type for v in starts)], ["block", *(a.hint for a in outer.regions[0].args[1:])])
    with insert_at(block):
        first, count = strip(block.args[0], size, counts[0])
        trips = [count, *counts[1:]]
        others = [k for k in range(len(starts)) if k not in carried]
        integers = _terms(loops, sums, buffers, first, trips, others, [block.args[1 + k] for k in others])
        totals = _totals(sums, buffers, trips, [block.args[1 + k] for k in carried])
        ends = dict(zip([*others, *carried], [*integers, *totals], strict=True))
        build(ops.yield_, [ends[k] for k in range(len(starts))])
    limits = [const_index(0), ops.ceildivsi(counts[0], size), const_index(1)]
    return build(ops.for_, [*limits, *starts], None, [v.type for v in starts], [block]).results


def _terms(
    loops: Sequence[Op],
    sums: Sequence[Sum],
    buffers: Buffers,
    first: Value,
    trips: Sequence[Value],
    others: Sequence[int],
    starts: Sequence[Value],
) -> Sequence[Value]:
    """Append the loops over a block of iterations, which store terms. The outer loop still carries the values at
    ``others``, which begin with ``starts``."""
    bodies = [loop.regions[0] for loop in loops]
    ends = [body.pop() for body in bodies]
    yielded = [ends[0].operands[k] for k in others]
    for end in ends:
        end.drop()
    terms = {link: taken_out(link) for s in sums for link in reversed(s.links)}
    for loop, body in reversed([*zip(loops, bodies, strict=True)]):
        _count(body, loop, first if loop is loops[0] else const_index(0))
    counters = [body.args[0] for body in bodies]
    with insert_at(bodies[-1], loops[-1].loc):
        for link, term in terms.items():
            build(ops.store, [term, buffers[link], *counters])
    for loop, body, count in reversed([*zip(loops[1:], bodies[1:], trips[1:], strict=True)]):
        with insert_at(Block(), loop.loc) as made:
            _emptied(loop, body, count, [], [], [])
        put_instead(loop, made.ops)
        loop.drop()
    return _emptied(loops[0], bodies[0], trips[0], others, yielded, starts).results


def _emptied(
    loop: Op, body: Block, count: Value, others: Sequence[int], yielded: Sequence[Value], starts: Sequence[Value]
) -> Op:
    """Append ``count`` iterations of the body of ``loop``, which carry only ``others``."""
    with insert_at(body, loop.loc):
        build(ops.yield_, yielded)
    keep_args(body, [0, *(1 + k for k in others)])
    loop.set_regions(())
    limits = [const_index(0), count, const_index(1)]
    return build(ops.for_, [*limits, *starts], dict(loop.attrs), [v.type for v in starts], [body])


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
    sums: Sequence[Sum],
    buffers: Buffers,
    trips: Sequence[Value],
    starts: Sequence[Value],
    at: tuple[Value, ...] = (),
) -> Sequence[Value]:
    """Append the loops that add the terms of a block, in order, to ``starts``."""
    types = [v.type for v in starts]
    block = Block([index, *types], ["row" if len(trips) > 1 else "term"])
    with insert_at(block):
        here = (*at, block.args[0])
        if len(trips) > 1:
            build(ops.yield_, _totals(sums, buffers, trips[1:], block.args[1:], here))
        else:
            build(ops.yield_, [_added(s, v, buffers, here) for s, v in zip(sums, block.args[1:], strict=True)])
    limits = [const_index(0), trips[0], const_index(1)]
    return build(ops.for_, [*limits, *starts], None, types, [block]).results


def _added(total: Sum, value: Value, buffers: Buffers, at: tuple[Value, ...]) -> Value:
    for link in total.links:
        value = link.added(value, ops.load(buffers[link], *at))
    return value
