"""Iterations of a parallel loop that share most of what they do become lanes, and the loop over the lanes moves inside.

    for k in prange(n):                            for block in prange(ceil(n / 8)):
        for i in range(m):                             for i in range(m):
            y[i] = np.exp(x[i])                            y[i] = np.exp(x[i])
            z[i] = y[i] * d[k, i]                          for lane in range(8):
        ...                                                    z[i, lane] = y[i] * d[8 * block + lane, i]
                                                       ...

What is the same for all of them (*uniform*) is done once for a block; what differs is done for all lanes at once,
which are side by side in memory, so these innermost loops are SIMD whatever the nests around them are. So the runs of a
Jacobian in forward mode share the values of the function, as in vector mode (Griewank and Walther, Evaluating
Derivatives, 2nd ed., SIAM 2008, section 6.1); functions that are mapped over a batch share what does not depend on it.

This is strip-mining, then loop distribution of the strip over all levels of its body, with scalar and array expansion
(Allen and Kennedy, Optimizing Compilers for Modern Architectures, chapter 5). No order is proved: iterations of a
parallel loop may run in any order, and each keeps its own. Branches and loops that depend on the lane are run by each
lane for itself. Lanes of the last block that have no iteration compute what the last one does, and store nothing.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, of_kinds
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of, trips
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import COUNTED, ELEMENT_WRITES
from adc.passes.analysis.machine import machine
from adc.passes.distribution.lane_classes import Unfit, Variation
from adc.passes.distribution.sinking import Sinking

SHARED = 0.2
"""The least share of uniform work that is worth loading what differs from places far apart."""


@dataclass(frozen=True)
class SinkLanes:
    """Run ``lanes`` iterations of outermost parallel loops that share work together; by default as many as doubles fill
    a few registers of the machine."""

    lanes: int | None = None
    name: ClassVar[str] = "sink-lanes"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            self._block(func.body, func, summaries)
        return module

    def _block(self, block: Block, func: Func, summaries: Summaries) -> None:
        for op in list(block.ops):
            if op.opdef is ops.if_:
                for region in warm_regions(op):
                    self._block(region, func, summaries)
            elif op.opdef is ops.parallel and not op.results and trips(op) > 1 and of_kinds(op.regions[0], COUNTED):
                try:
                    variation = Variation(op, Memory.asked(func, summaries))
                except Unfit:
                    continue
                if _is_worth_it(variation):
                    Sinking(variation, self.lanes or machine().few_lanes).build()


def _is_worth_it(variation: Variation) -> bool:
    """Whether iterations make arrays of their own, and nests either read nothing that differs from outside, as those
    along directions, or share enough of what they compute. Lanes lie side by side in arrays of their own, but rarely in
    those from outside. Other loops ``vectorise-outer`` knows better."""
    same, all_, gathered, arrays = 0.0, 0.0, False, False

    def visit(block: Block, times: float, inner: bool) -> None:
        nonlocal same, all_, gathered, arrays
        for op in block.ops:
            if op.regions:
                for region in op.regions:
                    visit(region, times * trips(op), inner or op.opdef in COUNTED)
            elif op.opdef is ops.alloc:
                arrays |= bool(op.operands) and variation.differs(op.result)
            elif op.opdef in ELEMENT_WRITES or any(r.type.is_float for r in op.results):
                cost = times * cost_of(op.opdef)
                all_ += cost
                if not inner:
                    continue
                if op.opdef is ops.load:
                    gathered |= op.operands[0] not in variation.inner and variation.differs(op.result)
                elif not any(map(variation.differs, (*op.results, *op.operands))):
                    same += cost

    visit(variation.body, 1.0, False)
    return arrays and (not gathered or same >= SHARED * all_)
