"""Reversing structured control flow.

Loops run backwards, branches take the branch that was taken, and the cotangents of outer values travel with them: a
sequential loop carries them, a parallel loop sums the contributions of its iterations, a branch yields the new totals.
Memrefs that a loop permutes are permuted back, starting from what the loop returned (see
``adc.passes.differentiation.reverse.unpermute``).
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, iteration_number, trip_count
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.externals import EXCEPTIONAL
from adc.ir.loop_attrs import REVERSE
from adc.ir.permutations import Orbit
from adc.ir.types import index
from adc.passes.analysis.cold import COLD
from adc.passes.differentiation.reverse.frames import Frame
from adc.passes.differentiation.reverse.reverse import Cotangents, ReverseSweep


class RegionSweep(ReverseSweep):
    """The reverse sweep, control flow included."""

    def op(self, op: Op, cotangents: Cotangents) -> None:
        reverse = _REVERSALS.get(op.opdef)
        if reverse is None:
            super().op(op, cotangents)
        else:
            reverse(self, op, cotangents)

    def _frame(self, block: Block, target: Block, number: Value | None = None) -> Frame:
        return Frame(block, target, current_loc(), self.reader.frame, number)

    def _for(self, op: Op, cotangents: Cotangents) -> None:
        lower, upper, step = (self.reader.value(v) for v in op.operands[:3])
        trips = trip_count(lower, upper, step)
        (body,) = op.regions
        target = Block((index,))
        with insert_at(target):
            number = _backwards(trips, target.args[0])
            offset = number if constant_of(step) == 1 else number * step
            counter = offset if constant_of(lower) == 0 else lower + offset
        frame = self._frame(body, target, number)
        frame.values[body.args[0]] = counter
        self._sequential(op, body, body.args[1:], trips, frame, cotangents)

    def _while(self, op: Op, cotangents: Cotangents) -> None:
        before, after = op.regions  # the first computes nothing active: see adc.passes.differentiation.rotate
        assert before.terminator.operands[1:] == before.args
        trips = self.reader.value(self.augmented.counters[op])
        target = Block((index,))
        with insert_at(target):
            number = _backwards(trips, target.args[0])
        frame = self._frame(after, target, number)
        self._sequential(op, after, after.args, trips, frame, cotangents)

    def _sequential(
        self, op: Op, body: Block, args: tuple[Value, ...], trips: Value, frame: Frame, cotangents: Cotangents
    ) -> None:
        """A loop over ``trips`` iterations whose body reverses ``body``; ``args`` are what the forward loop carried."""
        inits = op.operands[3:] if op.opdef is ops.for_ else op.operands
        slots = [k for k, a in enumerate(args) if self.activity.active(a) or self.activity.active(op.results[k])]
        outer = self.outer_values(op)
        memrefs = self._permuted(op)
        starts = [self.total(cotangents, op.results[k]) for k in slots]
        starts += [self.total(cotangents, v) for v in outer]
        starts += [self.reader.value(op.results[k]) for k in memrefs]
        carried = [frame.target.add_arg(v.type) for v in starts]
        inner: Cotangents = {}
        yields = body.terminator.operands
        with insert_at(frame.target):
            for v, arg in zip(outer, carried[len(slots) :], strict=False):
                inner[v] = arg
            for k, arg in zip(slots, carried, strict=False):
                self.add(inner, yields[k], arg)
            for k, arg in zip(memrefs, carried[len(slots) + len(outer) :], strict=True):
                frame.values[yields[k]] = arg
        self.block(frame, inner)
        with insert_at(frame.target):
            ends = [self.total(inner, args[k]) for k in slots]
            ends += [self.total(inner, v) for v in outer]
            with self.reader.inside(frame):
                ends += [self.reader.value(args[k]) for k in memrefs]
            build(ops.yield_, ends)
        bounds = [const_index(0), trips, const_index(1)]
        loop = build(ops.for_, [*bounds, *starts], {REVERSE: True}, [v.type for v in starts], [frame.target])
        for k, total in zip(slots, loop.results, strict=False):
            self.add(cotangents, inits[k], total)
        for v, total in zip(outer, loop.results[len(slots) :], strict=False):
            self.add(cotangents, v, total)

    def _permuted(self, op: Op) -> list[int]:
        """Positions of memrefs that are permuted back because a member of their orbit is asked for."""
        found: list[int] = []
        for orbit in self.recipes.permutations.of(op).orbits:
            ends = [r.terminator.operands[k] for r in op.regions[-1:] for k in orbit.positions]
            if any(self._asked(v, orbit) for v in ends):
                found += orbit.positions
        return found

    def _asked(self, value: Value, orbit: Orbit) -> bool:
        """Whether the mirrored region has to begin with ``value``, as a member of ``orbit``."""
        # A value on the tape is read from there; in that case nobody may have kept what the loop returned.
        wanted = value in self.reader.plan.wanted and value not in self.reader.slots
        return wanted and self.recipes.end(value) is orbit and not self.recipes.is_constant(value)

    def _parallel(self, op: Op, cotangents: Cotangents) -> None:
        bounds = [self.reader.value(v) for v in op.operands[:3]]
        (body,) = op.regions
        target = Block((index,))
        with insert_at(target):
            number = iteration_number(target.args[0], bounds[0], bounds[2])
        frame = self._frame(body, target, number)
        frame.values[body.args[0]] = target.args[0]
        inner: Cotangents = {}
        reduced = body.terminator
        for k, result in enumerate(op.results):
            g = cotangents.pop(result, None)
            if g is not None:
                assert reduced.attrs["kinds"][k] == "add"
                self.add(cotangents, op.operands[3 + k], g)
                with insert_at(target):
                    self.add(inner, reduced.operands[k], g)
        outer = self.outer_values(op)
        self.block(frame, inner)
        shared = [v for v in outer if v in inner]
        with insert_at(target):
            build(ops.reduce, [inner[v] for v in shared], {"kinds": ("add",) * len(shared)})
        starts = [self.total(cotangents, v) for v in shared]
        loop = build(ops.parallel, [*bounds, *starts], {REVERSE: True}, [v.type for v in shared], [target])
        for v, total in zip(shared, loop.results, strict=True):
            self.add(cotangents, v, total)

    def _if(self, op: Op, cotangents: Cotangents) -> None:
        condition = self.reader.value(op.operands[0])
        outer = self.outer_values(op)
        results = [(r.index, cotangents.pop(r)) for r in op.results if r in cotangents]
        branches: list[tuple[Block, Cotangents]] = []
        for region in op.regions:
            target = Block()
            inner = {v: cotangents[v] for v in outer if v in cotangents}
            with insert_at(target):
                for k, g in results:
                    self.add(inner, region.terminator.operands[k], g)
            frame = self._frame(region, target)
            for orbit in self.recipes.permutations.of(op).orbits:
                for k, v in zip(orbit.positions, (region.terminator.operands[k] for k in orbit.positions), strict=True):
                    if v.block is region and self._asked(v, orbit):
                        frame.values[v] = self.reader.value(op.results[k])
            self.block(frame, inner)
            branches.append((target, inner))
        changed = [v for v in outer if any(inner.get(v) is not cotangents.get(v) for _, inner in branches)]
        for target, inner in branches:
            with insert_at(target):
                build(ops.yield_, [inner[v] if v in inner else const(0.0, v.type) for v in changed])
        kept = {name: op.attrs[name] for name in (COLD, EXCEPTIONAL, ops.LIKELY) if name in op.attrs}
        regions = [target for target, _ in branches]
        made = build(ops.if_, [condition], kept, [v.type for v in changed], regions)
        for v, total in zip(changed, made.results, strict=True):
            cotangents[v] = total


def _backwards(trips: Value, counter: Value) -> Value:
    """The iteration reversed by iteration ``counter`` of the reverse loop."""
    return ops.subi(ops.subi(trips, const_index(1)), counter)


_REVERSALS = {
    ops.for_: RegionSweep._for,
    ops.while_: RegionSweep._while,
    ops.parallel: RegionSweep._parallel,
    ops.if_: RegionSweep._if,
}
