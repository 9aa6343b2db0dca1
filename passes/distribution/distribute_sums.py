"""Loops that would be parallel if they did not sum: the terms are computed in any order, and summed in Python's.

``for i in range(n): total += f(x[i])`` becomes, for blocks of iterations, a loop that stores the terms in a small
buffer, which can be parallel and SIMD, and one that adds them to the total one after the other. The sum has the same
bits as Python's. That pays if a term takes longer than an addition.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 2.4.2 (loop
distribution) and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of_block, trips
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.kinds import COUNTED
from adc.passes.distribution.carried_sums import Sum, sums_of
from adc.passes.distribution.distribute_functions import has_functions
from adc.passes.distribution.distribute_nests import Nest, distribute_nest, find_nest
from adc.passes.distribution.functions_ahead import FEW, ROW
from adc.passes.distribution.summed_blocks import by_blocks
from adc.passes.rewrite import put_instead, replace_op

BLOCK = 4096
"""Terms in the buffer: some kilobytes in the frame; enough iterations for threads if each has much to do."""

LEAST_COST = 24.0
"""The least cost of an iteration, in the units of ``costs``."""


@dataclass(frozen=True)
class DistributeSums:
    """Split loops in which only sums of floats must be done in order.

    Those inside parallel loops are split only if they are ``within``: then just these, the innermost ones with
    elementary functions. It is later known whether they are SIMD over the iterations of the parallel loop."""

    within: bool = False
    name: ClassVar[str] = "distribute-sums"
    needs = frozenset({ops.for_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            loops = (op for op in func.walk() if op.opdef is ops.for_)
            if self.within:
                if any(_is_row_of_functions(op) for op in loops):
                    _Within(Analysis(func, module, summaries)).block(func.body, shared=False)
            elif any(find_nest(op) is not None or (sums_of(op) and _pays(op, module)) for op in loops):
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


def _distribute(loop: Op, sums: Sequence[Sum], size: int = BLOCK) -> None:
    """Append the equivalent of ``loop``, which is dropped."""
    buffers = {link: ops.alloc(type=MemRefType((size,), link.term.type)) for s in sums for link in s.links}
    totals = by_blocks([loop], sums, [s.position for s in sums], const_index(size), buffers)
    replace_op(loop, totals)


def _is_row_of_functions(loop: Op) -> bool:
    """Whether a loop only sums terms with elementary functions, and has enough of them for SIMD."""
    if loop.opdef is not ops.for_ or trips(loop) < FEW or not has_functions(loop.regions[0].ops):
        return False
    sums = sums_of(loop)
    return len(sums) == len(loop.results) > 0 and not any(op.regions for op in loop.regions[0].ops)


class _Within:
    """Splits loops inside parallel ones, with terms that are computed by a parallel loop."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    def block(self, block: Block, *, shared: bool) -> None:
        new = block.in_place_of()
        for op in block.ops:
            if shared and _is_row_of_functions(op) and self.analysis.is_unordered(op):
                with insert_at(new, op.loc):
                    _distribute(op, sums_of(op), ROW)
                _unordered_terms(new.ops[-1])
                continue
            new.append(op)
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    self.block(region, shared=shared or op.opdef is ops.parallel)
        block.set_ops(new.ops)


def _unordered_terms(blocks: Op) -> None:
    """Make the loop that stores terms, the first one in a loop over blocks, parallel."""
    terms = next(op for op in blocks.regions[0].ops if op.opdef in COUNTED)
    (body,) = terms.regions
    body.pop().drop()
    with insert_at(body, terms.loc):
        build(ops.reduce, [], {"kinds": ()})
    terms.set_regions(())
    with insert_at(Block(), terms.loc) as made:
        build(ops.parallel, terms.operands, {}, [], [body])
    put_instead(terms, made.ops)
    terms.drop()
