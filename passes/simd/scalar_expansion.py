"""A block of the iterations of a parallel loop, side by side: scalar expansion, and array expansion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import at_loc, build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import BY_LANES, ONE_BY_ONE, TRIPS
from adc.ir.nesting import inside
from adc.ir.rewrite import Mapping, clone_op, used_from_outside
from adc.ir.types import MemRefType, Type, index
from adc.passes.analysis.kinds import DIVISIONS, PURE
from adc.passes.building import parallel_loop
from adc.passes.simd.array_expansion import accesses_of, expanded
from adc.passes.simd.side_by_side import Lanes, Packing, hands_on


@dataclass(eq=False)
class _Strip:
    """Operations that each lane runs by itself, one lane after the other if ``in_turn``; then the values that inner
    loops carry on, with their arguments; values whose sums over the lanes are wanted; and accumulations of those."""

    in_turn: bool = False
    ops: list[Op] = field(default_factory=list)
    carried: list[tuple[Value, Value]] = field(default_factory=list)
    summed: dict[Value, None] = field(default_factory=dict)
    added: list[_Addition] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.ops or self.carried or self.summed or self.added)

    def uses(self) -> list[Value]:
        return [*used_from_outside(self.ops), *(value for value, _ in self.carried), *self.summed]


@dataclass(frozen=True, eq=False)
class _Addition:
    """An accumulation of the sum of ``term`` over the lanes, times ``factors``, negated if ``negative``."""

    op: Op
    term: Value
    factors: tuple[Value, ...] = ()
    negative: bool = False


@dataclass(eq=False)
class _Together:
    """An inner loop whose steps all lanes take together."""

    op: Op
    steps: list[_Step]


_Step = Op | _Strip | _Together  # an operation: for all lanes at once


class Expansion:
    """A block of the iterations of a parallel loop: ``width`` lanes, of which ``count`` are in use, if that is not all.
    If ``trips`` iterations do not fill the blocks, lanes that are not in use run along without accessing memory."""

    def __init__(self, lanes: Lanes, width: int, by: int, count: Value | None = None, trips: Value | None = None):
        self.lanes = lanes
        self.width = width
        self.count = count
        self.trips = trips
        self.idle = trips is not None
        self.by = by  # the step of the loop
        self.body = lanes.loop.regions[0]
        self.home: dict[Value, _Strip] = {}
        self.place: dict[Value, Value] = {}  # for what inner loops return or go on with: whose buffer it is in
        self.buffers: dict[Value, Value] = {}
        self.sums: dict[Value, Value] = {}  # over the lanes
        self.packed: dict[Op, Value] = {}  # the memory that a packed load takes its elements from
        self.first: Value  # the counter of the first lane
        self.steps = self._split(self.body)

    def block(self, number: Value) -> Sequence[Value]:
        """Append the iterations of a block, and return what they reduce to."""
        end = self.body.terminator
        offset = ops.muli(number, const_index(self.width * self.by))
        self.first = ops.addi(self.lanes.loop.operands[0], offset)
        if self.trips is not None:
            wide = const_index(self.width)
            self.count = ops.minsi(ops.subi(self.trips, ops.muli(number, wide)), wide)
        for value in self._kept(self.steps, end.operands):
            self.buffers[value] = ops.alloc(type=MemRefType((self.width,), value.type))
        uniform: Mapping = {}
        self._emit(self.steps, uniform)
        return self._lanes(_Strip(), end.operands, end.attrs["kinds"], uniform) if end.operands else ()

    # Loop distribution ------------------------------------------------------------------------------------------------

    def _split(self, block: Block) -> list[_Step]:
        """The steps of a block, in order. Uniform operations go before those of lanes, on which they do not depend."""
        steps: list[_Step] = []
        strip = _Strip()
        for op in block.ops[:-1]:
            if op in self.lanes.together:
                for initial, argument, result in zip(op.operands[3:], op.regions[0].args[1:], op.results, strict=True):
                    if hands_on(block, initial, result):
                        self.place[argument] = self._place(initial)
                    else:
                        strip.carried.append((initial, argument))
                    self.place[result] = self._place(argument)
                steps += [strip] if strip else []
                strip = _Strip()
                steps.append(_Together(op, self._split(op.regions[0])))
            elif op in self.lanes.summed:
                self._add_sum(op, strip)
            elif op in self.lanes.in_turn:
                steps += [strip] if strip else []
                strip = _Strip(in_turn=True, ops=[op])
                self.home.update((result, strip) for result in op.results)
                steps.append(strip)
                strip = _Strip()
            elif op.opdef is ops.fill:
                steps += [strip] if strip else []
                strip = _Strip()
                steps.append(op)
            elif self.lanes.is_uniform(op):
                steps.append(op)
            elif not all(map(self.lanes.is_recomputed, op.results)) or not op.results:
                strip.ops.append(op)
                self.home.update((result, strip) for result in op.results)
        if block is not self.body:
            ends = zip(block.terminator.operands, map(self._place, block.args[1:]), strict=True)
            strip.carried += [(v, place) for v, place in ends if self.place.get(v) is not place]
        return [*steps, strip] if strip else steps

    def _add_sum(self, op: Op, strip: _Strip) -> None:
        """Ask for the sum that an accumulation adds. Factors that are the same for all lanes are applied to the sum,
        which may then be computed further out, where the rest of the term is made."""
        term, factors, negative = op.operands[0], [], False
        while (made := term.op) is not None and self.lanes.is_of_lanes(term):
            if made.opdef is ops.negf:
                negative, term = not negative, made.operands[0]
            elif made.opdef is ops.mulf and (same := [v for v in made.operands if v not in self.lanes.varying]):
                factors.append(same[0])
                term = next(v for v in made.operands if v is not same[0])
            else:
                break
        home = self.home.get(term)
        if home is None or home.in_turn:
            home = strip
        home.summed[term] = None
        strip.added.append(_Addition(op, term, tuple(factors), negative))

    # Scalar expansion -------------------------------------------------------------------------------------------------

    def _kept(self, steps: Sequence[_Step], reduced: Sequence[Value]) -> list[Value]:
        """The values that get a buffer, since they are computed in one strip and used in another."""
        kept: dict[Value, None] = {}

        def visit(steps: Sequence[_Step]) -> None:
            for step in steps:
                if isinstance(step, _Strip):
                    kept.update((v, None) for v in map(self._place, step.uses()) if self._from_elsewhere(v, step))
                    kept.update((argument, None) for _, argument in step.carried)
                elif isinstance(step, _Together):
                    visit(step.steps)

        visit(steps)
        kept.update((v, None) for v in map(self._place, reduced) if self._from_elsewhere(v, None))
        return list(kept)

    def _place(self, value: Value) -> Value:
        return self.place.get(value, value)

    def _from_elsewhere(self, value: Value, strip: _Strip | None) -> bool:
        """Whether a value varies between lanes, and is neither made in ``strip`` nor recomputed."""
        if value not in self.lanes.varying or self.lanes.is_recomputed(value):
            return False
        return strip is None or self.home.get(value) is not strip

    # Code -------------------------------------------------------------------------------------------------------------

    def _emit(self, steps: Sequence[_Step], uniform: Mapping) -> None:
        """Append steps; ``uniform`` maps the values that are the same for all lanes."""
        for step in steps:
            if isinstance(step, Op):
                with at_loc(step.loc):
                    if step in self.lanes.arrays:
                        uniform[step.result] = expanded(step, uniform, self.width)
                    else:
                        clone_op(step, uniform)
            elif isinstance(step, _Strip):
                with at_loc(step.ops[0].loc if step.ops else self.lanes.loop.loc):
                    self._strip(step, uniform)
            else:
                self._together(step, uniform)

    def _together(self, step: _Together, uniform: Mapping) -> None:
        for packing in self.lanes.packings.values():
            if packing.outer is step.op:
                self._pack(packing, uniform)
        counter = step.op.regions[0].args[0]
        block = Block([index], [counter.hint])
        uniform[counter] = block.args[0]
        with insert_at(block, step.op.loc):
            self._emit(step.steps, uniform)
            build(ops.yield_, [])
        limits = [uniform.get(v, v) for v in step.op.operands[:3]]
        build(ops.for_, limits, None, [], [block], step.op.loc)

    def _pack(self, packing: Packing, uniform: Mapping) -> None:
        """Copy everything that all iterations of a loop load."""
        lower, upper = self._packed_range(packing, uniform)
        trips = ops.maxsi(ops.subi(upper, lower), const_index(0))
        buffer = ops.alloc(trips, type=MemRefType((None, self.width), packing.load.result.type))
        block = Block([index])
        inner = {**uniform, packing.moving: block.args[0]}
        with insert_at(block, packing.load.loc):

            def one(number: Value) -> None:
                lane = _Lane(self, number, inner)
                if packing.lower is None:
                    taken = self._nearest(packing, lane)
                else:
                    lane.copy(packing.load)
                    taken = lane.known[packing.load.result]
                build(ops.store, [taken, buffer, ops.subi(block.args[0], lower), number])

            parallel_loop(*self._lanes_in_use(), one, **self._marks())
            build(ops.yield_, [])
        build(ops.for_, [lower, upper, const_index(1)], None, [], [block])
        self.packed[packing.load] = buffer

    def _packed_range(self, packing: Packing, uniform: Mapping) -> tuple[Value, Value]:
        """The range of subscripts for which there is something to copy."""
        zero = const_index(0)
        if packing.lower is None or packing.upper is None:
            memref, *subscripts = (uniform.get(v, v) for v in packing.load.operands)
            extents = [ops.dim(memref, dim=d) for d in range(len(subscripts))]
            upper = extents[subscripts.index(uniform.get(packing.moving, packing.moving))]
            for extent in extents:
                upper = ops.select(ops.cmpi(zero, extent, predicate="slt"), upper, zero)
            return zero, upper
        start, end = (uniform.get(v, v) for v in packing.outer.operands[:2])
        lower, upper = uniform.get(packing.lower, packing.lower), uniform.get(packing.upper, packing.upper)
        if packing.upper_is_counter:
            upper = ops.subi(upper, const_index(1))
        # Only if the loop around it runs at all.
        return lower, ops.select(ops.cmpi(start, end, predicate="slt"), upper, lower)

    def _nearest(self, packing: Packing, lane: _Lane) -> Value:
        """The element to copy. The loop need not reach it, so the subscripts may be out of range, and are clamped."""
        memref, *subscripts = packing.load.operands
        known = lane.value(memref)
        at = []
        for d, v in enumerate(subscripts):
            i = lane.value(v)
            if v is not packing.moving:
                i = ops.maxsi(ops.minsi(i, ops.subi(ops.dim(known, dim=d), const_index(1))), const_index(0))
            at.append(i)
        return ops.load(known, *at)

    def _strip(self, strip: _Strip, uniform: Mapping) -> None:
        if strip.in_turn:
            block = Block([index])
            with insert_at(block):
                self._one(strip, block.args[0], uniform)
                build(ops.yield_, ())
            limits = [const_index(0), self.count or const_index(self.width), const_index(1)]
            build(ops.for_, limits, {ONE_BY_ONE: True, TRIPS: self.width}, [], [block])
            return
        terms = list(strip.summed)
        if strip.ops or strip.carried or terms:
            totals = self._lanes(strip, terms, ("add",) * len(terms), uniform)
            self.sums.update(zip(terms, totals, strict=True))
        for addition in strip.added:
            self._add(addition, uniform)

    def _add(self, addition: _Addition, uniform: Mapping) -> None:
        total = self.sums[addition.term]
        for factor in reversed(addition.factors):
            total = ops.mulf(total, uniform.get(factor, factor))
        place = [uniform.get(v, v) for v in addition.op.operands[1:]]
        build(ops.accumulate, [ops.negf(total) if addition.negative else total, *place])

    def _one(self, strip: _Strip, number: Value, uniform: Mapping) -> _Lane:
        """Append the operations of one lane in a strip."""
        lane = _Lane(self, number, uniform)
        for op in strip.ops:
            lane.run(op)
        values = [lane.value(value) for value, _ in strip.carried]
        for value, (_, argument) in zip(values, strip.carried, strict=True):
            build(ops.store, [value, self.buffers[argument], number])
        return lane

    def _lanes(
        self, strip: _Strip, terms: Sequence[Value], kinds: Sequence[str], uniform: Mapping
    ) -> Sequence[Value]:
        """Append a strip for all lanes, and return the reductions of ``terms`` over them."""
        neutral = [const(ops.NEUTRAL[kind], v.type) for kind, v in zip(kinds, terms, strict=True)]
        block = Block([index], ["lane"])
        with insert_at(block):
            lane = self._one(strip, block.args[0], uniform)
            found = [lane.unless_idle(lane.value(v), none) for v, none in zip(terms, neutral, strict=True)]
            build(ops.reduce, found, {"kinds": tuple(kinds)})
        types: list[Type] = [v.type for v in terms]
        limits = [*self._lanes_in_use(), const_index(1)]
        return build(ops.parallel, [*limits, *neutral], self._marks(), types, [block]).results

    def _lanes_in_use(self) -> tuple[Value, Value]:
        return const_index(0), const_index(self.width) if self.count is None or self.idle else self.count

    def _marks(self) -> dict[str, Any]:
        return {BY_LANES: True} if self.count is None or self.idle else {BY_LANES: True, TRIPS: self.width}


class _Lane:
    """The code of one lane, with the given ``number``, in one strip."""

    def __init__(self, expansion: Expansion, number: Value, uniform: Mapping) -> None:
        self.expansion = expansion
        self.number = number
        self.uniform = uniform
        self.known: Mapping = {}

    def run(self, op: Op) -> None:
        with at_loc(op.loc):
            packed = self.expansion.packed.get(op)
            if packed is not None:
                packing = self.expansion.lanes.packings[op]
                at = self.value(packing.moving)
                if packing.lower is not None:
                    at = ops.subi(at, self.value(packing.lower))
                self.known[op.result] = ops.load(packed, at, self.number)
            else:
                self.copy(op)
            for result in op.results:
                buffer = self.expansion.buffers.get(result)
                if buffer is not None:
                    build(ops.store, [self.known[result], buffer, self.number])

    def copy(self, op: Op) -> None:
        """Append what ``op`` does for this lane."""
        for value in used_from_outside([op]):
            self.value(value)
        if self.expansion.idle and not (_is_safe(op) or self.expansion.lanes.is_for_all(op)):
            self._do_unless_idle(op)
        else:
            self._clone(op, self.known)

    def _clone(self, op: Op, known: Mapping) -> None:
        """Append a copy; accesses to an array that exists for each lane become accesses to the lane's own."""
        own = [known[alloc.result] for alloc in self.expansion.lanes.arrays if alloc.result in known]
        for access in accesses_of(own, clone_op(op, known)):
            access.add_operand(self.number)

    def _in_use(self) -> Value:
        assert self.expansion.count is not None
        return ops.cmpi(self.number, self.expansion.count, predicate="slt")

    def unless_idle(self, value: Value, none: Value) -> Value:
        """``value``, or ``none`` if the lane is not in use."""
        return ops.select(self._in_use(), value, none) if self.expansion.idle else value

    def _do_unless_idle(self, op: Op) -> None:
        """Append what ``op`` does if the lane is in use; else its results are zero."""
        blocks = Block(), Block()
        with insert_at(blocks[0]):
            known = dict(self.known)
            self._clone(op, known)
            build(ops.yield_, [known[r] for r in op.results])
        with insert_at(blocks[1]):
            build(ops.yield_, [const(0, r.type) for r in op.results])
        made = build(ops.if_, [self._in_use()], {}, [r.type for r in op.results], blocks)
        self.known.update(zip(op.results, made.results, strict=True))

    def value(self, value: Value) -> Value:
        """The value in this lane that corresponds to a value of the loop."""
        if value not in self.known:
            self.known[value] = self._find(value)
        return self.known[value]

    def _find(self, value: Value) -> Value:
        expansion, lanes = self.expansion, self.expansion.lanes
        if value in self.uniform or not inside(value, lanes.loop):
            return self.uniform.get(value, value)
        if value is lanes.counter:
            step = const_index(expansion.by)
            return ops.addi(expansion.first, self.number if expansion.by == 1 else ops.muli(self.number, step))
        if value not in lanes.varying or lanes.is_recomputed(value):
            assert value.op is not None
            self.copy(value.op)
            return self.known[value]
        found: Value = ops.load(expansion.buffers[expansion._place(value)], self.number)
        return found


def _is_safe(op: Op) -> bool:
    """Whether ``op`` can be executed with any operands without effect."""
    return op.opdef in PURE and not op.regions and op.opdef not in DIVISIONS
