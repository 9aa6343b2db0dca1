"""Minima and maxima that a loop with other effects finds get a loop of their own, before ``locate_extremes``.

A loop that writes to memory cannot be run again to find where its extreme is, so it would be differentiated as a chain:
in order, with the running extreme kept for each iteration. Loop distribution (Allen and Kennedy, Optimizing Compilers
for Modern Architectures, 2001) takes the reduction out of it: a second parallel loop reads the terms again, from the
array where the first one stores them if nothing overwrites them there; else from one that is made for them.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import iteration_number, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import inside
from adc.ir.types import MemRefType, index
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.differentiation.prepare.extremes import extremes_of, may_be_repeated
from adc.passes.rewrite import keep_carried


def split_extremes(module: Module, func: Func, active: set[Value]) -> None:
    """Give the ``active`` extremes of loops that have other effects parallel loops of their own, whose results take
    their place, in ``active`` too."""
    memory: Memory | None = None

    def visit(block: Block) -> None:
        nonlocal memory
        made = block.in_place_of()
        for op in block.ops:
            found = [k for k in extremes_of(op) if op.results[k] in active] if op.opdef is ops.parallel else []
            if not found or may_be_repeated(op.regions[0]):
                made.append(op)
                continue
            memory = memory or Memory.asked(func, Summaries.asked(module))
            with insert_at(made, op.loc):
                _split(op, found, memory, active, made)
        block.set_ops(made.ops)
        for op in block.ops:
            for region in op.regions:
                visit(region)

    visit(func.body)


def _split(loop: Op, found: list[int], memory: Memory, active: set[Value], made: Block) -> None:
    """Append the loop without the results ``found``, then a loop for each of these."""
    stored = [_stored(loop, k, memory) for k in found]
    sources = [source or _made(loop, k) for k, source in zip(found, stored, strict=True)]
    bounds, attrs, kinds = loop.operands[:3], dict(loop.attrs), loop.regions[0].terminator.attrs["kinds"]
    own: list[Op] = []
    for k, (array, subscripts) in zip(found, sources, strict=True):
        block = Block([index], [loop.regions[0].args[0].hint])
        (counter,) = block.args
        with insert_at(block):
            at = [counter if v is None else v for v in subscripts] or [iteration_number(counter, bounds[0], bounds[2])]
            build(ops.reduce, [ops.load(array, *at)], {"kinds": (kinds[k],)})
        old = loop.results[k]
        own.append(Op(ops.parallel, [*bounds, loop.operands[3 + k]], [old.type], dict(attrs), [block], loop.loc))
        new = own[-1].result
        new.hint = old.hint
        old.replace_uses(new)
        active.discard(old)
        active.add(new)
    kept = [k for k in range(len(loop.results)) if k not in found]
    before = [loop.results[k] for k in kept]
    rest = keep_carried(loop, kept)
    for old, new in zip(before, rest.results, strict=True):
        if old in active:
            active.discard(old)
            active.add(new)
    made.append(rest)
    for op in own:
        made.append(op)


def _stored(loop: Op, k: int, memory: Memory) -> tuple[Value, list[Value | None]] | None:
    """An array of which each iteration sets an element of its own to its term, and nothing else in the loop writes to
    it; and the subscripts, where None stands for the counter."""
    (body,) = loop.regions
    (counter,) = body.args
    term = body.terminator.operands[k]
    for op in body.ops:
        if op.opdef is not ops.store or op.operands[0] is not term:
            continue
        array, *subscripts = op.operands[1:]
        if counter not in subscripts or any(inside(v, loop) for v in (array, *subscripts) if v is not counter):
            continue
        if not any(memory.may_write(other, array) for other in body.ops if other is not op):
            return array, [None if v is counter else v for v in subscripts]
    return None


def _made(loop: Op, k: int) -> tuple[Value, list[Value | None]]:
    """Append a new array, and let the loop store its terms there, by the numbers of the iterations."""
    (body,) = loop.regions
    term = body.terminator.operands[k]
    lower, upper, step = loop.operands[:3]
    array = ops.alloc(trip_count(lower, upper, step), type=MemRefType((None,), term.type))
    end = body.terminator
    body.set_ops(body.ops[:-1])
    with insert_at(body, loop.loc):
        build(ops.store, [term, array, iteration_number(body.args[0], lower, step)])
    body.append(end)
    return array, []
