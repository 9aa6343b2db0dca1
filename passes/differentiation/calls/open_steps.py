"""The forward sweep of a loop whose number of steps is not known in advance.

Snapshots are made at equal distances, at first of one step. When all room is taken, every second one is dropped and the
distance is doubled; so they are always spread over the steps that have run, and at least half of the room is in use.
The reverse sweep then runs as for a loop of known length, whose first snapshots are these.

Reference: Stumm and Walther, New algorithms for optimal online checkpointing, SIAM J. Sci. Comput. 32, 2010, for what
would be optimal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import i1, index
from adc.passes.building import choose

Values = Sequence[Value]


def run_open(
    room: Value,
    places: Value,
    carried: Values,
    advance: Callable[[Value, Value, Values], Values],
    save: Callable[[Value, Values], None],
    move: Callable[[Value, Value], None],
) -> tuple[Value, Value, Values]:
    """Append the sweep. The first snapshot exists already; ``places`` has the step of each.

    ``advance`` appends a run of at most a given number of steps after those done already; it returns how many it ran,
    and what is carried then. ``save`` makes the snapshot with a given number; ``move`` copies one snapshot to another.
    Returns the number of steps, that of the last snapshot, and what is carried in the end.
    """
    types = [index, index, index, i1, *(v.type for v in carried)]
    head, body = Block(types), Block(types)
    with insert_at(head):
        build(ops.condition, [head.args[3], *head.args])
    with insert_at(body):
        step, top, distance, _, *values = body.args
        limit = ops.subi(ops.addi(ops.load(places, top), distance), step)
        count, *values = advance(step, limit, values)
        step = ops.addi(step, count)
        more = ops.cmpi(count, limit, predicate="eq")
        full = ops.andi(more, ops.cmpi(ops.addi(top, const_index(1)), room, predicate="eq"))
        left = ops.select(full, ops.divsi(top, const_index(2)), top)
        choose(full, lambda: _thin(places, left, move), lambda: None)
        distance = ops.select(full, ops.muli(distance, const_index(2)), distance)
        due = ops.cmpi(ops.addi(ops.load(places, left), distance), step, predicate="eq")
        due = ops.andi(more, due)
        top = ops.select(due, ops.addi(left, const_index(1)), left)

        def keep() -> None:
            build(ops.store, [step, places, top])
            save(top, values)

        choose(due, keep, lambda: None)
        build(ops.yield_, [step, top, distance, more, *values])
    start = [const_index(0), const_index(0), const_index(1), const(True, i1), *carried]
    step, top, _, _, *values = build(ops.while_, start, None, types, [head, body]).results
    # A snapshot at the very end is useless: it was made before it turned out that there are no more steps.
    at_end = ops.andi(
        ops.cmpi(const_index(0), top, predicate="slt"), ops.cmpi(ops.load(places, top), step, predicate="eq")
    )
    return step, ops.select(at_end, ops.subi(top, const_index(1)), top), values


def _thin(places: Value, left: Value, move: Callable[[Value, Value], None]) -> None:
    """Append the loop that keeps every second snapshot and renumbers it; ``left`` is the last number afterwards."""
    block = Block([index])
    with insert_at(block):
        (number,) = block.args
        source = ops.muli(number, const_index(2))
        build(ops.store, [ops.load(places, source), places, number])
        move(source, number)
        build(ops.yield_, ())
    build(ops.for_, [const_index(1), ops.addi(left, const_index(1)), const_index(1)], {}, [], [block])
