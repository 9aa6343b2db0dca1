"""Loops that would be parallel, did they not sum: the terms are computed in any order, and summed in Python's.

``for i in range(n): total += f(x[i])`` becomes, for blocks of iterations, a loop that stores the terms in a small
buffer, which can be parallel and SIMD, and one that adds them to the total one after the other. The sum has the same
bits as Python's. That pays where a term takes longer than an addition.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 2.4.2 (loop
distribution) and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.types import MemRefType, index
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of_block
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.building import strip
from adc.passes.distribution.carried_sums import Link, Sum, sums_of, taken_out
from adc.passes.distribution.distribute_nests import distribute_nest, find_nest
from adc.passes.rewrite import keep_args

BLOCK = 4096
"""Terms in the buffer: some kilobytes in the frame; enough iterations for threads if they have much to do."""

LEAST_COST = 24.0
"""Of an iteration, in the units of ``costs``."""


@dataclass(frozen=True)
class DistributeSums:
    """Split loops of which nothing but sums of floats must be done in order."""

    name: ClassVar[str] = "distribute-sums"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            if any(op.opdef is ops.for_ and sums_of(op) and _pays(op, module) for op in func.walk()):
                _Distribution(Analysis(func, module, summaries), module).block(func.body)
        return module


def _pays(loop: Op, module: Module) -> bool:
    lower, upper, step = (constant_of(v) for v in loop.operands[:3])
    if lower is not None and upper is not None and step is not None and (upper - lower) < 64 * step:
        return False
    return cost_of_block(loop.regions[0], module) >= LEAST_COST


class _Distribution:
    def __init__(self, analysis: Analysis, module: Module) -> None:
        self.analysis = analysis
        self.module = module

    def block(self, block: Block) -> None:
        """Change the outermost loops that can be, outside of parallel ones."""
        new = block.in_place_of()
        for op in block.ops:
            nest = find_nest(op) if op.opdef is ops.for_ else None
            if nest is not None and _pays(nest.inner, self.module) and self._is_free(op):
                with insert_at(new, op.loc):
                    kept = distribute_nest(nest)
                with self.analysis.inside(kept.regions[0]):
                    self.block(kept.regions[0])
                continue
            if op.opdef is ops.for_ and (sums := sums_of(op)) and _pays(op, self.module) and self._is_free(op):
                with insert_at(new, op.loc):
                    _distribute(op, sums)
                continue
            new.append(op)
            if op.opdef is not ops.parallel:
                for region in warm_regions(op):
                    with self.analysis.inside(region):
                        self.block(region)
        block.set_ops(new.ops)

    def _is_free(self, loop: Op) -> bool:
        """Whether iterations may run in any order otherwise."""
        accesses = self.analysis.accesses(loop)
        return not accesses.obstacles and not any(self.analysis.conflicts(loop, accesses.found))


def _distribute(loop: Op, sums: Sequence[Sum]) -> None:
    """Append what does the same as ``loop``, which is dropped."""
    starts = loop.operands[3:]
    trips = trip_count(*loop.operands[:3])
    buffers = {link: ops.alloc(type=MemRefType((BLOCK,), link.term.type)) for s in sums for link in s.links}
    outer = Block([index, *(v.type for v in starts)], ["block", *(a.hint for a in loop.regions[0].args[1:])])
    results = list(loop.results)
    with insert_at(outer):
        first, count = strip(outer.args[0], const_index(BLOCK), trips)
        carried = {total.position for total in sums}
        others = [k for k in range(len(starts)) if k not in carried]
        terms = _terms(loop, sums, buffers, first, count, [outer.args[1 + k] for k in others])
        totals = _totals(sums, buffers, count, [outer.args[1 + s.position] for s in sums])
        ends = dict(zip([*others, *(s.position for s in sums)], [*terms.results, *totals.results], strict=True))
        build(ops.yield_, [ends[k] for k in range(len(starts))])
    blocks = ops.ceildivsi(trips, const_index(BLOCK))
    limits = [const_index(0), blocks, const_index(1)]
    made = build(ops.for_, [*limits, *starts], None, [v.type for v in starts], [outer])
    for old, result in zip(results, made.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    loop.drop()


def _terms(
    loop: Op, sums: Sequence[Sum], buffers: dict[Link, Value], first: Value, count: Value, others: Sequence[Value]
) -> Op:
    """Append the loop over a block of iterations, which stores terms and carries integers alone."""
    (body,) = loop.regions
    lower, _, step = loop.operands[:3]
    end = body.pop()
    carried = {total.position for total in sums}
    yielded = [v for k, v in enumerate(end.operands) if k not in carried]
    end.drop()
    terms = {link: taken_out(link) for s in sums for link in reversed(s.links)}
    head = Block()
    with insert_at(head, loop.loc):
        number = ops.addi(body.args[0], first)
        if constant_of(step) != 1:
            number = ops.muli(number, step)
        if constant_of(lower) != 0:
            number = ops.addi(lower, number)
    inside = set(head.ops)
    for op, position in list(body.args[0].uses):
        if op not in inside:
            op.set_operand(position, number)
    body.set_ops([*head.ops, *body.ops])
    with insert_at(body, loop.loc):
        for link, term in terms.items():
            build(ops.store, [term, buffers[link], body.args[0]])
        build(ops.yield_, yielded)
    keep_args(body, [0, *(1 + k for k in range(len(body.args) - 1) if k not in carried)])
    loop.set_regions(())
    limits = [const_index(0), count, const_index(1)]
    return build(ops.for_, [*limits, *others], dict(loop.attrs), [v.type for v in others], [body])


def _totals(sums: Sequence[Sum], buffers: dict[Link, Value], count: Value, starts: Sequence[Value]) -> Op:
    """Append the loop that adds the terms of a block, in order."""
    block = Block([index, *(v.type for v in starts)], ["term"])
    with insert_at(block):
        totals = []
        for total, value in zip(sums, block.args[1:], strict=True):
            for link in total.links:
                value = link.added(value, ops.load(buffers[link], block.args[0]))
            totals.append(value)
        build(ops.yield_, totals)
    limits = [const_index(0), count, const_index(1)]
    return build(ops.for_, [*limits, *starts], None, [v.type for v in starts], [block])
