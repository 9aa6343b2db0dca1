"""What a loop of the reverse sweep has in common with the one that it mirrors: how often it runs, under which
conditions its parts run, and that all it carries is sums."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.passes.analysis.integers import Integers


def only_adds(loop: Op) -> bool:
    """Whether all that a loop carries is sums, which may be taken in any order."""
    body = loop.regions[0]
    pairs = zip(body.args[1:], body.terminator.operands, strict=True)
    return all(_sums(arg, total) == len(arg.uses) for arg, total in pairs)


def _sums(arg: Value, total: Value) -> int:
    """How many uses of ``arg`` there are in ``total``, if that is ``arg`` with terms added to it; else -1."""
    op = total.op
    if total is arg:
        return 1
    if op is None or len(total.uses) != 1:
        return -1
    if op.opdef is ops.if_:
        parts = [_sums(arg, region.terminator.operands[total.index]) for region in op.regions]
        return sum(parts) if min(parts) > 0 else -1
    if op.opdef is ops.for_:
        inner = op.regions[0].args[1 + total.index]
        adds = _sums(inner, op.regions[0].terminator.operands[total.index]) == len(inner.uses)
        return _sums(arg, op.operands[3 + total.index]) if adds else -1
    if op.opdef is ops.addf or op.opdef is ops.subf:
        parts = [_sums(arg, v) for v in op.operands[: 2 if op.opdef is ops.addf else 1]]
        return max(parts)
    return -1


def _or_zero(count: Value) -> Value:
    """The number of which ``count`` is the larger one of it and zero; else ``count``."""
    if count.op is not None and count.op.opdef is ops.maxsi:
        a, b = count.op.operands
        return b if constant_of(a) == 0 else a if constant_of(b) == 0 else count
    return count


def are_trips(integers: Integers, trips: Value, low: Value, high: Value) -> bool:
    """Whether a loop from ``low`` to ``high`` by ones has ``trips`` iterations, however that is written."""
    count, first = integers.linear(_or_zero(trips)), integers.linear(low)
    ends = [high, *(value for value, factor in count.terms.items() if factor == 1 and _is_larger_of(value, high, low))]
    return any(count == integers.linear(end).plus(first, -1) for end in ends)


def _is_larger_of(value: Value, a: Value, b: Value) -> bool:
    return value.op is not None and value.op.opdef is ops.maxsi and set(value.op.operands) == {a, b}


def unchecked(subscript: Value) -> Value:
    op = subscript.op
    return op.operands[0] if op is not None and op.opdef is ops.bound else subscript


def together(condition: Value) -> set[Value]:
    """The conditions that all hold if a condition holds."""
    if condition.op is not None and condition.op.opdef is ops.andi:
        return set().union(*map(together, condition.op.operands))
    return {condition}


def is_inside(value: Value, counter: Value) -> bool:
    """Whether a value is defined in the loop of a counter."""
    block = value.block
    while block is not None and block is not counter.owner:
        around = block.parent_op
        block = around.parent if around is not None else None
    return block is not None
