"""Sums that loops carry: what is added in each iteration, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import insert_at
from adc.ir.core import Attr, Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.opdef import OpDef
from adc.ir.types import MemRefType
from adc.passes.rewrite import put_instead
from adc.passes.threads.parallelise import integer_reduction

MOST_BUFFERS = 8

_SUMS = frozenset(ops.COMBINE["add"])
_ADDITIONS = _SUMS | {ops.subf, ops.subi}


@dataclass(frozen=True, eq=False)
class Link:
    """One of the additions of an iteration: ``opdef(so far, term)``. For a branch, whose result at ``position`` is the
    sum, only the side ``taken`` adds."""

    op: Op
    opdef: OpDef
    term: Value
    taken: int | None = None
    position: int = 0
    attrs: dict[str, Attr] = field(default_factory=dict)  # of the addition

    def added(self, so_far: Value, term: Value) -> Value:
        """Append the addition of ``term``, as ``taken_out`` gives it."""
        opdef = self.opdef if self.taken is None else ops.addf if so_far.type.is_float else ops.addi
        total: Value = opdef(so_far, term, **self.attrs)
        return total


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum that a loop carries at ``position``; the additions of an iteration, the first one first."""

    position: int
    links: Sequence[Link]


def sums_of(loop: Op) -> list[Sum]:
    """The sums of a loop that carries nothing else, except reductions of integers."""
    (body,) = loop.regions
    found = []
    for k, arg in enumerate(body.args[1:]):
        if isinstance(arg.type, MemRefType):
            return []
        if not integer_reduction(loop, k):
            links = _links(body, arg, body.terminator.operands[k])
            if not links:
                return []
            found.append(Sum(k, links))
    return found if sum(len(s.links) for s in found) <= MOST_BUFFERS else []


def is_sum(loop: Op, position: int) -> bool:
    """Whether the value that a loop carries at ``position`` is a sum."""
    (body,) = loop.regions
    return bool(_links(body, body.args[1 + position], body.terminator.operands[position]))


def _links(body: Block, arg: Value, value: Value) -> list[Link]:
    links: list[Link] = []
    made = _made_of(body, arg)
    if len(value.uses) != 1:
        return []
    while value is not arg:
        op = value.op
        if op is None or op.parent is not body:
            return []
        link, before = _branch(op, value.index) if op.opdef is ops.if_ else _addition(op, made)
        if link is None or before is None or len(before.uses) != (1 if link.taken is None else 2):
            return []
        links.append(link)
        value = before
    return links[::-1]


def _adds(op: Op) -> bool:
    return op.opdef in _ADDITIONS and op.attrs.get("fastmath", "none") != ops.OWNED


def _addition(op: Op, made: set[Value]) -> tuple[Link | None, Value | None]:
    """An addition to the sum so far, and the sum before it."""
    if not _adds(op):
        return None, None
    a, b = op.operands
    if a in made:
        return Link(op, op.opdef, b, attrs=dict(op.attrs)), a
    if op.opdef in _SUMS and b in made:
        return Link(op, op.opdef, a, attrs=dict(op.attrs)), b
    return None, None


def _made_of(body: Block, arg: Value) -> set[Value]:
    """The values that are made from ``arg`` only by additions."""
    found = {arg}
    for op in body.ops:
        if op.opdef is ops.if_:
            for result in op.results:
                before = _branch(op, result.index)[1]
                if before in found:
                    found.add(result)
        elif _adds(op) and (op.operands[0] in found or (op.opdef in _SUMS and op.operands[1] in found)):
            found.add(op.result)
    return found


def _branch(op: Op, position: int) -> tuple[Link | None, Value | None]:
    """A branch that adds on one of its sides, and the value that it adds to."""
    for taken in (0, 1):
        added, before = (op.regions[k].terminator.operands[position] for k in (taken, 1 - taken))
        inner = added.op
        if inner is None or inner.parent is not op.regions[taken] or not _adds(inner) or len(added.uses) != 1:
            continue
        a, b = inner.operands
        if a is before:
            return Link(op, inner.opdef, b, taken, position, dict(inner.attrs)), before
        if b is before and inner.opdef in _SUMS:
            return Link(op, inner.opdef, a, taken, position, dict(inner.attrs)), before
    return None, None


def taken_out(link: Link) -> Value:
    """Remove the addition from the body, and return its term."""
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
