"""Branches on one condition, one after the other in a block, become one.

Loops of the primal and of the reverse sweep that have been fused decide twice: ``if m[i]: value`` and then ``if m[i]:
derivative``. As one branch they compute once what both need, and where a loop does nothing else, its iterations are
those of the one branch (``compact-iterations``). The first branch is moved down to the second one, if nothing in
between uses its results or is in the way of its reads and writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, holds
from adc.ir.rewrite import used_from_outside
from adc.passes.analysis.cold import COLD, warm_regions
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import SILENT
from adc.passes.rewrite import replace_op

MOST_CROSSED = 32  # operations with effects between two branches


@dataclass(frozen=True)
class MergeBranches:
    """Merge each branch with the next one in its block that is on the same condition."""

    name: ClassVar[str] = "merge-branches"
    needs = frozenset({ops.if_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            conditions = [op.operands[0] for op in func.body.walk() if op.opdef is ops.if_]
            if len(set(conditions)) < len(conditions):
                _block(func.body, Memory.asked(func, summaries))
        return module


def _block(block: Block, memory: Memory) -> None:
    for op in block.ops:
        for region in warm_regions(op):
            _block(region, memory)
    last: dict[Value, int] = {}  # of each condition: where its last branch is
    kept: list[Op | None] = []
    for op in block.ops:
        if op.opdef is ops.if_ and COLD not in op.attrs:
            condition = op.operands[0]
            at = last.get(condition)
            first = None if at is None else kept[at]
            if at is not None and first is not None and _reaches(first, kept[at + 1 :], memory):
                kept[at] = None
                op = _merged(first, op)
            last[condition] = len(kept)
        kept.append(op)
    if None in kept:
        block.set_ops([op for op in kept if op is not None])


def _reaches(branch: Op, between: Sequence[Op | None], memory: Memory) -> bool:
    """Whether a branch may be moved down past ``between``."""
    effects = memory.effects(branch)
    if effects.everything or effects.traps or effects.ordered:
        return False
    results = set(branch.results)
    crossed = 0
    for op in between:
        if op is None:
            continue
        if not results.isdisjoint(op.operands) or (op.regions and not results.isdisjoint(used_from_outside([op]))):
            return False
        if op.opdef in SILENT:
            continue
        crossed += 1
        other = memory.effects(op)
        if crossed > MOST_CROSSED or other.everything or other.traps or other.ordered or not effects.is_apart(other):
            return False
    return True


def _merged(first: Op, second: Op) -> Op:
    """A branch that does what both do, in place of ``second``; both are dropped."""
    regions = []
    for one, other in zip(first.regions, second.regions, strict=True):
        ends = one.pop(), other.pop()
        for result, value in zip(first.results, ends[0].operands, strict=True):
            for user, position in list(result.uses):
                if user is ends[1] or holds(other, user):
                    user.set_operand(position, value)
        values = [*ends[0].operands, *ends[1].operands]
        one.set_ops([*one.ops, *other.ops])
        for end in ends:
            end.drop()
        with insert_at(one):
            build(ops.yield_, values)
        regions.append(one)
    old = [*first.results, *second.results]
    attrs = {**first.attrs, **second.attrs}
    first.set_regions(())
    second.set_regions(())
    merged = Op(ops.if_, [second.operands[0]], [v.type for v in old], attrs, regions, second.loc)
    replace_op(first, merged.results[: len(first.results)])
    replace_op(second, merged.results[len(first.results) :])
    return merged
