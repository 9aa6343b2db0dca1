"""Loop fission where ranks have to fetch in between: a parallel loop around several loops, one of which reads what
another one has computed, becomes one loop around each.

Iterations of a parallel loop are independent, so all iterations of a part may run before the next part.

So it is for loops that add to shadows in several loops, as those of ``np.roll`` along two axes are whose ranges are
cut along both: the terms of each part are gathered by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import with_inner
from adc.ir.rewrite import clone_block
from adc.passes.analysis.kinds import PURE
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class SplitNests:
    """Split parallel loops around several loops that add to shadows."""

    name: ClassVar[str] = "split-nests"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _split_adding(func.body)
        return module


def _split_adding(block: Block) -> None:
    for op in list(block.ops):
        if op.opdef is ops.parallel and sum(map(_adds, op.regions[0].ops)) > 1:
            split_nest(op)
        else:
            for region in op.regions:
                _split_adding(region)


def _adds(op: Op) -> bool:
    return op.opdef is ops.parallel and any(inner.opdef is ops.accumulate for inner in with_inner(op))


def split_nest(op: Op) -> bool:
    """Replace a parallel loop, and those in it, by several loops. Returns whether there is more than one."""
    (body,) = op.regions
    if op.opdef is not ops.parallel or op.results:
        return False
    changed = False
    for inner in list(body.ops):
        if inner.opdef is ops.parallel:
            changed |= split_nest(inner)
    parts = _parts(body.ops[:-1])
    if len(parts) < 2:
        return changed
    made = []
    for part in parts:
        block = clone_block(body, {})
        kept: list[Op] = []
        for k in reversed(range(len(body.ops))):
            each = block.ops[k]
            unused = all(not result.uses for result in each.results)
            if k in part or each is block.terminator or (each.opdef in PURE and not unused):
                kept.append(each)
            else:
                each.drop()
        block.set_ops(kept[::-1])
        made.append(Op(ops.parallel, op.operands, [], dict(op.attrs), [block], op.loc))
    put_instead(op, made)
    op.drop()
    return True


def _parts(body: Sequence[Op]) -> list[set[int]]:
    """Which operations stay together, by their numbers: those that use results of each other, and all in between.
    Operations that only compute are in all parts that need them."""
    behind: dict[Value, set[int]] = {}
    spans: list[tuple[int, int]] = []
    for k, op in enumerate(body):
        used = set().union(*(behind.get(v, set()) for inner in with_inner(op) for v in inner.operands))
        if op.opdef not in PURE:
            spans.append((min(used, default=k), k))
            used = {k}
        for result in op.results:
            behind[result] = used
    parts: list[list[int]] = []
    for first, last in spans:
        while parts and first <= parts[-1][-1]:
            first = min(first, parts.pop()[0])
        parts.append([first, last])
    return [set(range(first, last + 1)) for first, last in parts]
