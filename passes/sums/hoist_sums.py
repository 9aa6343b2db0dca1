"""Sums over loops: an accumulation whose element is the same in all iterations is done once, after the loop.

A parallel loop then reduces the terms, a sequential one carries their sum, a branch yields its term or zero. So the
cotangents of shared scalars and of single elements are sums in registers, which vectorise and do not prevent the loop
from running in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.ir.types import Type, index
from adc.passes.analysis.affine import Form
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.analysis.kinds import COUNTED, STRUCTURED
from adc.passes.checkpointing.conventions import is_over_steps
from adc.passes.plans import ShadowPlan
from adc.passes.sums.touched import Touched


@dataclass
class _Place:
    """Where an accumulation goes: after ``loop``, into this element of ``base``."""

    loop: Op
    base: Value
    subscripts: tuple[Form, ...]


@dataclass
class HoistSums:
    """Hoists the sums of one function. ``plans`` lists those found, and ``bases`` the memrefs that they go to."""

    func: Func
    analysis: Analysis
    plans: list[ShadowPlan] = field(default_factory=list)
    bases: set[Value] = field(default_factory=set)
    _zeros: dict[Type, Op] = field(default_factory=dict)
    _after: dict[Op, Block] = field(default_factory=dict)
    _gone: set[Op] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._touched = Touched(self.analysis)

    def run(self) -> None:
        for op in list(walk_warm(self.func.body)):
            if op.opdef is ops.accumulate:
                place = self._place(op)
                if place is not None:
                    self._hoist(op, place)
        if self._gone:
            self._rebuild(self.func.body)
            self.func.body.set_ops([*self._zeros.values(), *self.func.body.ops])

    # Where to ---------------------------------------------------------------------------------------------------------

    def _place(self, op: Op) -> _Place | None:
        """The place after the outermost loop on which the element does not depend, if nothing else there touches its
        memory."""
        forms = [self.analysis.forms.of(v) for v in op.operands[2:]]
        base, spans = self.analysis.through_views(op.operands[1], [(f, f) for f in forms])
        if spans is None:
            return None
        subscripts = tuple(low for low, _ in spans)
        found: Op | None = None
        for outer in enclosing(op.parent):
            fixed = not inside(base, outer) and not any(inside(s.value, outer) for f in subscripts for s in f.symbols())
            if is_over_steps(self.func, outer):
                break
            if outer.opdef not in STRUCTURED or not fixed:
                break
            if not self._touched.leaves(outer, base) and not self._touched.misses(outer, base, subscripts):
                break
            if outer.opdef in COUNTED:
                found = outer
        return None if found is None else _Place(found, base, subscripts)

    # Moving -----------------------------------------------------------------------------------------------------------

    def _hoist(self, op: Op, place: _Place) -> None:
        value = op.operands[0]
        block = op.parent
        while block is not None:
            outer = block.parent_op
            assert outer is not None
            value = self._out_of(outer, block, value)
            block = None if outer is place.loop else outer.parent
        after = self._after.setdefault(place.loop, Block())
        with insert_at(after, op.loc):
            emitter = Emitter(self.analysis.forms)
            at = [emitter.value(f) for f in place.subscripts]
            if at:
                # The loop may have no iterations, and then there need not be such an element.
                chosen = self._in_range(place.base, at)
                then, otherwise = Block(), Block()
                with insert_at(then):
                    build(ops.accumulate, [value, place.base, *at])
                    build(ops.yield_, ())
                with insert_at(otherwise):
                    build(ops.yield_, ())
                build(ops.if_, [chosen], result_types=(), regions=[then, otherwise])
            else:
                build(ops.accumulate, [value, place.base])
        self.bases.add(place.base)
        self.plans.append(ShadowPlan(op.loc, place.base.hint, "reduction", "one element for all iterations"))
        self._gone.add(op)

    def _in_range(self, base: Value, at: Sequence[Value]) -> Value:
        tests = []
        for d, i in enumerate(at):
            zero = ops.constant(value=0, type=index)
            tests.append(ops.cmpi(zero, i, predicate="sle"))
            tests.append(ops.cmpi(i, ops.dim(base, dim=d), predicate="slt"))
        total = tests[0]
        for test in tests[1:]:
            total = ops.andi(total, test)
        return total

    def _out_of(self, outer: Op, block: Block, value: Value) -> Value:
        """The sum of ``value``, from ``block``, over the runs of ``outer``, as a new result of ``outer``."""
        end = block.terminator
        if outer.opdef is ops.if_:
            for region in outer.regions:
                region.terminator.add_operand(value if region is block else self._zero(value.type))
        elif outer.opdef is ops.parallel:
            end.add_operand(value)
            end.set_attr("kinds", (*end.attrs["kinds"], "add"))
            outer.add_operand(self._zero(value.type))
        else:
            so_far = block.add_arg(value.type)
            total = Op(ops.addf, (so_far, value), (value.type,), {"fastmath": ops.OWNED}, loc=outer.loc)
            block.insert(len(block.ops) - 1, total)
            end.add_operand(total.result)
            outer.add_operand(self._zero(value.type))
        return outer.add_result(value.type)

    def _zero(self, t: Type) -> Value:
        op = self._zeros.get(t)
        if op is None:
            op = self._zeros[t] = Op(ops.constant, (), (t,), {"value": 0.0, "type": t}, loc=self.func.loc)
            op.parent = self.func.body
        return op.result

    def _rebuild(self, block: Block) -> None:
        new = block.in_place_of()
        for op in block.ops:
            if op in self._gone:
                op.drop()
                continue
            for region in op.regions:
                self._rebuild(region)
            new.append(op)
            if op in self._after:
                for added in self._after[op].ops:
                    new.append(added)
        block.set_ops(new.ops)
