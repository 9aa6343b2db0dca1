"""Loops that would be parallel, did they not sum: the terms are computed in any order, and summed in Python's.

``for i in range(n): total += f(x[i])`` becomes, for blocks of iterations, a loop that stores the terms in a small
buffer, which can be parallel and SIMD, and one that adds them to the total one after the other. The sum has the same
bits as Python's. That pays where a term takes longer than an addition.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 2.4.2 (loop
distribution) and 5.3 (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import MemRefType, index
from adc.passes.costs import cost_of_block
from adc.passes.effects import Summaries
from adc.passes.parallel.cold import warm_regions
from adc.passes.parallel.dependence import Analysis
from adc.passes.parallel.parallelise import integer_reduction
from adc.passes.rewrite import keep_args, put_instead

BLOCK = 4096
"""Terms in the buffer: some kilobytes in the frame; enough iterations for threads if they have much to do."""

MOST_BUFFERS = 8

LEAST_COST = 24.0
"""Of an iteration, in the units of ``costs``."""

_SUMS = frozenset({ops.addf, ops.addi})
_ADDITIONS = _SUMS | {ops.subf, ops.subi}


@dataclass(frozen=True)
class DistributeSums:
    """Split loops of which nothing but sums of floats must be done in order."""

    name: ClassVar[str] = "distribute-sums"

    def run(self, module: Module) -> Module:
        summaries = Summaries(module)
        for func in module.funcs.values():
            if any(op.opdef is ops.for_ and _sums(op) and _pays(op, module) for op in func.walk()):
                _Distribution(Analysis(func, module, summaries), module).block(func.body)
        return module


@dataclass(frozen=True, eq=False)
class _Link:
    """One of the additions of an iteration: ``opdef(so far, term)``. Of a branch, whose result at ``position`` is the
    sum, only the side ``taken`` adds."""

    op: Op
    opdef: OpDef
    term: Value
    taken: int | None = None
    position: int = 0


@dataclass(frozen=True, eq=False)
class _Sum:
    """What a loop carries at ``position``; the additions of an iteration, the first one first."""

    position: int
    links: Sequence[_Link]


def _sums(loop: Op) -> list[_Sum]:
    """The sums of a loop that carries nothing else, but for reductions of integers."""
    (body,) = loop.regions
    found = []
    for k, arg in enumerate(body.args[1:]):
        if isinstance(arg.type, MemRefType):
            return []
        if not integer_reduction(loop, k):
            links = _links(body, arg, body.terminator.operands[k])
            if not links:
                return []
            found.append(_Sum(k, links))
    return found if sum(len(s.links) for s in found) <= MOST_BUFFERS else []


def _links(body: Block, arg: Value, value: Value) -> list[_Link]:
    links: list[_Link] = []
    while value is not arg:
        op = value.op
        if op is None or op.parent is not body or len(value.uses) != 1:
            return []
        link, before = _branch(op, value.index) if op.opdef is ops.if_ else _addition(op, arg)
        if link is None or before is None or len(before.uses) != (1 if link.taken is None else 2):
            return []
        links.append(link)
        value = before
    return links[::-1]


def _adds(op: Op) -> bool:
    return op.opdef in _ADDITIONS and op.attrs.get("fastmath", "none") == "none"


def _addition(op: Op, arg: Value) -> tuple[_Link | None, Value | None]:
    """An addition to what the iteration has so far, and that."""
    if not _adds(op):
        return None, None
    a, b = op.operands
    if _leads_to(a, arg):
        return _Link(op, op.opdef, b), a
    if op.opdef in _SUMS and _leads_to(b, arg):
        return _Link(op, op.opdef, a), b
    return None, None


def _leads_to(value: Value, arg: Value) -> bool:
    """Whether a value may be made of ``arg`` by additions alone; if there are several ways it is not."""
    while value is not arg:
        op = value.op
        if op is None or op.parent is not arg.owner:
            return False
        if op.opdef is ops.if_:
            return _leads_to_branch(op, value.index, arg)
        if not _adds(op):
            return False
        a, b = op.operands
        value = b if op.opdef in _SUMS and not _leads_to(a, arg) else a
    return True


def _leads_to_branch(op: Op, position: int, arg: Value) -> bool:
    link, before = _branch(op, position)
    return link is not None and before is not None and _leads_to(before, arg)


def _branch(op: Op, position: int) -> tuple[_Link | None, Value | None]:
    """A branch that adds on one of its sides, and what it adds to."""
    for taken in (0, 1):
        added, before = (op.regions[k].terminator.operands[position] for k in (taken, 1 - taken))
        inner = added.op
        if inner is None or inner.parent is not op.regions[taken] or not _adds(inner) or len(added.uses) != 1:
            continue
        a, b = inner.operands
        if a is before:
            return _Link(op, inner.opdef, b, taken, position), before
        if b is before and inner.opdef in _SUMS:
            return _Link(op, inner.opdef, a, taken, position), before
    return None, None


def _pays(loop: Op, module: Module) -> bool:
    lower, upper, step = (constant_of(v) for v in loop.operands[:3])
    if lower is not None and upper is not None and step is not None and (upper - lower) < 64 * step:
        return False
    return cost_of_block(loop.regions[0], module) >= LEAST_COST


class _Distribution:
    def __init__(self, analysis: Analysis, module: Module) -> None:
        self.analysis = analysis
        self.module = module

    def block(self, block: Block) -> None:
        """Change the outermost loops that can be, outside of parallel ones."""
        new = block.in_place_of()
        for op in block.ops:
            if op.opdef is ops.for_ and (sums := _sums(op)) and _pays(op, self.module) and self._is_free(op):
                with insert_at(new, op.loc):
                    _distribute(op, sums)
                continue
            new.append(op)
            if op.opdef is not ops.parallel:
                for region in warm_regions(op):
                    with self.analysis.inside(region):
                        self.block(region)
        block.set_ops(new.ops)

    def _is_free(self, loop: Op) -> bool:
        """Whether iterations may run in any order otherwise."""
        accesses = self.analysis.accesses(loop)
        return not accesses.obstacles and not any(self.analysis.conflicts(loop, accesses.found))


def _distribute(loop: Op, sums: Sequence[_Sum]) -> None:
    """Append what does the same as ``loop``, which is dropped."""
    starts = loop.operands[3:]
    trips = trip_count(*loop.operands[:3])
    buffers = {link: ops.alloc(type=MemRefType((BLOCK,), link.term.type)) for s in sums for link in s.links}
    outer = Block([index, *(v.type for v in starts)], ["block", *(a.hint for a in loop.regions[0].args[1:])])
    results = list(loop.results)
    with insert_at(outer):
        first = ops.muli(outer.args[0], const_index(BLOCK))
        count = ops.minsi(ops.subi(trips, first), const_index(BLOCK))
        carried = {total.position for total in sums}
        others = [k for k in range(len(starts)) if k not in carried]
        terms = _terms(loop, sums, buffers, first, count, [outer.args[1 + k] for k in others])
        totals = _totals(sums, buffers, count, [outer.args[1 + s.position] for s in sums])
        ends = dict(zip([*others, *(s.position for s in sums)], [*terms.results, *totals.results], strict=True))
        build(ops.yield_, [ends[k] for k in range(len(starts))])
    blocks = ops.ceildivsi(trips, const_index(BLOCK))
    limits = [const_index(0), blocks, const_index(1)]
    made = build(ops.for_, [*limits, *starts], None, [v.type for v in starts], [outer])
    for old, result in zip(results, made.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    loop.drop()


def _terms(
    loop: Op, sums: Sequence[_Sum], buffers: dict[_Link, Value], first: Value, count: Value, others: Sequence[Value]
) -> Op:
    """Append the loop over a block of iterations, which stores terms and carries integers alone."""
    (body,) = loop.regions
    lower, _, step = loop.operands[:3]
    end = body.ops.pop()
    carried = {total.position for total in sums}
    yielded = [v for k, v in enumerate(end.operands) if k not in carried]
    end.drop()
    terms = {link: _taken_out(link) for s in sums for link in reversed(s.links)}
    head = Block()
    with insert_at(head, loop.loc):
        number = ops.addi(body.args[0], first)
        if constant_of(step) != 1:
            number = ops.muli(number, step)
        if constant_of(lower) != 0:
            number = ops.addi(lower, number)
    inside = set(head.ops)
    for op, position in list(body.args[0].uses):
        if op not in inside:
            op.set_operand(position, number)
    body.set_ops([*head.ops, *body.ops])
    with insert_at(body, loop.loc):
        for link, term in terms.items():
            build(ops.store, [term, buffers[link], body.args[0]])
        build(ops.yield_, yielded)
    keep_args(body, [0, *(1 + k for k in range(len(body.args) - 1) if k not in carried)])
    loop.regions = ()
    limits = [const_index(0), count, const_index(1)]
    return build(ops.for_, [*limits, *others], dict(loop.attrs), [v.type for v in others], [body])


def _taken_out(link: _Link) -> Value:
    """The term, after the addition has gone from the body."""
    if link.taken is None:
        _remove(link.op)
        return link.term
    for side, region in enumerate(link.op.regions):
        end = region.terminator
        added = end.operands[link.position].op
        with insert_at(Block(), link.op.loc) as made:
            if side != link.taken:
                term = const(-0.0, link.term.type)  # adding it changes nothing
            elif link.opdef in _SUMS:
                term = link.term
            else:
                term = ops.negf(link.term) if link.term.type.is_float else ops.subi(const(0, link.term.type), link.term)
        region.set_ops([*region.ops[:-1], *made.ops, end])
        end.set_operand(link.position, term)
        if side == link.taken and added is not None:
            _remove(added)
    return link.op.results[link.position]


def _remove(op: Op) -> None:
    put_instead(op, [])
    op.drop()


def _totals(sums: Sequence[_Sum], buffers: dict[_Link, Value], count: Value, starts: Sequence[Value]) -> Op:
    """Append the loop that adds the terms of a block, in order."""
    block = Block([index, *(v.type for v in starts)], ["term"])
    with insert_at(block):
        totals = []
        for total, value in zip(sums, block.args[1:], strict=True):
            for link in total.links:
                opdef = link.opdef if link.taken is None else ops.addf if value.type.is_float else ops.addi
                value = opdef(value, ops.load(buffers[link], block.args[0]))
            totals.append(value)
        build(ops.yield_, totals)
    limits = [const_index(0), count, const_index(1)]
    return build(ops.for_, [*limits, *starts], None, [v.type for v in starts], [block])
