"""Sums that sequential loops carry, over elements that are distributed: each rank stores the terms of its own elements,
and all ranks add up all terms in the order of the loop, so that the bits are kept.

``terms`` does this for sums of parallel loops.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.diagnostics import CompileTypeError
from adc.ir.nesting import inside
from adc.ir.partitions import NONE
from adc.ir.rewrite import clone_block
from adc.ir.types import MemRefType
from adc.passes.ranks.accesses import Access
from adc.passes.ranks.layouts import Layouts
from adc.passes.ranks.regions import Nest
from adc.passes.rewrite import keep_carried, replace_op, to_sequential


def store_terms(block: Block, layouts: Layouts) -> list[Value]:
    """Let loops that carry sums store the terms, which loops of their own add up. Returns the arrays of terms."""
    terms: list[Value] = []
    new = block.in_place_of()
    for op in block.ops:
        try:
            nest = _nest(op, layouts)
            sums = nest is not None and op.opdef is ops.for_ and bool(op.results) and _is_sum(op, nest)
            goes_in = op.opdef is not ops.parallel and (nest is None or not _is_distributed(nest))
            within = nest is not None and op.opdef is ops.parallel and not op.results and _sums_inside(op, nest)
        except CompileTypeError:  # refused later
            sums, goes_in, within = False, op.opdef is not ops.parallel, False
        if sums:
            with insert_at(new, op.loc):
                terms += _split(op)
            continue
        if within:
            op, goes_in = to_sequential(op), True
        if goes_in:
            for region in op.regions:
                terms += store_terms(region, layouts)
        new.append(op)
    block.set_ops(new.ops)
    return terms


def _nest(op: Op, layouts: Layouts) -> Nest | None:
    """A loop that involves arrays that are distributed, as a nest."""
    return Nest(op, layouts) if op.opdef in (ops.for_, ops.parallel) and layouts.touches(op) else None


def moves(nest: Nest, loop: Op, each: Access) -> bool:
    """Whether the counter of a loop of the nest moves a subscript along an axis that is distributed."""
    if inside(each.array, nest.op) or each.at is None:
        return False
    counter = loop.regions[0].args[0]
    pairs = zip(nest.layouts.of(each.array), each.at, strict=True)
    return any(axis != NONE and any(s.value is counter for s in form.symbols()) for axis, form in pairs)


def _is_distributed(nest: Nest) -> bool:
    """Whether each rank runs its own iterations of a loop, or the loop carries on what it computes from shared
    elements."""
    return any(moves(nest, nest.op, each) for each in (nest.loads if nest.op.results else nest.stores))


def _sums_inside(op: Op, nest: Nest) -> bool:
    """Whether all ranks run all iterations of a loop, and each iteration sums elements that are distributed."""
    if any(nest.layouts.is_shared(store.array) for store in nest.stores):
        return False
    inner = [loop for loop in nest.loops if loop is not op and loop.results]
    return any(moves(nest, loop, load) for loop in inner for load in nest.loads)


def _is_sum(op: Op, nest: Nest) -> bool:
    """Whether a loop only adds something to each number that it carries, and the terms are computed from elements of
    arrays that are distributed, along their axis."""
    (body,) = op.regions
    if nest.writes or constant_of(op.operands[2]) != 1 or not any(moves(nest, op, load) for load in nest.loads):
        return False
    return all(_added(body, k) is not None for k in range(len(op.results)))


def _added(body: Block, k: int) -> Value | None:
    """What a loop adds to a carried number, if the number is not used otherwise."""
    before, after = body.args[1 + k], body.terminator.operands[k].op
    if after is None or after.opdef is not ops.addf or after.parent is not body:
        return None
    if len(before.uses) != 1 or len(after.result.uses) != 1 or before not in after.operands:
        return None
    return next(v for v in after.operands if v is not before)


def _split(op: Op) -> list[Value]:
    """Append a loop that stores terms, and one that adds them up."""
    (body,) = op.regions
    lower, upper = op.operands[:2]
    extent = ops.subi(ops.maxsi(upper, lower), lower)
    terms = [ops.alloc(extent, type=MemRefType((None,), r.type)) for r in op.results]
    adds = [v.op for v in body.terminator.operands]
    added = [_added(body, k) for k in range(len(op.results))]

    mapping: dict[Value, Value] = {}
    each = clone_block(body, mapping)
    end = each.pop()
    end.drop()
    with insert_at(each, op.loc):
        place = ops.subi(each.args[0], lower)
        for value, array in zip(added, terms, strict=True):
            assert value is not None
            build(ops.store, [mapping.get(value, value), array, place])
        build(ops.yield_, each.args[1:])
    for k in range(len(op.results)):
        add = mapping[body.terminator.operands[k]].op
        assert add is not None
        each.set_ops([other for other in each.ops if other is not add])
        add.drop()
    loop = Op(ops.for_, op.operands, [r.type for r in op.results], dict(op.attrs), [each], op.loc)
    current_block().append(keep_carried(loop, []))

    block = Block([a.type for a in body.args])
    with insert_at(block, op.loc):
        place = ops.subi(block.args[0], lower)
        totals = []
        for array, add, so_far in zip(terms, adds, block.args[1:], strict=True):
            assert add is not None
            totals.append(build(ops.addf, [so_far, ops.load(array, place)], dict(add.attrs)).result)
        build(ops.yield_, totals)
    types = [r.type for r in op.results]
    replace_op(op, build(ops.for_, op.operands, dict(op.attrs), types, [block]).results)
    return terms
