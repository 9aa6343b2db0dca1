"""Loops that would be parallel if they did not count: what they count is computed first, and kept.

    e = 0                                          # first: where each iteration begins
    for i in range(n):                             for i in range(n):
        while e < last[i]:                             begin[i] = e
            s += v[e]; e += 1                          e = max(e, last[i])
        y[i] = s                                   # then: in any order
                                                   for i in range(n):
                                                       for e in range(begin[i], last[i]): ...

Integers that follow from themselves and from what the loop only reads are computed in a short loop of their own, which
keeps their values at the start of each iteration. It is placed before all loops around that do not change these values
either, so that a time loop runs it once, and a reverse sweep finds them.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 2.4.2 (loop
distribution) and 5.3 (scalar expansion).
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of, iteration_number, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, having, holds, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType, index
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of_block
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import COUNTED, DIVISIONS, LOOPS, PURE
from adc.passes.distribution.carried_sums import is_sum
from adc.passes.rewrite import put_before
from adc.passes.threads.parallelise import integer_reduction

LEAST_COST = 24.0
"""The least cost of the rest of an iteration, in the units of ``costs``, if it contains no loop."""

FEWEST = 64  # iterations, if their number is known


@dataclass(frozen=True)
class DistributeCounters:
    """Split loops in which only integers must be computed in order."""

    name: ClassVar[str] = "distribute-counters"
    needs = frozenset({ops.for_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            if any(op.opdef is ops.for_ and _counters(op) for op in func.walk()):
                analysis = Analysis(func, module, summaries)
                _Distribution(analysis, Memory.asked(func, summaries), module).block(func.body)
        return module


def _counters(loop: Op) -> list[int]:
    """The positions of carried integers that are not reductions; none if the loop also carries something that is not a
    sum."""
    found = []
    for k, arg in enumerate(loop.regions[0].args[1:]):
        if arg.type.is_integer and integer_reduction(loop, k) is None:
            found.append(k)
        elif not arg.type.is_integer and not is_sum(loop, k):
            return []
    return found


class _Distribution:
    def __init__(self, analysis: Analysis, memory: Memory, module: Module) -> None:
        self.analysis = analysis
        self.memory = memory
        self.module = module

    def block(self, block: Block, parallel: Op | None = None) -> None:
        """Change the outermost loops that qualify; inside ``parallel``, an outermost parallel loop, only those whose
        counters can be computed before it."""
        unordered = self.analysis.is_unordered
        for op in list(block.ops):
            if op.opdef is ops.for_ and (counters := _counters(op)) and self._pays(op) and unordered(op):
                slice_ = self._slice(op, counters)
                if slice_ is not None:
                    place = self._outermost(op, slice_)
                    if parallel is None or not holds(parallel.regions[0], place):
                        _distribute(op, counters, slice_, place)
                        continue
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    self.block(region, parallel or (op if op.opdef is ops.parallel else None))

    def _pays(self, loop: Op) -> bool:
        lower, upper, step = (constant_of(v) for v in loop.operands[:3])
        if step is None or (lower is not None and upper is not None and (upper - lower) < FEWEST * step):
            return False
        body = loop.regions[0]
        return any(op.opdef in LOOPS for op in body.walk()) or cost_of_block(body, self.module) >= LEAST_COST

    def _slice(self, loop: Op, counters: list[int]) -> list[Op] | None:
        """The operations of the body that the counters follow from; None if these cannot be run beforehand."""
        body = loop.regions[0]
        found: set[Op] = set()
        work = [body.terminator.operands[k] for k in counters]
        while work:
            value = work.pop()
            op = value.op
            if not inside(value, loop) or op in found:
                continue
            if op is None:
                if value.index and value.index - 1 not in counters:
                    return None
                continue
            if op.parent is not body or op.regions or not self._is_early(op, loop):
                return None
            found.add(op)
            work += op.operands
        return [op for op in body.ops if op in found]

    def _is_early(self, op: Op, loop: Op) -> bool:
        if op.opdef is ops.load:
            memref = op.operands[0]
            return not inside(memref, loop) and not self.memory.may_write(loop, memref)
        return op.opdef in PURE and op.opdef not in DIVISIONS

    def _outermost(self, loop: Op, slice_: list[Op]) -> Op:
        """The loop before which the counters can be computed: the loops around ``loop`` run at least once if it does,
        and change nothing that the counters depend on."""
        place = loop
        used = [*loop.operands, *(v for op in slice_ for v in op.operands)]
        while True:
            around = place.parent.parent_op if place.parent is not None else None
            if around is None or around.opdef not in COUNTED or any(inside(v, around) for v in _outer(used, loop)):
                return place
            loads = [op for op in slice_ if op.opdef is ops.load]
            if any(self.memory.may_write(around, op.operands[0]) for op in loads):
                return place
            place = around


def _outer(values: list[Value], loop: Op) -> list[Value]:
    return [v for v in values if not inside(v, loop)]


def _distribute(loop: Op, counters: list[int], slice_: list[Op], place: Op) -> None:
    body, (lower, upper, step) = loop.regions[0], loop.operands[:3]
    made = Block()
    with insert_at(made, loop.loc):
        for around in _between(loop, place):  # if these do not run, this one does not either
            runs = ops.cmpi(around.operands[0], around.operands[1], predicate="slt")
            upper = ops.select(runs, upper, lower)
        trips = trip_count(lower, upper, step)
        buffers = {k: ops.alloc(trips, type=MemRefType((None,), body.args[1 + k].type)) for k in counters}
        first = Block([index, *(body.args[1 + k].type for k in counters)], [body.args[0].hint])
        own = dict(zip(counters, first.args[1:], strict=True))
        mapping: Mapping = {body.args[0]: first.args[0]} | {body.args[1 + k]: own[k] for k in counters}
        with insert_at(first):
            number = iteration_number(first.args[0], lower, step)
            for k, buffer in buffers.items():
                build(ops.store, [own[k], buffer, number])
            for op in slice_:
                clone_op(op, mapping)
            ends = [body.terminator.operands[k] for k in counters]
            build(ops.yield_, [mapping.get(v, v) for v in ends])
        starts = [loop.operands[3 + k] for k in counters]
        found = build(ops.for_, [lower, upper, step, *starts], None, [v.type for v in starts], [first])
    put_before(place, list(made.ops))
    begin = Block()
    with insert_at(begin, loop.loc):
        number = iteration_number(body.args[0], lower, step)
        for k, buffer in buffers.items():
            body.args[1 + k].replace_uses(ops.load(buffer, number))
    body.set_ops([*begin.ops, *body.ops])
    for k, result in zip(counters, found.results, strict=True):
        loop.results[k].replace_uses(result)


def _between(loop: Op, place: Op) -> list[Op]:
    """The loops around ``loop``, the last of which is ``place``."""
    found = []
    for op in enclosing(loop.parent) if loop is not place else ():
        found.append(op)
        if op is place:
            break
    return found
