"""Simplifying branches and other loops: known conditions, and results that are not needed. ``loop_rules`` has counted
loops."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import i1
from adc.passes.canonicalize.integer_rules import decide
from adc.passes.canonicalize.loop_rules import LOOP_CONTROL
from adc.passes.canonicalize.region_steps import check_first, errors, inline, narrow
from adc.passes.canonicalize.rewriter import Control, Rewriter
from adc.passes.canonicalize.sink_stores import sink_stores
from adc.passes.rewrite import keep_while


def _if(rw: Rewriter, op: Op) -> Op | None:
    condition = op.operands[0]
    known = constant_of(condition)
    if known is None:
        known = _decided(rw, condition)
    if known is not None:
        values = inline(rw, op, op.regions[0 if known else 1], ())
        rw.replace_op(op, values)
        return None
    negated = condition.op
    if negated is not None and negated.opdef is ops.xori and constant_of(negated.operands[1]) == 1:
        condition = negated.operands[0]
        op.set_operand(0, condition)
        op.set_regions(op.regions[::-1])
    then, other = op.regions
    rw.walk(then, (condition, True))
    rw.walk(other, (condition, False))
    for region, kept, holds in ((then, other, 0), (other, then, 1)):
        if checks := errors(region):
            values = inline(rw, op, kept, ())
            check_first(rw, region, checks, condition if holds else rw.emit(ops.xori, condition, rw.constant(1, i1)))
            rw.replace_op(op, values)
            return None
    rw.later(sink_stores(op))
    left = []
    seen: dict[tuple[Value, Value], int] = {}
    for k, result in enumerate(op.results):
        x, y = then.terminator.operands[k], other.terminator.operands[k]
        value: Value | None = None
        if x is y or (x.block is not then and _is_read_by_nobody(y, other)):
            value = x
        elif y.block is not other and _is_read_by_nobody(x, then):
            value = y
        elif (x, y) in seen:
            value = op.results[seen[x, y]]
        elif x.type == i1 and (constant_of(x), constant_of(y)) == (1, 0):
            value = condition
        elif x.type == i1 and (constant_of(x), constant_of(y)) == (0, 1):
            value = rw.emit(ops.xori, condition, rw.constant(1, i1))
        if value is None:
            seen[x, y] = k
            left.append(k)
        else:
            rw.replace(result, value)
    op = narrow(rw, op, left)
    if not op.results and len(op.regions[0].ops) == 1 and len(op.regions[1].ops) == 1:
        rw.replace_op(op, ())
        return None
    return op


def _decided(rw: Rewriter, condition: Value) -> bool | None:
    """The answer to a comparison that was made further out, by what is known here: of extents, for instance, on which
    the version of a loop depends."""
    op = condition.op
    if op is None or op.opdef is not ops.cmpi:
        return None
    return decide(rw, op.attrs["predicate"], *op.operands)


def _is_read_by_nobody(value: Value, region: Block) -> bool:
    """Whether nobody reads ``value``, which ``region`` yields, so that the other region's value may take its place."""
    last = region.ops[-2] if len(region.ops) > 1 else region.terminator
    fails = last.opdef is ops.assert_ and constant_of(last.operands[0]) == 0
    return fails or (value.op is not None and value.op.opdef is ops.undef)


def _while(rw: Rewriter, op: Op) -> Op | None:
    op = _narrow_while(rw, op)
    before, after = op.regions
    rw.walk(before)
    if constant_of(before.terminator.operands[0]) == 0:
        values = inline(rw, op, before, op.operands)
        rw.replace_op(op, values[1:])
        return None
    rw.walk(after)
    narrowed = _narrow_while(rw, op)
    rw.again |= narrowed is not op
    return narrowed


def _narrow_while(rw: Rewriter, op: Op) -> Op:
    """Remove carried values that never change, and values passed on that are known outside or passed on twice."""
    before, after = op.regions
    carried, passed = list(range(len(before.args))), list(range(len(after.args)))
    changed = True
    while changed:
        changed = False
        given = before.terminator.operands[1:]
        for k in list(carried):
            value = after.terminator.operands[k]
            if value.owner is after:
                value = given[value.index]
            if value is before.args[k] or value is op.operands[k]:
                rw.replace(before.args[k], op.operands[k])
                carried.remove(k)
                changed = True
        given = before.terminator.operands[1:]
        first: dict[Value, int] = {}
        for k in list(passed):
            value = given[k]
            same: tuple[Value, Value]
            if value.block is not before:
                same = value, value
            elif value in first:
                same = after.args[first[value]], op.results[first[value]]
            else:
                first[value] = k
                continue
            rw.replace(after.args[k], same[0])
            rw.replace(op.results[k], same[1])
            passed.remove(k)
            changed = True
    if len(carried) == len(before.args) and len(passed) == len(after.args):
        return op
    old = [op.results[k] for k in passed]
    op = keep_while(op, carried, passed)
    rw.rebuilt(old, op.results)
    return op


CONTROL: dict[OpDef, Control] = {**LOOP_CONTROL, ops.if_: _if, ops.while_: _while}
