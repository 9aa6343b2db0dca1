"""Rotating while loops, so that their conditions do nothing that the reverse sweep would have to undo.

    while p = before(state): state = after(p)

becomes ``p = before(state); while p: p = before(after(p))``: what the condition computes and passes on is computed once
ahead of the loop and then at the end of each iteration, in the loop's body. The loop's condition is a value it carries.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op
from adc.ir.opdef import Trait
from adc.ir.rewrite import inline_block


def rotate_while_loops(func: Func) -> None:
    """Rotate the while loops whose conditions write to memory, or pass on something other than the loop's state."""

    def visit(block: Block) -> None:
        made: list[Op] = []
        for op in block.ops:
            for region in op.regions:
                visit(region)
            made += _rotated(op) if op.opdef is ops.while_ and _changes_values(op.regions[0]) else [op]
        block.set_ops(made)

    visit(func.body)


def _changes_values(before: Block) -> bool:
    return before.terminator.operands[1:] != before.args or any(
        Trait.WRITES in op.opdef.traits or op.opdef is ops.call for op in before.walk()
    )


def _rotated(loop: Op) -> list[Op]:
    """The operations that take the place of ``loop``."""
    before, after = loop.regions
    types = [r.type for r in loop.results]
    hints = [r.hint for r in loop.results]
    place, condition, body = Block(), Block(), Block()
    for region in (condition, body):
        going = region.add_arg(before.terminator.operands[0].type)
        passed = [region.add_arg(t, hint) for t, hint in zip(types, hints, strict=True)]
        with insert_at(region, loop.loc):
            if region is condition:
                build(ops.condition, [going, going, *passed])
            else:
                state = inline_block(after, passed)
                build(ops.yield_, inline_block(before, state))
    with insert_at(place, loop.loc):
        first = inline_block(before, loop.operands)
        new = build(ops.while_, first, result_types=[first[0].type, *types], regions=[condition, body])
    for old, result in zip(loop.results, new.results[1:], strict=True):
        result.hint = old.hint
        old.replace_uses(result)
    loop.drop()
    return list(place.ops)
