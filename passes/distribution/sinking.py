"""The iterations of a parallel loop as lanes, with the loop over the lanes inside what all go through together: see
``adc.passes.distribution.sink_lanes``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import const_index, trip_count
from adc.ir.builder import at_loc, build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import BY_LANES
from adc.ir.nesting import inside, with_enclosing, with_inner
from adc.ir.rewrite import Mapping, clone_op, used_from_outside
from adc.ir.types import MemRefType, Type, index
from adc.passes.analysis.kinds import PURE, STRUCTURED, TARGET, TRAPS
from adc.passes.building import choose, loop_of, nest
from adc.passes.distribution.lane_classes import WIDENED, Variation
from adc.passes.rewrite import put_instead
from adc.passes.simd.array_expansion import accesses_of


@dataclass(eq=False)
class _Strip:
    """What each lane does by itself, up to something that all do together: operations, then values that are stored to
    the buffers of others."""

    ops: list[Op] = field(default_factory=list)
    handed: list[tuple[Value, Value]] = field(default_factory=list)


class Sinking:
    """``same``: what stands for uniform values and arrays of the loop; ``buffers``: where the lanes keep numbers that
    are used in a later strip."""

    def __init__(self, variation: Variation, width: int) -> None:
        self.variation = variation
        self.loop, self.body = variation.loop, variation.body
        self.width = width
        self.same: Mapping = {}
        self.buffers: dict[Value, Value] = {}
        self.strip = _Strip()
        self.first: Value
        self.last: Value

    def build(self) -> None:
        """Replace the loop by one over blocks."""
        loop = self.loop
        lower, upper, step = loop.operands[:3]
        with insert_at(Block(), loop.loc) as made:
            count = trip_count(lower, upper, step)
            self.last = ops.subi(count, const_index(1))
            blocks = ops.ceildivsi(count, const_index(self.width))
            block = Block([index], ["block"])
            with insert_at(block):
                self.first = ops.muli(block.args[0], const_index(self.width))
                self._steps(self.body)
                self._close()
                build(ops.reduce, [])
            build(ops.parallel, [const_index(0), blocks, const_index(1)], dict(loop.attrs), [], [block])
        put_instead(loop, made.ops)
        loop.drop()

    # Loop distribution ------------------------------------------------------------------------------------------------

    def _steps(self, block: Block) -> None:
        """Append what a block does, but for its terminator."""
        for op in block.ops[:-1]:
            with at_loc(op.loc):
                self._step(op)

    def _step(self, op: Op) -> None:
        kind, differs = op.opdef, self.variation.differs
        if kind in STRUCTURED and op not in self.variation.apart:
            if self._is_uniform(op):
                self._close()
                clone_op(op, self.same)
            elif kind is ops.if_:
                self._branch(op)
            else:
                self._loop(op)
        elif kind is ops.alloc:
            if differs(op.result):
                attrs = {**op.attrs, "type": self._type_of(op.result)}
                self._name(op.results, build(ops.alloc, [self._the_same(v) for v in op.operands], attrs))
            else:
                clone_op(op, self.same)
        elif kind is ops.dealloc:
            self._close()
            clone_op(op, self.same)
        elif kind in WIDENED and differs(op.result):
            self._view(op)
        elif kind in (ops.fill, ops.copy) and differs(op.operands[1]):
            self._close()
            self._all_elements(op)
        elif kind is ops.dim or not any(map(differs, (*op.results, *op.operands))):
            self._before_uniform(op)
            clone_op(op, self.same)
        elif not op.results or not all(map(self._is_recomputed, op.results)):
            self.strip.ops.append(op)

    def _before_uniform(self, op: Op) -> None:
        """End the strip if an operation for all lanes must not come before it: it may end the run, or write to what
        lanes read."""
        if op.opdef in TRAPS and op.attrs.get("check", True):
            self._close()
        elif op.opdef in TARGET:
            of = self.variation.of(op.operands[1])
            inner = [o for step in self.strip.ops for o in with_inner(step)]
            if any(o.opdef is ops.load and self.variation.of(o.operands[0]) is of for o in inner):
                self._close()

    def _is_uniform(self, op: Op) -> bool:
        """Whether nothing differs in an operation, inside it either."""
        return not any(self.variation.differs(v) for o in with_inner(op) for v in (*o.operands, *o.results))

    def _is_recomputed(self, value: Value) -> bool:
        """Whether a number is made of the lane's counter by cheap operations on integers."""
        if value is self.body.args[0]:
            return True
        op = value.op
        if op is None or op.opdef not in PURE or op.regions:
            return False
        if value.type.is_float or isinstance(value.type, MemRefType):
            return False
        return all(v not in self.variation.varying or self._is_recomputed(v) for v in op.operands)

    def _wide(self, t: Type) -> MemRefType:
        """The type of an array with an element for each lane in place of one."""
        assert isinstance(t, MemRefType)
        strides = None
        if t.strides is not None:
            strides = (*(None if stride is None else stride * self.width for stride in t.strides), 1)
        return MemRefType((*t.shape, self.width), t.element, strides)

    def _view(self, op: Op) -> None:
        """Append a view of an array of the lanes, with their dimension as the last one."""
        source, *numbers = (self._the_same(v) for v in op.operands)
        rank, attrs = op.operands[0].type.rank, dict(op.attrs)  # type: ignore[attr-defined]
        wide, zero, one = const_index(self.width), const_index(0), const_index(1)
        if op.opdef is ops.subview:
            offsets, sizes, steps = numbers[:rank], numbers[rank : 2 * rank], numbers[2 * rank :]
            numbers = [*offsets, zero, *sizes, wide, *steps, one]
            attrs["static_steps"] = (*attrs["static_steps"], 1)
        elif op.opdef is ops.transpose:
            attrs["permutation"] = (*attrs["permutation"], rank)
        elif op.opdef is ops.cast:
            attrs["type"] = self._wide(op.result.type)
        else:
            numbers.append(wide)
            attrs["groups"] = (*attrs["groups"], (1, 1))
        self._name(op.results, build(op.opdef, [source, *numbers], attrs))

    def _all_elements(self, op: Op) -> None:
        """Append what sets all elements of an array of the lanes: a loop over the lanes inside loops over elements."""
        source, target = op.operands
        array = self._the_same(target)
        rank = target.type.rank  # type: ignore[attr-defined]
        if op.opdef is ops.fill and not self.variation.differs(source):
            build(ops.fill, [self._the_same(source), array])
            return

        def element(at: list[Value]) -> None:
            def one(lane: _Lane) -> None:
                value = lane.value(source)
                if op.opdef is ops.copy:
                    value = ops.load(value, *at, *([lane.number] if self.variation.differs(source) else []))
                build(ops.store, [value, array, *at, lane.number])

            self._lanes(one)

        nest([ops.dim(array, dim=d) for d in range(rank)], element)

    # What lanes go through together -----------------------------------------------------------------------------------

    def _loop(self, op: Op) -> None:
        """Append a loop that all lanes go through together. Numbers that differ and that it carries are kept in
        buffers; sums of them are taken in order."""
        (body,) = op.regions
        end = body.terminator
        kept = [k for k, r in enumerate(op.results) if self._is_kept(r)]
        same = [k for k in range(len(op.results)) if k not in kept]
        for k in kept:
            self.buffers[op.results[k]] = self._new_buffer(op.results[k])
            self.strip.handed.append((op.operands[3 + k], op.results[k]))
            if op.opdef is ops.for_:
                self.buffers[body.args[1 + k]] = self.buffers[op.results[k]]
        self._close()
        opdef = ops.for_ if kept else op.opdef
        types = [self._type_of(op.results[k]) for k in same]
        block = Block([index, *(types if opdef is ops.for_ else ())])
        self.same[body.args[0]] = block.args[0]
        if op.opdef is ops.for_:
            self.same.update(zip([body.args[1 + k] for k in same], block.args[1:], strict=True))
        for old in body.args:
            if old in self.same:
                self.same[old].hint = old.hint
        with insert_at(block, op.loc):
            self._steps(body)
            if op.opdef is ops.for_:
                self.strip.handed += [(end.operands[k], op.results[k]) for k in kept]
                self._close()
                build(ops.yield_, [self._the_same(end.operands[k]) for k in same])
            elif kept:
                self._add_up(op, kept)
                sums = zip(same, block.args[1:], strict=True)
                build(ops.yield_, [_combined(end, k, so_far, self._the_same(end.operands[k])) for k, so_far in sums])
            else:
                self._close()
                build(end.opdef, [self._the_same(v) for v in end.operands], dict(end.attrs))
        operands = [self._the_same(v) for v in (*op.operands[:3], *(op.operands[3 + k] for k in same))]
        made = build(opdef, operands, dict(op.attrs) if opdef is op.opdef else {}, types, [block])
        self._name([op.results[k] for k in same], made)

    def _add_up(self, op: Op, kept: Sequence[int]) -> None:
        """Append the end of an iteration of a loop that reduces numbers which differ."""
        end = op.regions[0].terminator

        def also(lane: _Lane) -> None:
            buffers = [self.buffers[op.results[k]] for k in kept]
            terms = [lane.value(end.operands[k]) for k in kept]
            for k, buffer, term in zip(kept, buffers, terms, strict=True):
                total = _combined(end, k, ops.load(buffer, lane.number), term)
                build(ops.store, [total, buffer, lane.number])

        self._close(also)

    def _branch(self, op: Op) -> None:
        """Append a branch that all lanes take together."""
        kept = [r for r in op.results if self._is_kept(r)]
        same = [r for r in op.results if r not in kept]
        self.buffers.update((r, self._new_buffer(r)) for r in kept)
        self._close()
        blocks = []
        for region in op.regions:
            block = Block()
            given = region.terminator.operands
            with insert_at(block, op.loc):
                self._steps(region)
                self.strip.handed += [(given[r.index], r) for r in kept]
                self._close()
                build(ops.yield_, [self._the_same(given[r.index]) for r in same])
            blocks.append(block)
        condition = self._the_same(op.operands[0])
        self._name(same, build(ops.if_, [condition], dict(op.attrs), [self._type_of(r) for r in same], blocks))

    def _name(self, results: Sequence[Value], made: Op) -> None:
        for old, new in zip(results, made.results, strict=True):
            new.hint = old.hint
            self.same[old] = new

    def _the_same(self, value: Value) -> Value:
        return self.same.get(value, value)

    def _is_kept(self, result: Value) -> bool:
        """Whether lanes keep a result in a buffer."""
        return not isinstance(result.type, MemRefType) and self.variation.differs(result)

    def _type_of(self, result: Value) -> Type:
        return self._wide(result.type) if self.variation.differs(result) else result.type

    # Strips -----------------------------------------------------------------------------------------------------------

    def _new_buffer(self, value: Value) -> Value:
        return ops.alloc(type=MemRefType((self.width,), value.type))

    def _close(self, also: Callable[[_Lane], None] | None = None) -> None:
        """Append the strip, and begin another one. ``also``: what lanes do at its end."""
        strip, self.strip = self.strip, _Strip()
        if not (strip.ops or strip.handed or also):
            return
        own = set(strip.ops)
        for value in [r for op in strip.ops for r in op.results]:
            if not all(any(around in own for around in with_enclosing(user)) for user, _ in value.uses):
                self.buffers[value] = self._new_buffer(value)

        def one(lane: _Lane) -> None:
            for op in strip.ops:
                with at_loc(op.loc):
                    lane.run(op)
            values = [lane.value(value) for value, _ in strip.handed]
            for value, (_, place) in zip(values, strip.handed, strict=True):
                build(ops.store, [value, self.buffers[place], lane.number])
            if also is not None:
                also(lane)

        self._lanes(one)

    def _lanes(self, body: Callable[[_Lane], None]) -> None:
        def each(number: Value) -> None:
            body(_Lane(self, number))

        loop_of(ops.parallel, const_index(0), const_index(self.width), const_index(1), each, "lane", {BY_LANES: True})


class _Lane:
    """The code of the lane of a given ``number`` in a strip."""

    def __init__(self, sinking: Sinking, number: Value) -> None:
        self.sinking = sinking
        self.number = number
        self.known: Mapping = {}

    def run(self, op: Op) -> None:
        """Append an operation, and keep the results that later strips need."""
        self._clone(op)
        for result in op.results:
            if result in self.sinking.buffers:
                build(ops.store, [self.known[result], self.sinking.buffers[result], self.number])

    def _clone(self, op: Op) -> None:
        """Append a copy; accesses to arrays that exist for each lane become accesses to the lane's own."""
        outside = used_from_outside([op])
        for value in outside:
            self.value(value)
        if self.sinking.variation.stores_outside(op):
            choose(self._is_in_use(), lambda: self._append(op, outside), lambda: None)
        else:
            self._append(op, outside)

    def _is_in_use(self) -> Value:
        return ops.cmpi(ops.addi(self.sinking.first, self.number), self.sinking.last, predicate="sle")

    def _append(self, op: Op, outside: Sequence[Value]) -> None:
        of = self.sinking.variation
        own = {self.known[v] for v in outside if isinstance(v.type, MemRefType) and of.differs(v)}
        for access in list(accesses_of(own, clone_op(op, self.known))):
            access.add_operand(self.number)

    def value(self, value: Value) -> Value:
        """What stands for a value of the loop in this lane."""
        if value not in self.known:
            self.known[value] = self._find(value)
        return self.known[value]

    def _find(self, value: Value) -> Value:
        sinking = self.sinking
        if value in sinking.same or not inside(value, sinking.loop):
            return sinking.same.get(value, value)
        if value is sinking.body.args[0]:
            lower, _, step = sinking.loop.operands[:3]
            at = ops.minsi(ops.addi(sinking.first, self.number), sinking.last)
            return ops.addi(lower, ops.muli(at, step))
        if value in sinking.buffers:
            return ops.load(sinking.buffers[value], self.number)
        assert value.op is not None
        self._clone(value.op)
        return self.known[value]


def _combined(end: Op, k: int, so_far: Value, term: Value) -> Value:
    """The next value of a reduction."""
    kind = end.attrs["kinds"][k]
    attrs = {"fastmath": "reassoc,contract"} if term.type.is_float and kind in ("add", "mul") else {}
    return build(ops.COMBINE[kind][not term.type.is_float], [so_far, term], attrs).result
