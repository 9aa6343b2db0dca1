"""Loops that choose: ``if square < best: best = square`` for each of many candidates.

What such a loop returns is what its last choice computed, and that is all that its derivative needs. So before a
function is differentiated, the loop also carries the counter of the last choice, and after it the chosen candidate is
computed once more, as the second half of an ``adc.twin``: the loop gives the value, the candidate its derivative. The
reverse sweep then goes back through one iteration, and only a counter is kept; otherwise it would go through all
iterations and need the condition of each. This is known as the envelope theorem. Minima that share derivatives are
treated likewise: see ``running_extremes``.

A loop qualifies if all floats that it carries are chosen by one condition, candidates do not depend on what was chosen
before, and it writes to nothing.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, index
from adc.passes.analysis.kinds import COUNTED, PURE, TERMINATORS
from adc.passes.differentiation.prepare.candidates import again, needed_ops
from adc.passes.differentiation.prepare.extremes import has_same_bits
from adc.passes.differentiation.prepare.running_extremes import link_extreme, running_extreme

_ALLOWED = PURE | TERMINATORS | COUNTED | {ops.load, ops.bound, ops.if_}


@dataclass(frozen=True)
class _Choice:
    """``new`` if ``condition`` is true (false, if not ``when``), else the value so far."""

    condition: Value
    when: bool
    new: Value


def link_choices(func: Func) -> None:
    """Give the results of loops that choose the derivatives of what they chose."""
    _block(func.body)


def _block(block: Block) -> None:
    new = block.in_place_of()
    for op in block.ops:
        for region in op.regions:
            _block(region)
        new.append(op)
        if op.opdef is not ops.for_:
            continue
        found = _choices(op)
        extreme = None if found else running_extreme(op)
        candidates = [choice.new for choice in found.values()] if extreme is None else [extreme.term]
        if not candidates or any(inner.opdef not in _ALLOWED for inner in op.regions[0].walk()):
            continue
        needed = needed_ops(op.regions[0], candidates)
        if needed and extreme is None:
            _link(op, found, needed, new)
        elif needed and extreme is not None and has_same_bits(op.regions[0]):
            link_extreme(op, extreme, needed, new)
    block.set_ops(new.ops)


def _choices(loop: Op) -> dict[int, _Choice]:
    """The choices, by positions of the carried values; none if the loop is of another kind."""
    (body,) = loop.regions
    carried = body.args[1:]
    if not any(arg.type.is_float for arg in carried) or any(isinstance(arg.type, MemRefType) for arg in carried):
        return {}
    found: dict[int, _Choice] = {}
    for k, (arg, value) in enumerate(zip(carried, body.terminator.operands, strict=True)):
        if arg.type.is_float:
            choice = _choice(body, arg, value)
            if choice is None:
                return {}
            found[k] = choice
    return found if len({(choice.condition, choice.when) for choice in found.values()}) == 1 else {}


def _choice(body: Block, arg: Value, value: Value) -> _Choice | None:
    op = value.op
    if op is None or op.parent is not body:
        return None
    if op.opdef is ops.select:
        yes, no = op.operands[1:]
    elif op.opdef is ops.if_:
        yes, no = (region.terminator.operands[value.index] for region in op.regions)
    else:
        return None
    if (yes is arg) == (no is arg):
        return None
    return _Choice(op.operands[0], no is arg, yes if no is arg else no)


def _link(loop: Op, choices: dict[int, _Choice], needed: set[Op], after: Block) -> None:
    """Give the results the derivatives of the candidates, which ``needed`` compute. ``after`` ends with ``loop``."""
    (body,) = loop.regions
    one = next(iter(choices.values()))
    lower, _, step = loop.operands[:3]
    starts = loop.operands[3:]
    before = Block()
    with insert_at(before, loop.loc):
        none = ops.subi(lower, step)
    after.set_ops([*after.ops[:-1], *before.ops, loop])
    last = _carry_last(loop, one, none)
    with insert_at(after, loop.loc):
        then, otherwise = Block(), Block()
        with insert_at(then):
            mapping = again(body, needed, last)
            build(ops.yield_, [mapping.get(choice.new, choice.new) for choice in choices.values()])
        with insert_at(otherwise):
            build(ops.yield_, [starts[k] for k in choices])
        chosen = ops.cmpi(last, none, predicate="ne")
        types = [loop.results[k].type for k in choices]
        branch = build(ops.if_, [chosen], None, types, [then, otherwise])
        for k, candidate in zip(choices, branch.results, strict=True):
            result = loop.results[k]
            users = list(result.uses)
            linked = ops.twin(result, candidate)
            linked.hint = result.hint
            for user, position in users:
                user.set_operand(position, linked)


def _carry_last(loop: Op, choice: _Choice, none: Value) -> Value:
    """The counter of the last iteration that chose, or ``none``, as a new result."""
    (body,) = loop.regions
    counter, so_far = body.args[0], body.add_arg(index, "last")
    sides = (counter, so_far) if choice.when else (so_far, counter)
    end = body.pop()
    with insert_at(body, loop.loc):
        last = ops.select(choice.condition, *sides)
    body.append(end)
    end.add_operand(last)
    loop.add_operand(none)
    return loop.add_result(index, "last")
