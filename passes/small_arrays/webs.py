"""Memrefs that hand on one another's memory: an allocation, what loops carry and branches choose of it, and so on.

A *web* is a set of memrefs that are connected in this way. Either all of them become scalars, or none does. There are
two kinds of uses: *flows*, by which one memref of the web becomes another, and all others, which read or write
elements.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import field

from adc.ir import ops
from adc.ir.core import Block, Func, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import FloatType, IntType, MemRefType
from adc.passes.analysis.extents import Extents
from adc.passes.analysis.kinds import ELEMENT, VIEWS
from adc.passes.small_arrays.numbers import Numbers
from adc.passes.small_arrays.views import Shape, Use, with_views


@dataclass
class Web:
    """``members`` in program order; ``flows`` and ``others`` are their uses, with those of their views among the
    latter; ``shape``: that of all members, once it is found."""

    members: list[Value] = field(default_factory=list)
    flows: list[Use] = field(default_factory=list)
    others: list[Use] = field(default_factory=list)
    shape: Shape = ()

    @property
    def allocations(self) -> list[Op]:
        return [v.op for v in self.members if v.op is not None and v.op.opdef is ops.alloc]


JOINS = frozenset({ops.for_, ops.while_, ops.if_, ops.select})


def is_of_numbers(value: Value) -> bool:
    t = value.type
    return isinstance(t, MemRefType) and isinstance(t.element, FloatType | IntType)


def is_known(memref: Value) -> bool:
    """Whether it is new memory, undefined, or a value of a loop or branch."""
    op = memref.op
    if op is None:
        return isinstance(memref.owner, Block) and memref.owner.parent_op is not None
    return op.opdef in _MADE


_MADE = frozenset({ops.alloc, ops.undef, ops.for_, ops.while_, ops.if_, ops.select})


def is_known_use(op: Op, position: int) -> bool:
    if op.opdef in ELEMENT:
        return ELEMENT[op.opdef] == position
    if op.opdef is ops.fill:
        return position == 1
    view = op.operands[position].op
    if op.opdef is ops.return_:
        return view is None or view.opdef not in VIEWS
    return op.opdef in (ops.dim, ops.copy) or (op.opdef in VIEWS and position == 0)


def find_webs(func: Func) -> list[Web]:
    """The webs of memrefs of numbers, in program order."""
    leader: dict[Value, Value] = {}

    def find(v: Value) -> Value:
        root = v
        while (up := leader.setdefault(root, root)) is not root:
            root = up
        while leader[v] is not root:
            leader[v], v = root, leader[v]
        return root

    order: dict[Value, None] = {v: None for v in func.args if is_of_numbers(v)}
    for op in func.walk():
        for block in op.regions:
            order.update((v, None) for v in block.args if is_of_numbers(v))
        order.update((v, None) for v in op.results if is_of_numbers(v))
        for group in _joined(op):
            first, *rest = group
            for v in rest:
                leader[find(v)] = find(first)
    webs: dict[Value, Web] = {}
    for v in order:
        web = webs.setdefault(find(v), Web())
        web.members.append(v)
        for use in with_views(list(v.uses)):
            (web.flows if hands_on(*use) and use in v.uses else web.others).append(use)
    return list(webs.values())


def _joined(op: Op) -> Iterator[tuple[Value, ...]]:
    """Groups of memrefs in which ``op`` makes some from the others."""
    kind = op.opdef
    if kind not in JOINS:
        return
    groups: list[tuple[Value, ...]]
    if kind is ops.for_:
        (body,) = op.regions
        groups = list(zip(op.operands[3:], body.args[1:], body.terminator.operands, op.results, strict=True))
    elif kind is ops.while_:
        before, after = op.regions
        groups = list(zip(op.operands, before.args, after.terminator.operands, strict=True))
        groups += list(zip(before.terminator.operands[1:], after.args, op.results, strict=True))
    elif kind is ops.if_:
        groups = list(zip(*(region.terminator.operands for region in op.regions), op.results, strict=True))
    else:
        groups = [(*op.operands[1:], op.result)]
    yield from (group for group in groups if is_of_numbers(group[0]))


def hands_on(op: Op, position: int) -> bool:
    kind = op.opdef
    return kind in JOINS or kind is ops.yield_ or kind is ops.condition


def find_shapes(webs: list[Web], most: int) -> dict[Value, Shape]:
    """The shapes of the members of webs that have one shape throughout, known and of at most ``most`` elements.

    A loop that carries arrays makes new ones like the old: these extents are not examined if others are known.
    """
    extents = Extents()
    shapes: dict[Value, Shape] = {}
    left = [web for web in webs if web.allocations]
    changed = True
    while changed and left:
        changed = False
        for web in list(left):
            shape = _common(web, extents, shapes)
            if shape is None:
                continue
            left.remove(web)
            if shape and 0 < math.prod(shape) <= most:
                web.shape = shape
                shapes.update((v, shape) for v in web.members)
                changed = True
    return shapes


def _common(web: Web, extents: Extents, shapes: dict[Value, Shape]) -> Shape | None:
    """The shape of all members, () if they have none in common; None if that depends on something not known yet.

    It is the shape of the arrays whose extents are numbers, if all others have it as long as those before them do.
    """
    found: list[int | None] = [None] * len(extents.shape(web.members[0]))
    known = Numbers(shapes)
    for alloc in web.allocations:
        for d, extent in enumerate(extents.shape(alloc.result)):
            number = extent if isinstance(extent, int) else known.of(_extent_operand(alloc, d))
            if number is not None:
                if found[d] not in (None, number):
                    return ()
                found[d] = number
    shape = tuple(e for e in found if e is not None)
    if len(shape) != len(found):
        return None
    numbers = Numbers(ChainMap(dict.fromkeys(web.members, shape), shapes))
    for alloc in web.allocations:
        for d, extent in enumerate(extents.shape(alloc.result)):
            number = extent if isinstance(extent, int) else numbers.of(_extent_operand(alloc, d))
            if number != shape[d]:
                return None if number is None else ()
    return shape


def _extent_operand(alloc: Op, d: int) -> Value:
    """The operand that is the extent of dimension ``d``, which is not static."""
    assert isinstance(alloc.result.type, MemRefType)
    return alloc.operands[sum(e is None for e in alloc.result.type.shape[:d])]
