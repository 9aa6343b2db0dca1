"""May each memref of a web have memory of its own? Where one is made from another, it is then a copy.

Two ways of writing programs allow that. Either elements are written only before an array is handed on, by the code that
made it: ``u = u + h * f(u)``. Then what is shared never changes. Or each array is handed on once, and nobody looks at
it again under the old name: buffers that are swapped. Then nothing is shared.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.moments import strip_views
from adc.ir.nesting import place_in
from adc.passes.analysis.kinds import LOOPS, TARGET
from adc.passes.small_arrays.views import Use, with_views
from adc.passes.small_arrays.webs import Web


def may_be_copies(web: Web) -> bool:
    if not web.flows:
        return True
    places = _Places()
    return _written_before_handed_on(web, places) or _handed_on_once(web, places)


class _Places:
    """The order of operations in blocks."""

    def __init__(self) -> None:
        self._order: dict[Block, dict[Op, int]] = {}

    def at(self, block: Block, op: Op) -> int:
        """The position in ``block`` of ``op``, or of the operation that contains it."""
        order = self._order.get(block)
        if order is None:
            order = self._order[block] = {o: k for k, o in enumerate(block.ops)}
        place = place_in(block, op)
        assert place is not None
        return order[place]


def writes(op: Op, position: int) -> bool:
    return op.opdef in TARGET and position == 1


def _written_before_handed_on(web: Web, places: _Places) -> bool:
    first: dict[Value, int] = {}
    for op, position in web.flows:
        memref = op.operands[position]
        home = memref.block
        if memref.op is not None and memref.op.opdef is ops.alloc and home is not None:
            first[memref] = min(places.at(home, op), first.get(memref, len(home.ops)))
    for op, position in web.others:
        if not writes(op, position):
            continue
        memref = strip_views(op.operands[position])
        home = memref.block
        if memref.op is None or memref.op.opdef is not ops.alloc or home is None:
            return False
        if memref in first and places.at(home, op) >= first[memref]:
            return False
    return True


def _handed_on_once(web: Web, places: _Places) -> bool:
    flows: dict[Value, list[Use]] = {}
    for use in web.flows:
        flows.setdefault(use[0].operands[use[1]], []).append(use)
    return all(_last(memref, uses, places) for memref, uses in flows.items())


def _last(memref: Value, flows: list[Use], places: _Places) -> bool:
    """Whether the memref is handed on once, in one run of its block, and not used after that."""
    home = memref.block
    assert home is not None
    if any(_repeats(op, home) for op, _ in flows):
        return False
    ends = {places.at(home, op) for op, _ in flows}
    place = home.ops[min(ends)]
    ways = {op.parent for op, _ in flows}
    sides = place.opdef is ops.if_ and ways.issubset(place.regions)  # of the branch that hands it on at its ends
    if len(ends) != 1 or len(ways) != len(flows) or (len(flows) > 1 and not sides):
        return False
    handing = {op for op, _ in flows}
    others = {places.at(home, op) for op, _ in with_views(list(memref.uses)) if op not in handing}
    return all(at < min(ends) or (at == min(ends) and sides) for at in others)


def _repeats(op: Op, home: Block) -> bool:
    """Whether ``op`` is in a loop inside ``home``."""
    block = op.parent
    while block is not home:
        around = block.parent_op if block is not None else None
        assert around is not None
        if around.opdef in LOOPS:
            return True
        block = around.parent
    return False
