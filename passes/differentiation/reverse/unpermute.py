"""Going back through operations that permute memrefs: from their results to their inputs.

Time loops that swap buffers need no record of the order. The reverse loop starts from what the loop returned and
permutes back in each iteration. Where a loop contains other loops or branches that permute, their inputs are recovered
from their results by running the same permutations backwards, with nothing else in the loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const_index, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.permutations import Orbit, Permutations
from adc.ir.types import index

Known = dict[Value, Value]


@dataclass(frozen=True)
class Undo:
    """``counters``: the trip counts of while loops. ``values`` holds the conditions of branches, the bounds of loops
    and those trip counts, as values of the reverse sweep."""

    permutations: Permutations
    counters: dict[Op, Value]
    values: Known

    def inputs(self, orbit: Orbit, results: Sequence[Value]) -> list[Value]:
        """The inputs of ``orbit`` from its results, appended at the insertion point."""
        return self._of_branch(orbit, results) if orbit.op.opdef is ops.if_ else self._of_loop(orbit, results)

    def _of_branch(self, orbit: Orbit, results: Sequence[Value]) -> list[Value]:
        sides = []
        for region in orbit.op.regions:
            side = Block()
            known = {region.terminator.operands[k]: r for k, r in zip(orbit.positions, results, strict=True)}
            with insert_at(side):
                build(ops.yield_, [self._back(region, v, known) for v in orbit.inputs])
            sides.append(side)
        condition = self.values[orbit.op.operands[0]]
        return list(build(ops.if_, [condition], result_types=[v.type for v in orbit.inputs], regions=sides).results)

    def _of_loop(self, orbit: Orbit, results: Sequence[Value]) -> list[Value]:
        loop = orbit.op
        body, args, _ = self.permutations.carried(loop)
        if loop.opdef is ops.while_:
            trips = self.values[self.counters[loop]]
        else:
            lower, upper, step = (self.values[v] for v in loop.operands[:3])
            trips = trip_count(lower, upper, step)
        order = _order(body, args, orbit)
        if order is not None:
            trips = ops.remsi(trips, const_index(order))
        target = Block((index,))
        carried = [target.add_arg(v.type) for v in results]
        known = {body.terminator.operands[k]: v for k, v in zip(orbit.positions, carried, strict=True)}
        with insert_at(target):
            build(ops.yield_, [self._back(body, args[k], known) for k in orbit.positions])
        starts = [const_index(0), trips, const_index(1), *results]
        return list(build(ops.for_, starts, result_types=[v.type for v in results], regions=[target]).results)

    def _back(self, block: Block, value: Value, known: Known) -> Value:
        """``value``, which passes through orbits of operations of ``block``, computed from what is ``known`` at its
        end."""
        if value not in known:
            around = block.parent_op
            assert around is not None
            inner = self.permutations.of(around).inner[block, value]
            results = [self._back(block, r, known) for r in inner.results]
            known.update(zip(inner.inputs, self.inputs(inner, results), strict=True))
        return known[value]


def _order(body: Block, args: Sequence[Value], orbit: Orbit) -> int | None:
    """After how many iterations every memref is back in its place; None if they
    do not all permute alike."""
    place = {args[k]: k for k in orbit.positions}
    source = {k: place.get(body.terminator.operands[k], -1) for k in orbit.positions}
    if -1 in source.values():
        return None
    order = 1
    for k in orbit.positions:
        length, at = 1, source[k]
        while at != k:
            length, at = length + 1, source[at]
        order = math.lcm(order, length)
    return order
