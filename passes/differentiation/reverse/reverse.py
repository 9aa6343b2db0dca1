"""The reverse sweep: operations in reversed order, cotangents passed back, shadows accumulated into.

``Cotangents`` maps an active primal float value to its cotangent so far. A region gets a mapping of its own, in which
the cotangents of outer values that it contributes to are carried in and out (see
``adc.passes.differentiation.reverse.reverse_regions``).
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.attached import parts
from adc.ir.builder import at_loc, build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.rewrite import inline_block
from adc.ir.types import MemRefType
from adc.passes.building import choose, nest
from adc.passes.differentiation import user_rules
from adc.passes.differentiation.need.demand import Augmented
from adc.passes.differentiation.need.need import emit_rule, needs
from adc.passes.differentiation.need.reading import Reading
from adc.passes.differentiation.need.residuals import reached
from adc.passes.differentiation.need.strong_zeros import constant_where, unless_nothing
from adc.passes.differentiation.reverse.frames import Frame, Reader
from adc.passes.differentiation.reverse.shadows import extents_of, zeroed
from adc.passes.differentiation.rules import RULES
from adc.passes.differentiation.sources import Sources
from adc.passes.differentiation.storage.rectangles import loops_above
from adc.passes.differentiation.storage.storage import Recipes

Cotangents = dict[Value, Value]


class ReverseSweep:
    """Builds the reverse sweep of one augmented function.

    ``read``: results that the caller certainly reads. ``left``: arrays that exist after the function has returned.
    ``residuals``: what a record hands over. ``once``: the sweep runs only once for a forward sweep.
    """

    def __init__(
        self,
        augmented: Augmented,
        reader: Reader,
        recipes: Recipes,
        read: Sequence[Value] = (),
        left: Sequence[Value] = (),
        residuals: Sequence[Value] = (),
        *,
        once: bool,
    ) -> None:
        self.augmented = augmented
        self.activity = augmented.activity
        self.reader = reader
        self.recipes = recipes
        self.reading = Reading(augmented.func, augmented.activity.aliasing, read)
        self.sources = Sources()
        self.left = reached(augmented.activity.aliasing, left)
        self.once = once
        self._kept = {*residuals, *reader.slots}
        self._shadows = set(augmented.companion.values())
        self._grown: dict[Op, list[Value]] = {}
        for slot in reader.slots.values():
            if slot.loops and slot.loops[0].opdef is ops.while_:
                self._grown.setdefault(slot.loops[0], []).append(slot.buffer)

    def add(self, cotangents: Cotangents, value: Value, term: Value | None) -> None:
        """Add a term to the cotangent of a value, at the insertion point, unless the value is passive."""
        if term is not None and self.activity.active(value):
            old = cotangents.get(value)
            if old is not None:
                whole = ops.addf(old, term)
                self.sources.note(whole, old, term)
                term = whole
            cotangents[value] = term

    def total(self, cotangents: Cotangents, value: Value) -> Value:
        """Remove and return the cotangent of a value so far; zero if nothing has contributed."""
        found = cotangents.pop(value, None)
        return const(0.0, value.type) if found is None else found

    def block(self, frame: Frame, cotangents: Cotangents) -> None:
        """Reverse a block into ``frame.target``. Cotangents of its terminator's operands are there already."""
        outer, self.reader.frame = self.reader.frame, frame
        with insert_at(frame.target, frame.loc):
            for op in frame.block.ops:
                if op.opdef is ops.alloc and self.activity.has_shadow(op.result):
                    self._shadow_of_allocation(op, frame)
            for op in reversed(frame.block.ops):
                if self.augmented.has_adjoint(op):
                    with insert_at(frame.target, op.loc):
                        self.op(op, cotangents)
                if self.once:
                    self._free(op)
            if not self.once:
                self._clear_companions(frame)
        self.reader.frame = outer

    def _free(self, op: Op) -> None:
        """Free what an operation allocated and kept for the reverse sweep, which goes on with what came before it.

        This concerns arrays, also those that calls return, tapes of inner loops, records, and shadows, which the
        forward sweep makes after the arrays that they belong to. The contents of a tape and the results of a branch are
        not freed, since their owner cannot be told. Loops on threads are left as they are.
        """
        done = [v for v in op.results if self._is_new(op, v) and v not in self.left and v not in self._shadows]
        # A separate forward sweep frees neither its results nor their shadows.
        made = [v for v in op.results if v in self.augmented.made and (self.augmented.direct or v not in self.left)]
        made += [v for v in op.results if v not in made and self._has_given_shadow(op, v) and v not in self.left]
        done += [self.augmented.companion[v] for v in made]
        done = [v for v in done if v in self._kept and _begins_memory(v)]
        grown = [v for v in self._grown.get(op, ()) if v in self._kept]
        record = self.augmented.records.get(op)
        if record not in self._kept:
            record = None
        if not (done or grown or record is not None) or not self._in_sequence(op):
            return
        with at_loc(op.loc):
            _free_all([self.reader.value(v) for v in done])
            if grown:
                # A buffer that never grew has no memory.
                ran = ops.cmpi(const_index(0), self.reader.value(self.augmented.counters[op]), predicate="slt")
                buffers = [self.reader.value(v) for v in grown]
                choose(ran, lambda: _free_all(buffers), lambda: None)
            if record is not None:
                build(ops.release, [self.reader.value(record)])

    def _is_new(self, op: Op, memref: Value) -> bool:
        """Whether the operation has made this memory, and nothing else refers to it."""
        if op.opdef is ops.call and isinstance(memref.type, MemRefType):
            aliasing = self.activity.aliasing
            return aliasing.roots(memref) == {memref} and not aliasing.is_held(memref)
        return op.opdef is ops.alloc

    def _has_given_shadow(self, op: Op, memref: Value) -> bool:
        """Whether a call has made both the memory and its shadow."""
        return op.opdef is ops.call and memref in self.augmented.companion and self._is_new(op, memref)

    @staticmethod
    def _in_sequence(op: Op) -> bool:
        """Whether no loop on threads is around the operation."""
        assert op.parent is not None
        return all(loop.opdef is not ops.parallel for loop in loops_above(op.parent))

    def _clear_companions(self, frame: Frame) -> None:
        """Set the shadows that the forward sweep made back to zero, so that the reverse sweep can be run again."""
        for memref in [result for op in frame.block.ops for result in op.results]:
            if memref in self.augmented.made:
                shadow = self.reader.value(self.augmented.companion[memref])
                build(ops.fill, [const(0.0, shadow.type.element), shadow])  # type: ignore[attr-defined]

    def _shadow_of_allocation(self, op: Op, frame: Frame) -> None:
        if op.result not in self.augmented.companion and op.result not in self.augmented.given:
            extents = [self.reader.value(v) for v in op.operands]
            frame.shadows[op.result] = zeroed(op.result, extents)

    def op(self, op: Op, cotangents: Cotangents) -> None:
        """Reverse one operation at the insertion point."""
        if op.opdef in RULES:
            self._scalar(op, cotangents)
        else:
            _REVERSALS[op.opdef](self, op, cotangents)

    def _scalar(self, op: Op, cotangents: Cotangents) -> None:
        g = cotangents.pop(op.result, None)
        if g is None:
            return
        active = self.augmented.active_operands(op)
        need = needs(op, active)
        y = self.reader.value(op.result) if need.result else None
        operands = [self.reader.value(v) if k in need.operands else None for k, v in enumerate(op.operands)]
        mark = None if op.result in self.reading else self.sources.mark(g)
        terms = emit_rule(op, active, g, y, operands, self.reader.frame.target, mark, self.sources)
        for k, term in zip(active, terms, strict=True):
            self.add(cotangents, op.operands[k], term)

    def _ruled(self, op: Op, cotangents: Cotangents) -> None:
        """Reverse what a function with a derivative rule gave, by its pullback."""
        module = self.augmented.module
        given = {r: cotangents.pop(r) for r in op.results if r in cotangents}
        if not given:
            return
        rules = user_rules.rules_of(module, op)
        assert rules is not None and rules.pullback is not None
        arguments = parts(op, module).arguments
        wanted = self.augmented.ruled_cotangents(op)
        needed = user_rules.needed_residuals(module, op, wanted)
        residuals = parts(op, module).residuals
        cotangents_given = list(given.values())
        mark = None if any(r in self.reading for r in given) else self.sources.mark(*cotangents_given)
        passed = [self.reader.value(v) if k in needed else const(0, v.type) for k, v in enumerate(residuals)]
        passed = [constant_where(mark, v) for v in passed]
        passed += [given.get(r, const(0.0, r.type)) for r in op.results if r.type.is_float]
        terms = inline_block(module.funcs[rules.pullback].body, passed)
        for n in wanted:
            term = unless_nothing(mark, terms[n])
            self.sources.note(term, *cotangents_given)
            self.add(cotangents, arguments[rules.cotangents[n]], term)

    # Memory ----------------------------------------------------------------------------------------------------------

    def _load(self, op: Op, cotangents: Cotangents) -> None:
        g = cotangents.pop(op.result, None)
        if g is not None:
            subscripts = [self.reader.value(v) for v in op.operands[1:]]
            build(ops.accumulate, [g, self.reader.shadow(op.operands[0]), *subscripts])

    def _store(self, op: Op, cotangents: Cotangents) -> None:
        value, memref = op.operands[:2]
        shadow = self.reader.shadow(memref)
        subscripts = [self.reader.value(v) for v in op.operands[2:]]
        if self.activity.active(value):
            self.add(cotangents, value, ops.load(shadow, *subscripts))
        if op.opdef is ops.store:
            build(ops.store, [const(0.0, value.type), shadow, *subscripts])

    def _fill(self, op: Op, cotangents: Cotangents) -> None:
        value, memref = op.operands
        shadow = self.reader.shadow(memref)
        if self.activity.active(value):
            self.add(cotangents, value, _sum(shadow))
        build(ops.fill, [const(0.0, value.type), shadow])

    def _copy(self, op: Op, cotangents: Cotangents) -> None:
        source, target = op.operands
        shadow = self.reader.shadow(target)
        if self.activity.has_shadow(source):
            onto = self.reader.shadow(source)
            nest(extents_of(shadow), lambda at: _move(shadow, onto, at))
        else:
            build(ops.fill, [const(0.0, shadow.type.element), shadow])  # type: ignore[attr-defined]

    def _pack(self, op: Op, cotangents: Cotangents) -> None:
        """Cotangents of the floats in a record are in cells that the record's shadow holds."""
        for value, cell in self.augmented.cells[op].items():
            if self.activity.active(value):
                at = self.reader.value(cell)
                self.add(cotangents, value, ops.load(at))
                build(ops.store, [const(0.0, value.type), at])

    def _unpack(self, op: Op, cotangents: Cotangents) -> None:
        for value, cell in self.augmented.cells[op].items():
            g = cotangents.pop(value, None)
            if g is not None:
                build(ops.accumulate, [g, self.reader.value(cell)])

    def _call(self, op: Op, cotangents: Cotangents) -> None:
        plan = self.augmented.calls[op]
        arguments = [self.reader.value(op.operands[k]) for k in plan.kept]
        arguments += [self.reader.shadow(op.operands[k]) for k in plan.shadows]
        arguments += [self.reader.shadow(op.results[k]) for k in plan.given]
        arguments += [self.total(cotangents, op.results[k]) for k in plan.cotangents_in]
        if op in self.augmented.records:
            arguments.append(self.reader.value(self.augmented.records[op]))
        types = tuple(op.operands[k].type for k in plan.cotangents_out)
        call = build(ops.call, arguments, {"callee": plan.reverse, "types": types})
        for k, term in zip(plan.cotangents_out, call.results, strict=True):
            self.add(cotangents, op.operands[k], term)

    # Regions: see reverse_regions ------------------------------------------------------------------------------------

    def outer_values(self, op: Op) -> list[Value]:
        """Active values from outside an operation's regions to whose cotangents its reversal contributes."""
        inside: set[Block] = set()
        for region in op.regions:
            inside.add(region)
            for inner in region.walk():
                inside.update(inner.regions)
        found: dict[Value, None] = {}
        for region in op.regions:
            for inner in region.walk():
                for v in inner.operands:
                    if v.type.is_float and v.block not in inside and self.activity.active(v):
                        found[v] = None
        return list(found)


def _move(shadow: Value, onto: Value, at: list[Value]) -> None:
    g = ops.load(shadow, *at)
    build(ops.store, [const(0.0, g.type), shadow, *at])
    build(ops.accumulate, [g, onto, *at])


def _begins_memory(memref: Value) -> bool:
    """Whether a memref starts at the beginning of its memory, as it must to be freed. A strided one may be a window
    that a callee returns; its memory is freed when the run ends."""
    return not isinstance(memref.type, MemRefType) or memref.type.strides is None


def _free_all(memory: Sequence[Value]) -> None:
    for memref in memory:
        build(ops.dealloc, [memref])


def _sum(memref: Value) -> Value:
    """The sum of all elements of a memref."""
    t = memref.type
    assert isinstance(t, MemRefType)
    subscripts: list[Value] = []

    def level(rest: list[Value]) -> Value:
        if not rest:
            return ops.load(memref, *subscripts)
        block = Block((rest[0].type,))
        subscripts.append(block.args[0])
        with insert_at(block):
            build(ops.reduce, [level(rest[1:])], {"kinds": ("add",)})
        bounds = [const_index(0), rest[0], const_index(1), const(0.0, t.element)]
        return build(ops.parallel, bounds, result_types=(t.element,), regions=[block]).result

    return level(extents_of(memref))


_REVERSALS = {
    ops.load: ReverseSweep._load,
    ops.store: ReverseSweep._store,
    ops.accumulate: ReverseSweep._store,
    ops.fill: ReverseSweep._fill,
    ops.copy: ReverseSweep._copy,
    ops.call: ReverseSweep._call,
    ops.pack: ReverseSweep._pack,
    ops.unpack: ReverseSweep._unpack,
    ops.ruled: ReverseSweep._ruled,
}
