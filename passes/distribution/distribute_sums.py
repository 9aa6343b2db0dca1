"""Loops that would be parallel if they did not sum: the terms are computed in any order, and summed in Python's.

``for i in range(n): total += f(x[i])`` becomes, for blocks of iterations, a loop that stores the terms in a small
buffer, which can be parallel and SIMD, and one that adds them to the total one after the other. The sum has the same
bits as Python's. That pays if a term takes longer than an addition.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 2.4.2 (loop
distribution) and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Module, Op
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of_block, trips
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.distribution.carried_sums import Sum, sums_of
from adc.passes.distribution.distribute_nests import Nest, distribute_nest, find_nest
from adc.passes.distribution.summed_blocks import by_blocks
from adc.passes.rewrite import replace_op

BLOCK = 4096
"""Terms in the buffer: some kilobytes in the frame; enough iterations for threads if each has much to do."""

LEAST_COST = 24.0
"""The least cost of an iteration, in the units of ``costs``."""


@dataclass(frozen=True)
class DistributeSums:
    """Split loops in which only sums of floats must be done in order."""

    name: ClassVar[str] = "distribute-sums"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            loops = (op for op in func.walk() if op.opdef is ops.for_)
            if any(find_nest(op) is not None or (sums_of(op) and _pays(op, module)) for op in loops):
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
        """Change the outermost loops that qualify, outside parallel ones."""
        new, unordered = block.in_place_of(), self.analysis.is_unordered
        for op in block.ops:
            nest = find_nest(op) if op.opdef is ops.for_ else None
            if nest is not None and self._pays_in_nest(nest) and unordered(op):
                with insert_at(new, op.loc):
                    kept = distribute_nest(nest)
                with self.analysis.inside(kept.regions[0]):
                    self.block(kept.regions[0])
                continue
            if op.opdef is ops.for_ and (sums := sums_of(op)) and _pays(op, self.module) and unordered(op):
                with insert_at(new, op.loc):
                    _distribute(op, sums)
                continue
            new.append(op)
            if op.opdef is not ops.parallel:
                for region in warm_regions(op):
                    with self.analysis.inside(region):
                        self.block(region)
        block.set_ops(new.ops)

    def _pays_in_nest(self, nest: Nest) -> bool:
        """Whether the terms are costly, or what is done before them."""
        terms = trips(nest.inner) * cost_of_block(nest.inner.regions[0], self.module)
        whole = cost_of_block(nest.outer.regions[0], self.module)
        return _pays(nest.inner, self.module) or whole - terms >= max(terms, LEAST_COST)


def _distribute(loop: Op, sums: Sequence[Sum]) -> None:
    """Append the equivalent of ``loop``, which is dropped."""
    buffers = {link: ops.alloc(type=MemRefType((BLOCK,), link.term.type)) for s in sums for link in s.links}
    totals = by_blocks([loop], sums, [s.position for s in sums], const_index(BLOCK), buffers)
    replace_op(loop, totals)
