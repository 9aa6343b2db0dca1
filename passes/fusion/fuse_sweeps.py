"""The forward and the reverse sweep of a stencil are fused, if that computes once what both need.

Fusing loops after it is decided how terms are added would be too late: the loops that add terms then run over elements,
or over blocks of iterations, and no longer over the range of the forward sweep. So a loop that adds terms at constant
offsets is fused with one before it, over the same range, if blocks of the joined loop (``blocks``) cost less than the
two loops by themselves; so is a loop that adds to the same row in all iterations, unless that row is the weights of a
convolution, each of which sums what it is multiplied by along rows.
(``np.sum(np.sin(u[1:] * u[:-1]))`` and its gradient take one sine and cosine of each point.)
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside, of_kinds
from adc.passes.analysis.conflicts import conflicting, has_accumulate
from adc.passes.analysis.kinds import COUNTED
from adc.passes.distribution.fission import Fission
from adc.passes.fusion.bodies import Bodies
from adc.passes.fusion.fuse_loops import fuse, fusible, is_branch
from adc.passes.stencil_adjoints.blocks import blocks_for
from adc.passes.stencil_adjoints.interchange import is_over_windows
from adc.passes.stencil_adjoints.strategy_costs import Costs


@dataclass(frozen=True)
class FuseSweeps:
    """Fuse loops that scatter with neighbouring loops."""

    name: ClassVar[str] = "fuse-sweeps"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        fuse(module, _worthwhile, among=_concerns)
        return module


def _concerns(func: Func) -> bool:
    """Whether there are terms to add, or branches with loops, which are joined on the way."""
    return any(op.opdef is ops.accumulate or is_branch(op) for op in of_kinds(func.body, {ops.accumulate, ops.if_}))


def _worthwhile(bodies: Bodies, first: Op, second: Op) -> bool:
    analysis = bodies.analysis
    if has_accumulate(first) or not has_accumulate(second) or not fusible(bodies, first, second):
        return False
    around = first.parent.parent_op if first.parent is not None else None
    if around is not None and around.opdef is ops.parallel:
        return True  # the inner loops of what was joined
    fission = Fission(analysis, second)
    groups = conflicting(analysis, second)
    blocks = blocks_for(fission, groups) if groups else None
    if blocks is None and groups:
        added = [op for ops_of_one, _ in groups for op in ops_of_one]
        if all(_is_to_row(op, second) for op in added):
            return not all(is_over_windows(fission, op) for op in added)
    if blocks is None or (blocks.axis and first.results):
        return False
    return Costs(fission).weigh_with(first, blocks.stencils).favours_blocks


def _is_to_row(accumulate: Op, loop: Op) -> bool:
    """Whether all iterations of ``loop`` add to the same elements, which inner loops count through."""
    counters = {op.regions[0].args[0] for op in loop.regions[0].walk() if op.opdef in COUNTED}
    return all(v in counters or not inside(v, loop) for v in accumulate.operands[2:])
