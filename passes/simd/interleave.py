"""Local arrays laid out for iterations that run side by side.

What each iteration of a parallel loop keeps for itself, such as a row of a tape or of a temporary array, is contiguous
for one iteration; lanes that take their steps together then load and store far apart. If only such loops use an array,
it is laid out in blocks of iterations, within which an element of all lanes is contiguous: ``a[p, i]`` is kept at
``[p // 48, i, p % 48]``. (An array of structures of arrays.)
"""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import BY_LANES, ONE_BY_ONE
from adc.ir.nesting import enclosing, having
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.cold import is_cold
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.analysis.kinds import ELEMENT, accessed
from adc.passes.analysis.machine import machine
from adc.passes.rewrite import put_before, put_instead, replace_op


@dataclass(frozen=True)
class Interleave:
    """Lay out local arrays for blocks of ``lanes`` iterations."""

    lanes: int | None = None
    name: ClassVar[str] = "interleave"
    needs = frozenset({ops.for_, ops.parallel})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            if any(op.attrs.get(BY_LANES) for op in func.walk()):
                _function(func, self.lanes or machine().lanes)
        return module


def _function(func: Func, width: int) -> None:
    forms = Forms()
    done: set[Op] = set()
    for op in list(func.walk()):
        if op.opdef is ops.alloc and op not in done:
            group = _Group(forms, width)
            if group.collect(op) and group.gains:
                group.change()
            done |= group.allocs


@dataclass(eq=False)
class _Group:
    """Allocations, the results of branches that may be any of them, and all operations that use them."""

    forms: Forms
    width: int
    allocs: set[Op] = field(default_factory=set)
    values: set[Value] = field(default_factory=set)
    undefined: set[Op] = field(default_factory=set)
    accesses: list[Op] = field(default_factory=list)
    blocks: dict[Op, tuple[Form, Value]] = field(default_factory=dict)  # of accesses by lanes: block and lane

    @property
    def gains(self) -> bool:
        return bool(self.blocks)

    def collect(self, alloc: Op) -> bool:
        """Whether all users of the memory can be changed."""
        t = alloc.result.type
        assert isinstance(t, MemRefType)
        if t.rank < 2 or t.strides is not None or isinstance(t.element, MemRefType):
            return False
        work = [alloc.result]
        while work:
            value = work.pop()
            if value in self.values:
                continue
            self.values.add(value)
            op = value.op
            if op is None or value.type != t:
                return False
            if op.opdef is ops.alloc:
                self.allocs.add(op)
            elif op.opdef is ops.undef:
                self.undefined.add(op)
            elif op.opdef is ops.if_:
                work += [region.terminator.operands[value.index] for region in op.regions]
            else:
                return False
            for user, position in value.uses:
                if user.opdef is ops.yield_ and (outer := next(enclosing(user.parent))).opdef is ops.if_:
                    work.append(outer.results[position])
                elif ELEMENT.get(user.opdef) == position:
                    if not self._access(user):
                        return False
                elif not (user.opdef is ops.dealloc or (user.opdef is ops.fill and position == 1)):
                    return False
        return True

    def _access(self, op: Op) -> bool:
        """Whether an access is in a loop by lanes, or in a loop over the rest of such a loop, or matters little."""
        self.accesses.append(op)
        around = next((o for o in enclosing(op.parent) if o.attrs.get(BY_LANES) or o.attrs.get(ONE_BY_ONE)), None)
        if around is None:
            assert op.parent is not None
            clears = op.opdef is ops.store and constant_of(op.operands[0]) is not None
            return clears or is_cold(op.parent)
        if around.attrs.get(BY_LANES):
            lane = around.regions[0].args[0]
            factor, rest = self.forms.of(accessed(op)[1]).split(self.forms.symbol(lane))
            if factor == Form.number(1) and all(c % self.width == 0 for c in rest.terms.values()):
                self.blocks[op] = Form({m: c // self.width for m, c in rest.terms.items()}), lane
        return True

    def change(self) -> None:
        t = next(iter(self.allocs)).result.type
        assert isinstance(t, MemRefType)
        first = None if t.shape[0] is None else -(-t.shape[0] // self.width)
        new = MemRefType((first, *t.shape[1:], self.width), t.element)
        for op in self.accesses:
            self._move(op)
        for op in self.allocs:
            made = Block()
            with insert_at(made, op.loc):
                extents = list(op.operands)
                if first is None:
                    extents[0] = ops.ceildivsi(extents[0], const_index(self.width))
                laid_out = ops.alloc(*extents, type=new)
            put_instead(op, made.ops)
            replace_op(op, [laid_out])
        for op in self.undefined:
            made = Block()
            with insert_at(made, op.loc):
                nothing = ops.undef(type=new)
            put_instead(op, made.ops)
            replace_op(op, [nothing])
        for value in self.values:
            value.set_type(new)

    def _move(self, op: Op) -> None:
        """Adapt an access to the layout."""
        at = ELEMENT[op.opdef] + 1
        number = op.operands[at]
        made = Block()
        with insert_at(made, op.loc):
            found = self.blocks.get(op)
            if found is not None:
                block, rest = found
                quotient = Emitter(self.forms).value(block)
            else:
                width = const_index(self.width)
                quotient, rest = ops.floordivsi(number, width), ops.remsi(number, width)
        op.set_operand(at, quotient)
        op.add_operand(rest)
        put_before(op, made.ops)
