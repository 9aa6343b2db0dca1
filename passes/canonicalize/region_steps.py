"""Steps of rules for loops and branches: a region takes the place of its operation, checks move out, results are
dropped."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.passes.canonicalize.rewriter import Rewriter
from adc.passes.rewrite import keep_carried


def inline(rw: Rewriter, op: Op, region: Block, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """Visit the code of ``region`` next, in place of ``op``. Returns the operands of the region's terminator."""
    for arg, value in zip(region.args, args, strict=True):
        rw.replace(arg, value)
    terminator = region.terminator
    values = terminator.operands
    terminator.drop()
    op.set_regions([r for r in op.regions if r is not region])
    rw.later(region.ops[:-1])
    return values


def errors(region: Block) -> list[Op]:
    """The checks that ``region`` begins with, of values from outside, up to one that always fails; empty if none
    does."""
    for count, op in enumerate(region.ops, 1):
        if op.opdef is not ops.assert_ or any(v.owner is region for v in op.operands):
            break
        if constant_of(op.operands[0]) == 0:
            return list(region.ops[:count])
    return []


def check_first(rw: Rewriter, region: Block, checks: list[Op], otherwise: Value) -> None:
    """Visit ``checks`` next, taken out of ``region``: now they fail only if ``otherwise`` does not hold."""
    region.set_ops(region.ops[len(checks) :])
    for check in checks:
        check.set_operand(0, rw.emit(ops.ori, check.operands[0], otherwise))
    rw.later(checks)


def narrow(rw: Rewriter, op: Op, left: list[int]) -> Op:
    """Let a loop or branch have only the results at positions ``left``."""
    if len(left) == len(op.results):
        return op
    old = [op.results[k] for k in left]
    op = keep_carried(op, left)
    rw.rebuilt(old, op.results)
    return op
