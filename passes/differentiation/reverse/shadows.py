"""Shadows of memory: what the forward sweep carries along so that the reverse sweep finds them.

The shadow of a memref is laid out like the memref, on the shadow of its root. Where a memref changes its name (carried
by a loop, yielded by a branch, returned by a call) its shadow is carried, yielded, returned beside it: its *companion*.
An allocation whose memrefs never leave its block needs no companion: the reverse sweep makes its shadow when it enters
the block from the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import build
from adc.ir.core import Attr, Block, Func, Op, Value
from adc.ir.loop_attrs import OWN
from adc.ir.moments import strip_views
from adc.ir.types import MemRefType, Type, index, record
from adc.passes.differentiation.activity.held import held, is_container, unpack_beside
from adc.passes.differentiation.need.demand import Augmented
from adc.passes.differentiation.storage.insertion import Insertions
from adc.passes.differentiation.storage.legality import escaping

SHADOW_ALIAS = 1 << 20  # added to an alias number: shadows overlap each other, never what they shadow


def attrs_of_kept(primal: Func, kept: Sequence[int], k: int) -> dict[str, Attr]:
    """The attributes of argument ``k`` in a function whose first arguments are those at ``kept``. The shadow of one of
    these notes its new position; the shadow of another argument becomes an array like any other."""
    attrs = dict(primal.arg_attrs[k])
    of = attrs.pop("adc.shadow", None)
    if of in kept:
        attrs["adc.shadow"] = list(kept).index(of)
    return attrs


def like(memref: Value) -> list[Value]:
    """The extents of a memref, appended at the insertion point: what an allocation of the same shape takes."""
    t = memref.type
    assert isinstance(t, MemRefType)
    return [ops.dim(memref, dim=k) for k in range(t.rank) if t.shape[k] is None]


def extents_of(memref: Value) -> list[Value]:
    """All extents of a memref, appended at the insertion point: what a nest over its elements takes."""
    t = memref.type
    assert isinstance(t, MemRefType)
    return [ops.dim(memref, dim=k) for k in range(t.rank)]


def zeroed(memref: Value, extents: list[Value] | None = None, t: Type | None = None) -> Value:
    """A new zeroed memref of the shape of ``memref``, and of its type, or of ``t`` if that is given."""
    t = t or memref.type
    assert isinstance(t, MemRefType)
    shadow = ops.alloc(*(like(memref) if extents is None else extents), type=MemRefType(t.shape, t.element))
    if memref.op is not None and memref.op.attrs.get(OWN):
        shadow.op.set_attr(OWN, True)  # type: ignore[union-attr]
    build(ops.fill, [const(0.0, t.element), shadow])
    return cast_to(shadow, t)


def cast_to(memref: Value, t: MemRefType) -> Value:
    """``memref`` as a value of type ``t``, whose layout may be less specific."""
    return memref if memref.type == t else ops.cast(memref, type=t)


def cell_type(t: Type) -> MemRefType:
    """Memory for one number."""
    return MemRefType((), t)


def cell_of(t: Type) -> Value:
    """New memory for one number, which is zero."""
    cell = ops.alloc(type=cell_type(t))
    build(ops.store, [const(0.0, t), cell])
    return cell


def view_of(view: Op, base: Value, operands: list[Value]) -> Value:
    """The view operation ``view`` repeated on another base of the same type."""
    return build(view.opdef, [base, *operands], dict(view.attrs)).result


def forward_shadow(augmented: Augmented, memref: Value) -> Value:
    """The shadow of a returned memref. If the memref is a view, the view is repeated here."""
    base = strip_views(memref)
    if base is memref:
        return augmented.companion[base]
    assert memref.op is not None
    on = forward_shadow(augmented, memref.op.operands[0])
    return view_of(memref.op, on, list(memref.op.operands[1:]))


def add_companions(augmented: Augmented, insertions: Insertions) -> None:
    """Give a companion to every memref that has a shadow and is not a view, except allocations that stay in their
    block.

    Companions of arguments must be there already. Calls that are differentiated become calls of augmented functions.
    """
    _Companions(augmented, insertions).visit(augmented.func.body)


class _Companions:
    def __init__(self, augmented: Augmented, insertions: Insertions) -> None:
        self.augmented = augmented
        self.insertions = insertions
        self.companion = augmented.companion
        aliasing = augmented.activity.aliasing
        self.escaping: set[Value] = set()
        for op in augmented.func.walk():
            handed_on = [v for v in escaping(op) if op.opdef is not ops.return_ or v not in augmented.given]
            if op in augmented.calls:
                handed_on += [op.operands[k] for k in augmented.calls[op].shadows]
            for memref in handed_on:
                self.escaping |= aliasing.roots(memref)

    def visit(self, block: Block) -> None:
        for op in block.ops:
            if op.opdef is ops.alloc:
                self._alloc(op)
            elif op.opdef is ops.undef or op.opdef is ops.select:
                self._value(op)
            elif op.opdef is ops.grow:
                self._grow(op)
            elif op.opdef is ops.for_:
                self._for(op)
            elif op.opdef is ops.while_:
                self._while(op)
            elif op.opdef is ops.if_:
                self._if(op)
            elif op.opdef is ops.call:
                results = op.results
                if op in self.augmented.calls:
                    self._call(op)
                self._made_by_call(op, results)
            elif op.opdef is ops.load and self._has_shadow(op.result):
                self._load(op)
            elif op.opdef is ops.store and is_container(op.operands[1].type):
                self._store(op)
            elif op.opdef is ops.pack:
                self._pack(op)
            elif op.opdef is ops.unpack:
                self._unpack(op)
            else:
                for region in op.regions:
                    self.visit(region)

    def _has_shadow(self, value: Value) -> bool:
        return self.augmented.activity.has_companion(value)

    def _of(self, memref: Value, at: Op) -> Value:
        """The shadow of ``memref`` as a value of the forward sweep, built before ``at`` if it is a view."""
        base = strip_views(memref)
        if base is memref:
            known = self.companion.get(memref)
            if known is not None:
                return known
            with self.insertions.before(at):  # a memref without shadow among others that have one
                return zeroed(memref)
        chain: list[Op] = []
        while memref is not base:
            view = memref.op
            assert view is not None
            chain.append(view)
            memref = view.operands[0]
        shadow = self._of(base, at)
        with self.insertions.before(at):
            for view in reversed(chain):
                shadow = view_of(view, shadow, list(view.operands[1:]))
        return shadow

    def _alloc(self, op: Op) -> None:
        if not self._has_shadow(op.result):
            return
        if is_container(op.result.type):
            with self.insertions.after(op):
                self.companion[op.result] = ops.alloc(*op.operands, type=op.result.type)
        elif op.result in self.escaping:
            self._make(op.result, op, list(op.operands))

    def _load(self, op: Op) -> None:
        container = self._of(op.operands[0], op)
        with self.insertions.after(op):
            shadow = self.companion[op.result] = ops.load(container, *op.operands[1:])
        assert shadow.op is not None
        self.augmented.shadowed_loads[shadow.op] = op

    def _store(self, op: Op) -> None:
        if not self._has_shadow(op.operands[1]):
            return
        held, container = self._of(op.operands[0], op), self._of(op.operands[1], op)
        with self.insertions.after(op):
            build(ops.store, [held, container, *op.operands[2:]])

    def _pack(self, op: Op) -> None:
        """The record of the shadows, with a cell for each float. Numbers without derivatives are left out."""
        cells = self.augmented.cells[op] = {}
        beside: list[Value] = []
        for value in [op.operands[k] for k in held(op.operands)]:
            if not value.type.is_float:
                beside.append(self._of(value, op))
                continue
            if value not in cells:
                with self.insertions.before(op):
                    cells[value] = cell_of(value.type)
            beside.append(cells[value])
        with self.insertions.after(op):
            self.companion[op.result] = build(ops.pack, beside).result

    def _unpack(self, op: Op) -> None:
        args = self.augmented.func.args
        places = {k: self.companion[a] for k, a in enumerate(args) if a in self.companion}
        results = [op.results[k] for k in held(op.results)]
        attrs = unpack_beside(op, places, [cell_type(r.type) if r.type.is_float else r.type for r in results])
        beside = self._of(op.operands[0], op)
        with self.insertions.after(op):
            made = build(ops.unpack, [beside], attrs)
        cells = self.augmented.cells[op] = {}
        for result, shadow in zip(results, made.results, strict=True):
            (cells if result.type.is_float else self.companion)[result] = shadow

    def _value(self, op: Op) -> None:
        if not (isinstance(op.result.type, MemRefType) or is_container(op.result.type)):
            return
        if op.opdef is ops.undef:
            with self.insertions.after(op):
                self.companion[op.result] = ops.undef(type=op.result.type)
        elif self._has_shadow(op.result):
            a, b = self._of(op.operands[1], op), self._of(op.operands[2], op)
            with self.insertions.after(op):
                self.companion[op.result] = ops.select(op.operands[0], a, b)

    def _grow(self, op: Op) -> None:
        """The shadow grows with the buffer, by the element that is written next."""
        if self._has_shadow(op.result):
            shadow = self._of(op.operands[0], op)
            with self.insertions.after(op):
                grown = self.companion[op.result] = ops.grow(shadow, op.operands[1])
                if not is_container(grown.type):
                    build(ops.store, [const(0.0, grown.type.element), grown, op.operands[1]])  # type: ignore[attr-defined]

    def _for(self, op: Op) -> None:
        (body,) = op.regions
        carried = [k for k, a in enumerate(body.args[1:]) if self._has_shadow(a)]
        for k in carried:
            op.add_operand(self._of(op.operands[3 + k], op))
            self.companion[body.args[1 + k]] = body.add_arg(body.args[1 + k].type)
        self.visit(body)
        for k in carried:
            yielded = body.terminator
            yielded.add_operand(self._of(yielded.operands[k], yielded))
            self.companion[op.results[k]] = op.add_result(op.results[k].type)

    def _while(self, op: Op) -> None:
        before, after = op.regions
        carried = [k for k, a in enumerate(before.args) if self._has_shadow(a)]
        for k in carried:
            op.add_operand(self._of(op.operands[k], op))
            self.companion[before.args[k]] = before.add_arg(before.args[k].type)
        self.visit(before)
        condition = before.terminator
        passed = [k for k, v in enumerate(condition.operands[1:]) if self._has_shadow(v)]
        for k in passed:
            condition.add_operand(self._of(condition.operands[1 + k], condition))
            self.companion[after.args[k]] = after.add_arg(after.args[k].type)
        self.visit(after)
        for k in carried:
            after.terminator.add_operand(self._of(after.terminator.operands[k], after.terminator))
        for k in passed:
            self.companion[op.results[k]] = op.add_result(op.results[k].type)

    def _if(self, op: Op) -> None:
        for region in op.regions:
            self.visit(region)
        for result in [r for r in op.results if self._has_shadow(r)]:
            for region in op.regions:
                end = region.terminator
                end.add_operand(self._of(end.operands[result.index], end))
            self.companion[result] = op.add_result(result.type)

    def _call(self, op: Op) -> None:
        """Call the augmented callee instead: shadows go in, shadows of results and a record come out."""
        plan = self.augmented.calls[op]
        shadows = [self._of(op.operands[k], op) for k in plan.shadows]
        self.augmented.original_callee[op] = op.attrs["callee"]
        op.set_attr("callee", plan.augmented)
        for shadow in shadows:
            op.add_operand(shadow)
        for k in plan.shadow_results:
            self.companion[op.results[k]] = op.add_result(op.results[k].type)
        if plan.record:
            self.augmented.records[op] = op.add_result(record)
        op.set_attr("types", tuple(r.type for r in op.results))

    def _made_by_call(self, op: Op, results: tuple[Value, ...]) -> None:
        """Shadows of arrays that a callee makes: those that the callee is given, and those that vary only after the
        call."""
        for result in results:
            if not self._has_shadow(result) or result in self.companion:
                continue
            if self.augmented.activity.aliasing.roots(result) != {result}:
                raise kinds.NO_DERIVATIVE("cannot differentiate through arrays that a call returns twice", op.loc)
            self._make(result, op)

    def _make(self, memref: Value, op: Op, extents: list[Value] | None = None) -> None:
        """Allocate the shadow of a memref that ``op`` returns."""
        with self.insertions.after(op):
            self.companion[memref] = zeroed(memref, extents)
        self.augmented.made.add(memref)
        self.augmented.given.discard(memref)


def add_counters(augmented: Augmented) -> None:
    """Make every while loop that is reversed count its iterations. The count is the first of its extra results."""
    for op in list(augmented.func.walk()):
        if op.opdef is not ops.while_ or op not in augmented.adjoint_regions:
            continue
        before, after = op.regions
        block = op.parent
        assert block is not None
        zero = Op(ops.constant, (), (index,), {"value": 0, "type": index}, loc=op.loc)
        _insert_before(op, zero)
        op.add_operand(zero.result)
        passed = before.add_arg(index, "trips")
        before.terminator.add_operand(passed)
        count = after.add_arg(index, "trips")
        one = Op(ops.constant, (), (index,), {"value": 1, "type": index}, loc=op.loc)
        following = Op(ops.addi, (count, one.result), (index,), loc=op.loc)
        _insert_before(after.terminator, one)
        _insert_before(after.terminator, following)
        after.terminator.add_operand(following.result)
        augmented.counters[op] = op.add_result(index, "trips")


def _insert_before(op: Op, new: Op) -> None:
    block = op.parent
    assert block is not None
    block.insert(block.ops.index(op), new)
