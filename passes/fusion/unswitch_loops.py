"""Time loops that choose between versions of the same loops in every step choose once, before the loop.

What two arrays of one shape do in a step is then one sequence of code: its loops are fused, its temporary arrays are
found, and it is differentiated and given a schedule as if the sizes had been known. The other side has the loop as it
was.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.ir.rewrite import clone_op
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.kinds import TERMINATORS
from adc.passes.analysis.nests import is_visible
from adc.passes.fusion.choices import Same, is_choice
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class UnswitchLoops:
    """Move branches on loop-invariant conditions out of sequential loops that have at most ``most`` operations."""

    most: int = 800
    name: ClassVar[str] = "unswitch-loops"
    needs = frozenset({ops.if_})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            if any(is_choice(op) for op in func.walk()):
                self._block(func.body)
        return module

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            for region in warm_regions(op):
                self._block(region)
            if op.opdef in (ops.for_, ops.while_):
                choices = _choices(op)
                if choices and sum(1 for region in op.regions for _ in region.walk()) <= self.most:
                    _unswitch(op, choices)


def _choices(loop: Op) -> list[tuple[int, int]]:
    """Branches between versions that are decided before the loop: their region and position."""
    assert loop.parent is not None
    return [
        (r, k)
        for r, region in enumerate(loop.regions)
        for k, op in enumerate(region.ops)
        if _chooses(op) and is_visible(op.operands[0], loop.parent)
    ]


def _chooses(op: Op) -> bool:
    """Whether ``op`` chooses between versions of loops, either parallel ones or loops that were unswitched
    themselves."""
    return is_choice(op) or (ops.LIKELY in op.attrs and any(inner.opdef is ops.for_ for inner in op.regions[0].ops))


def _unswitch(loop: Op, choices: Sequence[tuple[int, int]]) -> None:
    conditions = list(dict.fromkeys(loop.regions[r].ops[k].operands[0] for r, k in choices))
    made, fast, slow = Block(), Block(), Block()
    with insert_at(fast, loop.loc):
        copy = clone_op(loop, {})
        build(ops.yield_, copy.results)
    for r, k in reversed(choices):
        _take_first(copy.regions[r].ops[k])
    Same(conditions).replace_in(fast)
    uses = [list(r.uses) for r in loop.results]
    with insert_at(slow, loop.loc):
        build(ops.yield_, loop.results)
    with insert_at(made, loop.loc):
        condition = functools.reduce(ops.andi, conditions)
        branch = build(ops.if_, [condition], {ops.LIKELY: True}, [r.type for r in loop.results], [fast, slow])
    put_instead(loop, list(made.ops))
    slow.set_ops([loop, *slow.ops])
    for used, old, new in zip(uses, loop.results, branch.results, strict=True):
        new.hint = old.hint
        for user, position in used:
            user.set_operand(position, new)


def _take_first(choice: Op) -> None:
    """Replace a branch by the contents of its first region."""
    region = choice.regions[0]
    end = region.terminator
    for result, value in zip(choice.results, end.operands, strict=True):
        result.replace_uses(value)
    put_instead(choice, [op for op in region.ops if op.opdef not in TERMINATORS])
    region.set_ops([end])
    choice.drop()
