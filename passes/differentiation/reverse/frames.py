"""Primal values in the reverse sweep.

The reverse sweep mirrors the regions of the forward sweep. Each mirrored block has a *frame*: the block being built and
the primal values already at hand in it. ``Reader.value(v)`` finds v in the frame that mirrors its block, computing it
there by the storage plan: directly, from the tape, or by its recipe. So what an inner region needs from an outer
block is computed once, in front of that region.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import field

from adc.ir import ops
from adc.ir.builder import at_loc, build, insert_at
from adc.ir.core import Block, Loc, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.permutations import Orbit
from adc.ir.rewrite import clone_op, used_from_outside
from adc.ir.types import MemRefType
from adc.passes.differentiation.need.demand import Augmented
from adc.passes.differentiation.reverse.shadows import view_of
from adc.passes.differentiation.reverse.unpermute import Undo
from adc.passes.differentiation.storage.storage import Recipes
from adc.passes.differentiation.storage.storage_plan import StoragePlan
from adc.passes.differentiation.storage.tape import Slot


@dataclass
class Frame:
    """One mirrored block. ``number``: the iteration being reversed, if the block is the body of a loop."""

    block: Block
    target: Block
    loc: Loc
    parent: Frame | None = None
    number: Value | None = None
    values: dict[Value, Value] = field(default_factory=dict)
    shadows: dict[Value, Value] = field(default_factory=dict)


class Reader:
    """Gives the reverse sweep the primal values and shadows that it asks for."""

    def __init__(
        self, augmented: Augmented, plan: StoragePlan, slots: dict[Value, Slot], root: Frame, recipes: Recipes
    ) -> None:
        self.augmented = augmented
        self.plan = plan
        self.recipes = recipes
        self.slots = slots
        self.frame = root
        self.root = root

    def frame_of(self, block: Block | None) -> Frame:
        """The frame that mirrors ``block``."""
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.block is block:
                return frame
            frame = frame.parent
        raise AssertionError("a primal value is wanted outside the mirror of its block")

    @contextlib.contextmanager
    def inside(self, frame: Frame) -> Iterator[None]:
        """Build at the current end of ``frame``, which may be an outer one; constants go there as well."""
        outer, self.frame = self.frame, frame
        try:
            with insert_at(frame.target, frame.loc):
                yield
        finally:
            self.frame = outer

    def _home(self, value: Value) -> Frame:
        op = value.op
        if op is not None and op.opdef in (ops.constant, ops.undef):
            return self.frame
        return self.frame_of(value.block)

    def value(self, value: Value) -> Value:
        """A primal value, at the current point of the reverse sweep."""
        frame = self._home(value)
        known = frame.values.get(value)
        if known is None:
            with self.inside(frame):
                known = self._make(value, frame)
            known.hint = known.hint or value.hint
            frame.values[value] = known
        return known

    def _make(self, value: Value, frame: Frame) -> Value:
        slot = self.slots.get(value)
        if slot is not None:
            return self._read(slot)
        op = value.op
        if frame is self.root and self.augmented.direct:
            return value
        if isinstance(value.type, MemRefType) and not self.recipes.is_constant(value):
            through = self.recipes.undone(value)
            if through is not None:
                return self._undo(value, *through)
            grown = self.recipes.grown(value)
            if grown is not None:
                return self.value(grown)
        store = self.recipes.reloads.get(value)
        if store is not None:
            return build(ops.load, [self.value(v) for v in store.operands[1:]]).result
        if op is None:
            return self._argument(value)
        if op.opdef is ops.ruled:
            return self.value(op.operands[value.index])
        snapshot = self.recipes.snapshots.get(op)
        if snapshot is not None:
            values = [self.value(v) for v in snapshot.recipe(op)]
            with at_loc(op.loc):
                return snapshot.repeat(op, self._numbers(snapshot.loops), values).result
        assert self.recipes.recipe(value) is not None, "no recipe for a value that was not stored"
        mapping = {v: self.value(v) for v in used_from_outside([op])}
        with at_loc(op.loc):
            return self._repeat(op, mapping).results[value.index]

    def _undo(self, value: Value, orbit: Orbit, parameters: list[Value]) -> Value:
        """A memref that was permuted with others; those are found as well."""
        values = {v: self.value(v) for v in parameters}
        results = [self.value(r) for r in orbit.results]
        undo = Undo(self.recipes.permutations, self.augmented.counters, values)
        found = dict(zip(orbit.inputs, undo.inputs(orbit, results), strict=True))
        for v, made in found.items():
            if v not in self.slots:
                self.frame.values.setdefault(v, made)
        return found[value]

    def _repeat(self, op: Op, mapping: dict[Value, Value]) -> Op:
        """Run a primal operation again, without its checks, which were made before."""
        if op in self.augmented.original_callee:
            # The primal callee: the further results of the augmented one come last, and are not repeated.
            callee = self.augmented.original_callee[op]
            types = self.augmented.module.funcs[callee].result_types
            return build(ops.call, [mapping[v] for v in op.operands], {"callee": callee, "types": types})
        copy = clone_op(op, mapping)
        for inner in (copy, *(o for region in copy.regions for o in region.walk())):
            if inner.opdef is ops.bound:
                inner.set_attr("check", False)
        return copy

    def _read(self, slot: Slot) -> Value:
        buffer = self.value(slot.buffer)
        if not slot.loops:
            return buffer
        return build(ops.load, [buffer, *self._numbers(slot.loops)]).result

    def _numbers(self, loops: Iterable[Op]) -> list[Value]:
        """Which iterations of some loops are being reversed."""
        numbers = []
        for loop in loops:
            number = self.frame_of(loop.regions[-1]).number
            assert number is not None
            numbers.append(number)
        return numbers

    def _argument(self, value: Value) -> Value:
        """A value that a loop carries without changing it."""
        assert value.block is not None
        loop = value.block.parent_op
        assert loop is not None and loop.regions[0].terminator.operands[value.index - 1] is value
        return self.value(loop.operands[2 + value.index])

    def shadow(self, memref: Value) -> Value:
        """The shadow of a memref, at the current point of the reverse sweep."""
        base = strip_views(memref)
        if base in self.augmented.companion:
            if base is memref:
                return self.value(self.augmented.companion[base])
            home = self.frame_of(memref.block)
        else:
            home = self.frame_of(memref.block)
            if base is memref:
                return home.shadows[memref]
        known = home.shadows.get(memref)
        if known is None:
            view = memref.op
            assert view is not None
            with self.inside(home):
                operands = [self.value(v) for v in view.operands[1:]]
                on = self.shadow(view.operands[0])
                with at_loc(view.loc):
                    known = view_of(view, on, operands)
            home.shadows[memref] = known
        return known
