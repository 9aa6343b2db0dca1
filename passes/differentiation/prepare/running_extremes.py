"""Running minima and maxima that share derivatives: ``least = np.minimum(least, f(k))`` for each of many candidates.

Where two operands of ``np.minimum`` are equal, each has half of the derivative. So a loop of them has, for its result,
the derivative of the candidate that gave it, unless others are equal. The loop notes which iteration was the last to
go beyond all before it, and whether a later one was equal. If none was, which is usual, the candidate is computed again
after the loop, as for loops that choose (``choices``), and only the two notes are kept. If one was, the derivatives
follow from the result alone: the candidates equal to it have shares, the first one 1, then each one halves the shares
of those before it and takes one half:

    v = v_start
    for k in range(n):
        if f(k) == least:
            v = f(k) if k == last else 0.5 * v + 0.5 * f(k)

A chain of minima would need the running one in each iteration. Results that are no numbers have no derivatives. The
candidates have to have the same bits when they are computed again (``has_same_bits``).
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import IntType, MemRefType, index
from adc.passes.analysis.cold import COLD
from adc.passes.differentiation.prepare.candidates import again

_BEYOND = {ops.minimumf: "olt", ops.maximumf: "ogt"}


@dataclass(frozen=True)
class Running:
    """The position of a carried value that is the extreme of itself and ``term``, and what is beyond it."""

    position: int
    term: Value
    beyond: str


def running_extreme(loop: Op) -> Running | None:
    """The extreme that a loop carries, if it carries no other float."""
    (body,) = loop.regions
    carried = body.args[1:]
    floats = [k for k, arg in enumerate(carried) if arg.type.is_float]
    if len(floats) != 1 or any(isinstance(arg.type, MemRefType) for arg in carried):
        return None
    (k,) = floats
    op = body.terminator.operands[k].op
    if op is None or op.parent is not body or op.opdef not in _BEYOND or op.operands.count(carried[k]) != 1:
        return None
    term = next(v for v in op.operands if v is not carried[k])
    return Running(k, term, _BEYOND[op.opdef])


def link_extreme(loop: Op, running: Running, needed: set[Op], after: Block) -> None:
    """Give the extreme the derivative of its candidate, which ``needed`` compute. ``after`` ends with ``loop``."""
    (body,) = loop.regions
    lower, _, step = loop.operands[:3]
    result, start = loop.results[running.position], loop.operands[3 + running.position]
    before = Block()
    with insert_at(before, loop.loc):
        none = ops.subi(lower, step)
        no = const(False, IntType(1))
    after.set_ops([*after.ops[:-1], *before.ops, loop])
    last, tied = _notes(loop, running, none, no)
    users = list(result.uses)
    with insert_at(after, loop.loc):
        several, one = Block(), Block()
        with insert_at(several):
            build(ops.yield_, [_shared(loop, running, needed, last)])
        with insert_at(one):
            there, nowhere = Block(), Block()
            with insert_at(there):
                build(ops.yield_, [again(body, needed, last)[running.term]])
            with insert_at(nowhere):
                build(ops.yield_, [start])
            found = ops.cmpi(last, none, predicate="ne")
            build(ops.yield_, [build(ops.if_, [found], None, [result.type], [there, nowhere]).result])
        derivative = build(ops.if_, [tied], {COLD: "then"}, [result.type], [several, one]).result
        linked = ops.twin(result, derivative)
        linked.hint = result.hint
    for user, position in users:
        user.set_operand(position, linked)


def _notes(loop: Op, running: Running, none: Value, no: Value) -> tuple[Value, Value]:
    """Two more results: the counter of the last iteration that went beyond all before it, or ``none``; whether a later
    term, or the start value, is equal to it, or something is no number."""
    (body,) = loop.regions
    counter, so_far = body.args[0], body.args[1 + running.position]
    last, tied = body.add_arg(index, "last"), body.add_arg(no.type, "tied")
    end = body.pop()
    with insert_at(body, loop.loc):
        beyond = ops.cmpf(running.term, so_far, predicate=running.beyond)
        level = ops.ori(*(ops.cmpf(running.term, so_far, predicate=how) for how in ("oeq", "uno")))
        new = ops.select(beyond, counter, last), ops.select(beyond, no, ops.ori(tied, level))
    body.append(end)
    for value in new:
        end.add_operand(value)
    loop.add_operand(none)
    loop.add_operand(no)
    return loop.add_result(index, "last"), loop.add_result(no.type, "tied")


def _shared(loop: Op, running: Running, needed: set[Op], last: Value) -> Value:
    """Append a loop whose result has the shares of all candidates that are equal to the extreme."""
    (body,) = loop.regions
    extreme, start = loop.results[running.position], loop.operands[3 + running.position]
    block = Block([index, extreme.type], [body.args[0].hint, "shared"])
    counter, shared = block.args
    with insert_at(block):
        term = again(body, needed, counter)[running.term]
        half = const(0.5, extreme.type)
        both = ops.addf(ops.mulf(half, shared), ops.mulf(half, term))
        new = ops.select(ops.cmpi(counter, last, predicate="eq"), term, both)
        build(ops.yield_, [ops.select(ops.cmpf(term, extreme, predicate="oeq"), new, shared)])
    found = build(ops.for_, [*loop.operands[:3], start], {}, [extreme.type], [block]).result
    is_number = ops.cmpf(extreme, extreme, predicate="ord")
    return ops.select(is_number, found, ops.stop_gradient(extreme))
