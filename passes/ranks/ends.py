"""The first and the last iteration in which a loop stores elements of this rank."""

from __future__ import annotations

from collections.abc import Callable

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import insert_at
from adc.ir.core import Func, Module, Op, Value
from adc.ir.nesting import inside, place_in
from adc.passes.analysis.affine import Form
from adc.passes.ranks.exchanges import built, end_of_block
from adc.passes.ranks.regions import Cut


def insert_before(op: Op, make: Callable[[], None]) -> None:
    """Build something before an operation."""
    block = op.parent
    assert block is not None
    new = block.in_place_of()
    with insert_at(new, op.loc):
        make()
    at = block.ops.index(op)
    block.set_ops([*block.ops[:at], *new.ops, *block.ops[at:]])


class Ends:
    def __init__(self, module: Module, func: Func) -> None:
        self.module, self.func = module, func
        self._known: dict[tuple[str, int, Form], Value] = {}

    def of(self, op: Op, name: str, cut: Cut) -> Value:
        """The first counter for which an element of this rank is stored, or the one after the last."""
        axis, extent, factor, rest, more = cut
        if factor < 0:
            if name == "first":
                behind = ops.subi(built(rest + 1), self._block(op, "last", axis, extent))
                return ops.ceildivsi(behind, const_index(-factor))
            found = ops.subi(built(rest + more), self._block(op, "first", axis, extent))
            return ops.addi(ops.floordivsi(found, const_index(-factor)), const_index(1))
        rest = rest + more if name == "first" else rest
        end = ops.subi(self._block(op, name, axis, extent), built(rest))
        return end if factor == 1 else ops.ceildivsi(end, const_index(factor))

    def _block(self, op: Op, name: str, axis: int, extent: Form) -> Value:
        """The beginning or end of this rank's block, computed once at the start of the function if possible."""
        known = self._known.get((name, axis, extent))
        if known is not None:
            return known
        body = self.func.body
        top = place_in(body, op)
        assert top is not None
        if top is op or any(inside(s.value, top) for s in extent.symbols()):
            found = end_of_block(self.module, name, axis, built(extent))
            if op.parent is body:
                self._known[name, axis, extent] = found
            return found
        made: list[Value] = []
        insert_before(top, lambda: made.append(end_of_block(self.module, name, axis, built(extent))))
        self._known[name, axis, extent] = made[0]
        return made[0]
