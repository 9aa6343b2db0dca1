"""Nests that loops around them repeat with other numbers: what they add can be added once, from the sums of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from typing import cast

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.nesting import enclosing, inside, with_inner
from adc.ir.types import MemRefType
from adc.passes.analysis.effects import Memory
from adc.passes.checkpointing.conventions import is_over_steps
from adc.passes.rewrite import put_instead


def repeating(
    func: Func, nest: Op, sums: Collection[Op], fixed: Sequence[Value], read: Sequence[Value], memory: Memory
) -> list[Op]:
    """The loops around ``nest``, from the innermost, that do nothing to the targets of ``sums`` but add to them, and
    change neither the values that are ``fixed`` nor the arrays that are ``read``. All have the bounds that they have
    outside of the outermost."""
    targets = {op.operands[1] for op in sums}
    found: list[Op] = []
    values = [*fixed, *read]
    for loop in enclosing(nest.parent):
        if loop.opdef is not ops.for_ or is_over_steps(func, loop) or any(inside(v, loop) for v in values):
            break
        others = [op for op in with_inner(loop) if not op.regions and op not in sums]
        if any(memory.may_write(op, array) for op in others for array in (*targets, *read)):
            break
        if any(memory.may_read(op, target) for op in others for target in targets):
            break
        found.append(loop)
        values += loop.operands[:3]
    return found


def put_around(loops: Sequence[Op], apart: Sequence[Op], sums: Iterable[Value], worth: Value | bool) -> None:
    """Put what is ``apart`` around the loops: all but the last before them, with zeros in the arrays ``sums``; and the
    last operation after them, if they had an iteration, and it is ``worth`` it."""
    *before, last = apart
    home = loops[-1]
    then, otherwise = Block(), Block()
    with insert_at(Block(), last.loc) as zeros:
        for array in sums:
            build(ops.fill, [const(0.0, cast(MemRefType, array.type).element), array])
    with insert_at(Block(), last.loc) as after:
        tests = [ops.cmpi(*loop.operands[:2], predicate="slt") for loop in loops]
        tests += [worth] if isinstance(worth, Value) else []
        build(ops.if_, [reduce(ops.andi, tests)], {}, [], [then, otherwise])
    put_instead(home, [*before, *zeros.ops, home, *after.ops])
    then.append(last)
    for block in (then, otherwise):
        with insert_at(block, last.loc):
            build(ops.yield_, [])
