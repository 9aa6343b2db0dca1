"""Simplifying counted loops: how often they run, and carried values that are not needed."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import index
from adc.passes.analysis.integers import EXTREMES
from adc.passes.canonicalize.float_rules import never_negative_zero
from adc.passes.canonicalize.region_steps import check_first, errors, inline, narrow
from adc.passes.canonicalize.rewriter import Control, Rewriter

Values = tuple[Value, ...]


class Trips(Enum):
    """How often a loop runs."""

    NEVER = 0
    ONCE = 1
    AT_MOST_ONCE = 2
    OFTEN = 3  # as far as is known


def _trips(rw: Rewriter, op: Op) -> Trips:
    lower, upper, step = op.operands[:3]
    facts = rw.integers
    if facts.proves_ge(lower, upper):
        return Trips.NEVER
    stride = constant_of(step)
    if stride is None or stride <= 0:
        return Trips.OFTEN
    left = facts.linear(lower, exact=True).plus(facts.linear(upper, exact=True), -1).plus_number(int(stride))
    if facts.least(left) < 0:
        return Trips.OFTEN
    return Trips.AT_MOST_ONCE if left.terms else Trips.ONCE


def _branch(rw: Rewriter, loop: Op) -> Op:
    """A branch that is taken if a loop that runs at most once does, with the loop in it."""
    lower, upper, step = loop.operands[:3]
    condition = rw.emit(ops.cmpi, lower, upper, predicate="slt")
    then, other = Block(), Block()
    if lower.op is not None and any(v.op and v.op.opdef in EXTREMES for v in rw.integers.linear(lower).terms):
        # In the branch it may be known which of the two numbers the extreme is.
        again = then.append(rw.new(lower.op.opdef, lower.op.operands, lower.op.attrs))
        loop.set_operand(0, again.result)
    end = then.append(rw.new(ops.addi, (loop.operands[0], step)))
    loop.set_operand(1, end.result)
    branch = Op(ops.if_, (condition,), [r.type for r in loop.results], {}, (then, other), loc=loop.loc)
    for old, new in zip(loop.results, branch.results, strict=True):
        rw.replace(old, new)
    then.append(loop)
    then.append(Op(ops.yield_, loop.results, (), loc=loop.loc))
    other.append(Op(ops.yield_, loop.operands[3:], (), loc=loop.loc))
    return branch


def _replaced(rw: Rewriter, loop: Op, trips: Trips) -> bool:
    """Replace a loop that never runs by its initial values, and one that runs at most once by a branch. Whether it was
    one of these."""
    if trips is Trips.NEVER:
        rw.replace_op(loop, loop.operands[3:])
    elif trips is Trips.AT_MOST_ONCE:
        rw.later([_branch(rw, loop)])
    else:
        return False
    return True


def _for(rw: Rewriter, op: Op) -> Op | None:
    trips = _trips(rw, op)
    if _replaced(rw, op, trips):
        return None
    body = op.regions[0]
    if trips is Trips.ONCE:
        values = inline(rw, op, body, (op.operands[0], *op.operands[3:]))
        rw.replace_op(op, values)
        return None
    op = _drop_invariants(rw, op)
    op = _drop_closed_forms(rw, op)
    rw.walk(body)
    if _fails_first(rw, op):
        return None
    after = _drop_invariants(rw, op)
    rw.again |= after is not op
    return after


def _fails_first(rw: Rewriter, loop: Op) -> bool:
    """If each iteration of ``loop`` begins with an error, replace the loop by checks that it has no iteration."""
    (body,) = loop.regions
    checks = errors(body)
    if checks:
        check_first(rw, body, checks, rw.emit(ops.cmpi, *loop.operands[1::-1], predicate="sle"))
        rw.replace_op(loop, loop.operands[3:])
    return bool(checks)


def _drop_invariants(rw: Rewriter, op: Op) -> Op:
    """Remove carried values that never change, and those that another slot carries too."""
    body = op.regions[0]
    inits, args = op.operands[3:], body.args[1:]
    left = list(range(len(inits)))
    changed = True
    while changed:
        changed = False
        seen: dict[tuple[Value, Value], int] = {}
        constant = _invariant_slots(inits, args, body.terminator.operands, left)
        for k in list(left):
            value = body.terminator.operands[k]
            if k in constant:
                same, result = inits[k], inits[k]
            elif (inits[k], value) in seen:
                first = seen[inits[k], value]
                same, result = args[first], op.results[first]
            else:
                seen[inits[k], value] = k
                continue
            rw.replace(args[k], same)
            rw.replace(op.results[k], result)
            left.remove(k)
            changed = True
    return narrow(rw, op, left)


def _invariant_slots(inits: Values, args: Values, yields: Values, slots: list[int]) -> set[int]:
    """Slots that always hold their initial value: they yield it, or what another such slot of equal value holds."""
    number = {args[k]: k for k in slots}
    found = set(slots)
    changed = True
    while changed:
        failed = set()
        for k in found:
            value = yields[k]
            source = number.get(value)
            if value is not inits[k] and (source not in found or inits[source] is not inits[k]):
                failed.add(k)
        found -= failed
        changed = bool(failed)
    return found


def _drop_closed_forms(rw: Rewriter, op: Op) -> Op:
    """In a loop of step one, compute values that follow from the counter instead of carrying them."""
    lower, upper, step = op.operands[:3]
    if constant_of(step) != 1:
        return op
    body = op.regions[0]
    left = []
    start: list[Op] = []
    for k, init in enumerate(op.operands[3:]):
        arg, value = body.args[1 + k], body.terminator.operands[k]
        rw.loc = op.loc
        after = _closed_form(rw, init, arg, value)
        if after is None:
            left.append(k)
            continue
        with rw.collect(start, body):
            now = after(rw.emit(ops.subi, body.args[0], lower))
        rw.replace(arg, now)
        rw.replace(op.results[k], after(rw.emit(ops.subi, rw.emit(ops.maxsi, upper, lower), lower)))
    if start:
        body.set_ops([*start, *body.ops])
    return narrow(rw, op, left)


def _closed_form(rw: Rewriter, init: Value, arg: Value, value: Value) -> Callable[[Value], Value] | None:
    """A carried value after a number of iterations, each of which makes ``value`` of ``arg``. It is known if the value
    grows by a constant, or alternates between its initial value and the opposite."""
    increment = _increment(arg, value) if arg.type == index else None
    if increment is not None:
        factor = rw.index(increment)
        return lambda count: rw.emit(ops.addi, init, rw.emit(ops.muli, count, factor))
    made = _opposite_of(arg, value)
    if made is None:
        return None
    other = rw.emit(made.opdef, *(init if v is arg else v for v in made.operands), **made.attrs)
    return lambda count: rw.emit(ops.select, _is_odd(rw, count), other, init)


def _increment(arg: Value, value: Value) -> int | None:
    """``c`` in ``k += c``."""
    op = value.op
    if op is None or op.opdef not in (ops.addi, ops.subi):
        return None
    a, b = op.operands
    if b is arg and op.opdef is ops.addi:
        a, b = b, a
    number = constant_of(b)
    if a is not arg or number is None:
        return None
    return int(number) if op.opdef is ops.addi else -int(number)


def _opposite_of(arg: Value, value: Value) -> Op | None:
    """The operation that makes ``value`` of ``arg``, if it is its own inverse: ``s = -s``, ``c - s``, ``not s``."""
    op = value.op
    if op is None:
        return None
    if op.opdef is ops.subi:
        return op if op.operands[1] is arg and constant_of(op.operands[0]) is not None else None
    if op.opdef is ops.xori:
        return op if arg in op.operands and any(constant_of(v) is not None for v in op.operands) else None
    return op if op.opdef is ops.negf and op.operands[0] is arg else None


def _is_odd(rw: Rewriter, number: Value) -> Value:
    return rw.emit(ops.cmpi, rw.emit(ops.andi, number, rw.index(1)), rw.index(1), predicate="eq")


def _parallel(rw: Rewriter, op: Op) -> Op | None:
    trips = _trips(rw, op)
    if _replaced(rw, op, trips):
        return None
    if trips is Trips.ONCE:
        return _run_once(rw, op)
    rw.walk(op.regions[0])
    if _fails_first(rw, op):
        return None
    end = op.regions[0].terminator
    for k, (init, value) in enumerate(zip(op.operands[3:], end.operands, strict=True)):
        # Zero added to each term: the sum is the same, as it starts from something other than -0.0.
        added = value.op
        if added is not None and added.opdef is ops.addf and end.attrs["kinds"][k] == "add":
            zero = constant_of(added.operands[1])
            if zero == 0 and never_negative_zero(init):
                end.set_operand(k, added.operands[0])
    return op


def _run_once(rw: Rewriter, op: Op) -> Op | None:
    """A parallel loop of one iteration: its code, then what it reduces is combined with the initial values."""
    end = op.regions[0].terminator
    combinations = [
        rw.new(ops.COMBINE[kind][0 if init.type.is_float else 1], (init, value))
        for init, value, kind in zip(op.operands[3:], end.operands, end.attrs["kinds"], strict=True)
    ]
    rw.later(combinations)
    inline(rw, op, op.regions[0], op.operands[:1])
    rw.replace_op(op, [combination.result for combination in combinations])
    return None


LOOP_CONTROL: dict[OpDef, Control] = {ops.for_: _for, ops.parallel: _parallel}
