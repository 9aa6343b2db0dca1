"""Rewriting code before loops are cut for ranks: operations on whole arrays as loops, sums as terms and their sum."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, fusible
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.diagnostics import CompileTypeError
from adc.ir.rewrite import clone_block, erase_if
from adc.ir.types import MemRefType
from adc.passes.analysis.kinds import ELEMENT_WRITES
from adc.passes.building import copy, parallel_loop
from adc.passes.ranks.layouts import Layouts, underneath
from adc.passes.ranks.regions import Nest
from adc.passes.rewrite import replace_op


def write_loops(block: Block, layouts: Layouts, *, within: bool = False) -> None:
    """Write loops in place of fills and copies of arrays that are distributed, and, in parallel loops (``within``), of
    others, on which elements of these may depend."""
    new = block.in_place_of()
    for op in block.ops:
        if op.opdef not in (ops.copy, ops.fill) or not (within or _is_known_shared(op, layouts)):
            for region in op.regions:
                write_loops(region, layouts, within=within or op.opdef is ops.parallel)
            new.append(op)
            continue
        with insert_at(new, op.loc):
            if op.opdef is ops.copy:
                copy(op.operands[0], op.operands[1])
            else:
                _filled(op.operands[0], op.operands[1])
        op.drop()
    block.set_ops(new.ops)


def split_sums(block: Block, layouts: Layouts) -> list[Value]:
    """Let loops that sum store the terms, which loops of their own add up. Returns the arrays of terms."""
    terms: list[Value] = []
    new = block.in_place_of()
    for op in block.ops:
        if op.opdef is ops.parallel and op.results:
            with insert_at(new, op.loc):
                if _split_sum(op, layouts, terms):
                    continue
        if op.opdef is not ops.parallel:
            for region in op.regions:
                terms += split_sums(region, layouts)
        new.append(op)
    block.set_ops(new.ops)
    return terms


def _split_sum(op: Op, layouts: Layouts, made: list[Value]) -> bool:
    """Append the two loops. Returns whether that was done."""
    try:
        if not layouts.touches(op):
            return False
        nest = Nest(op, layouts)
    except CompileTypeError:  # refused later
        return False
    (body,) = op.regions
    reduced = body.terminator
    lower, upper, step = op.operands[:3]
    order = {inner: k for k, inner in enumerate(body.walk())}
    meeting = [
        order[store.op] < order[load.op]
        for load in nest.behind_results()
        for store in nest.stores
        if layouts.may_be_one(store.array, load.array)
    ]
    late = any(meeting)
    apart = bool(meeting) and not late
    fused = any(v.op is not None and fusible(v.op, v) for v in reduced.operands)
    if fused or constant_of(step) != 1:
        # Since a term's last operation is rounded together with the sum, all ranks do both.
        if nest.stores and not late:
            _sum_apart(op)
        return bool(nest.stores) and not late
    extent = ops.subi(ops.maxsi(upper, lower), lower)
    terms = [ops.alloc(extent, type=MemRefType((None,), v.type)) for v in reduced.operands]
    made += terms
    mapping: dict[Value, Value] = {}
    each = clone_block(body, mapping)
    _end(each)
    values = [mapping.get(v, v) for v in reduced.operands]
    with insert_at(each, op.loc):
        last = each.pop()
        if apart:
            _drop_stores(each)
        place = ops.subi(each.args[0], lower)
        for value, array in zip(values, terms, strict=True):
            build(ops.store, [value, array, place])
        each.append(last)
    build(ops.parallel, [lower, upper, step], dict(op.attrs), [], [each])
    if apart:
        _without_sums(op)
    block = Block([body.args[0].type])
    with insert_at(block):
        place = ops.subi(block.args[0], lower)
        build(ops.reduce, [ops.load(array, place) for array in terms], dict(reduced.attrs))
    types = [r.type for r in op.results]
    replace_op(op, build(ops.parallel, op.operands, dict(op.attrs), types, [block]).results)
    return True


def _without_sums(op: Op) -> None:
    """Append a copy of a loop, without its sums."""
    rest = clone_block(op.regions[0], {})
    _end(rest)
    build(ops.parallel, op.operands[:3], dict(op.attrs), [], [rest])


def _sum_apart(op: Op) -> None:
    """Append a loop that only sums, and one that does the rest."""
    sums = clone_block(op.regions[0], {})
    _drop_stores(sums)
    types = [r.type for r in op.results]
    summed = build(ops.parallel, op.operands, dict(op.attrs), types, [sums])
    _without_sums(op)
    replace_op(op, summed.results)


def _is_known_shared(op: Op, layouts: Layouts) -> bool:
    try:
        return any(layouts.shares(v) for v in op.operands)
    except CompileTypeError:  # refused later
        return False


def _filled(value: Value, array: Value) -> None:
    t = array.type
    assert isinstance(t, MemRefType)

    def level(at: tuple[Value, ...]) -> None:
        if len(at) == t.rank:
            build(ops.store, [value, array, *at])
            return
        attrs = {} if at else {"threads": True}
        parallel_loop(const_index(0), ops.dim(array, dim=len(at)), lambda x: level((*at, x)), **attrs)

    level(())


def _end(block: Block) -> None:
    """Let a loop body reduce nothing."""
    block.pop().drop()
    with insert_at(block):
        build(ops.reduce, [], {"kinds": ()})


def _drop_stores(block: Block) -> None:
    """Remove the stores of a loop body, except those to memory of its own."""
    own = {result for op in block.walk() for result in op.results}
    own |= {arg for op in block.walk() for region in op.regions for arg in region.args}
    erase_if(block, lambda op: op.opdef in ELEMENT_WRITES and underneath(op.operands[1])[0] not in own)
