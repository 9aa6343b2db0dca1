"""Several steps of a time loop at once, over blocks of rows: the code.

Steps are taken in groups. For each group, a parallel loop runs the blocks, whose edges move inwards from step to step,
and a second one the seams between them, whose edges move outwards. The first block has no lower edge and the last one
no upper edge. In a block, rows are taken in strips from the lowest to the highest. All steps of a strip are done before
the next strip, each step a few rows behind the one before it: so what a strip touches stays in cache, however long the
block is.

Each statement does each of its rows once in each step, by its original code, so results do not depend on groups,
blocks, strips, or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import TRIPS
from adc.ir.rewrite import Mapping, clone_block, clone_op
from adc.ir.steps import GROUPED
from adc.ir.types import MemRefType, Type, i1, index
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.cache.time_parts import without
from adc.passes.cache.time_sizes import STEEP, Measures, Sizes
from adc.passes.cache.time_slopes import Slopes
from adc.passes.cache.time_steps import Statement, Steps


@dataclass(frozen=True)
class _Place:
    """Where in a group we are: the first step, the number of steps, and what the loop over groups carries."""

    start: Value
    count: Value
    buffers: Sequence[Value]
    tables: Sequence[Value]  # of recurrences: the number at each step of the group
    samples: dict[Op, Value]  # of loads from fields: what they found at each step


class Emission:
    """Appends the code that runs ``steps`` in groups at the insertion point."""

    def __init__(self, forms: Forms, steps: Steps, slopes: Slopes, asked: int | None) -> None:
        self.steps = steps
        self.slopes = slopes
        self.asked = asked
        self.emitter = Emitter(forms)
        self.measures = Measures(self.emitter, steps, slopes)
        self.loop = steps.loop
        self.lower, self.upper = self.loop.operands[:2]
        self.limits: list[tuple[Value, Value]] = []

    def condition(self) -> Value | None:
        """The condition under which a step is as it was taken to be; None if it always is."""
        total: Value | None = None
        for value, taken in self.steps.conditions:
            held = value if taken else ops.xori(value, const(True, i1))
            total = held if total is None else ops.andi(total, held)
        return total

    def run(self) -> list[Value]:
        """Append the loop over groups. Returns the values that replace the results of the loop."""
        steps = self.steps
        self.limits = [(self.emitter.value(s.lower), self.emitter.value(s.upper)) for s in steps.statements]
        sizes = self.measures.sizes(self.asked)
        inits = self.loop.operands[3:]
        kept = [*steps.buffers, *steps.recurrences, *steps.series]
        tables = [self._table(inits[k].type, sizes.steps) for k in steps.recurrences]
        samples = {s.op: self._table(s.op.result.type, sizes.steps) for s in steps.statements if s.is_sample}
        block = Block([index, *(inits[k].type for k in kept)], ["group", *(self.loop.results[k].hint for k in kept)])
        with insert_at(block):
            start = block.args[0]
            carried = dict(zip(kept, block.args[1:], strict=True))
            end = ops.minsi(ops.addi(start, sizes.steps), self.upper)
            place = _Place(start, ops.subi(end, start), [carried[k] for k in steps.buffers], tables, samples)
            after = self._tabulate(place, [carried[k] for k in steps.recurrences])
            self._blocks(sizes, place)
            self._seams(sizes, place)
            sums = self._sum(place, [carried[k] for k in steps.series])
            build(ops.yield_, [*self._after(place), *after, *sums])
        attrs = {**self.loop.attrs, GROUPED: True}
        operands = [self.lower, self.upper, sizes.steps, *(inits[k] for k in kept)]
        done = build(ops.for_, operands, attrs, [inits[k].type for k in kept], [block])
        results = dict(zip(kept, done.results, strict=True))
        for table in (*tables, *samples.values()):
            build(ops.dealloc, [table])
        runs = ops.cmpi(self.lower, self.upper, predicate="slt")
        return [results[k] if k in results else ops.select(runs, steps.yields(k), init) for k, init in enumerate(inits)]

    # Groups -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def _table(t: Type, count: Value) -> Value:
        return ops.alloc(count, type=MemRefType((None,), t))

    def _tabulate(self, place: _Place, numbers: Sequence[Value]) -> list[Value]:
        """Compute the recurrences at each step of a group. Returns their values after it."""
        steps = self.steps
        if not numbers:
            return []

        def after(step: Value, carried: list[Value]) -> list[Value]:
            for value, table in zip(carried, place.tables, strict=True):
                build(ops.store, [value, table, step])
            args = steps.body.args
            mapping: Mapping = {args[0]: ops.addi(place.start, step)}
            mapping.update((args[1 + k], v) for k, v in zip(steps.recurrences, carried, strict=True))
            self._flags(mapping)
            mapping.update((args[1 + k], self._now(k, place)) for k in steps.buffers)
            for op in steps.scalars:
                clone_op(op, mapping)
            return [mapping.get(v, v) for v in map(steps.yields, steps.recurrences)]

        return self._carrying(place, numbers, after)

    def _sum(self, place: _Place, sums: Sequence[Value]) -> list[Value]:
        """The values of series after a group, from what was noted in each of its steps."""
        steps = self.steps
        if not sums:
            return []

        def after(step: Value, carried: list[Value]) -> list[Value]:
            mapping = self._scalars(place, step, place.buffers)
            mapping.update((steps.body.args[1 + k], v) for k, v in zip(steps.series, carried, strict=True))
            for op in steps.summing:
                if op in place.samples:
                    mapping[op.result] = ops.load(place.samples[op], step)
                else:
                    clone_op(op, mapping)
            return [mapping.get(v, v) for v in map(steps.yields, steps.series)]

        return self._carrying(place, sums, after)

    @staticmethod
    def _carrying(
        place: _Place, numbers: Sequence[Value], after: Callable[[Value, list[Value]], list[Value]]
    ) -> list[Value]:
        """Append a loop over the steps of a group, whose steps ``after`` builds; return the ``numbers`` after it."""
        block = Block([index, *(v.type for v in numbers)], ["step", *(v.hint for v in numbers)])
        with insert_at(block):
            step, *carried = block.args
            build(ops.yield_, after(step, carried))
        limits = [const_index(0), place.count, const_index(1)]
        return list(build(ops.for_, [*limits, *numbers], {}, [v.type for v in numbers], [block]).results)

    def _scalars(self, place: _Place, step: Value, buffers: Sequence[Value]) -> Mapping:
        """Append the scalars of a step, which is determined by what it carries."""
        steps, args = self.steps, self.steps.body.args
        mapping: Mapping = {args[1 + k]: v for k, v in zip(steps.buffers, buffers, strict=True)}
        mapping[args[0]] = ops.addi(place.start, step)
        self._flags(mapping)
        for k, table in zip(steps.recurrences, place.tables, strict=True):
            mapping[args[1 + k]] = ops.load(table, step)
        for op in steps.scalars:
            clone_op(op, mapping)
        return mapping

    def _now(self, position: int, place: _Place) -> Value:
        return place.buffers[self.steps.buffers.index(position)]

    def _flags(self, mapping: Mapping) -> None:
        """Compute the flags of a step, which are the same from the second step on."""
        args = self.steps.body.args
        for k in self.steps.flags:
            is_first = ops.cmpi(mapping[args[0]], self.lower, predicate="eq")
            mapping[args[1 + k]] = ops.select(is_first, self.loop.operands[3 + k], self.steps.yields(k))

    def _after(self, place: _Place) -> Sequence[Value]:
        """The buffers after a group."""
        return self._in_steps(place, None) if place.buffers else ()

    def _in_steps(self, place: _Place, body: Callable[[Value, Mapping], None] | None) -> Sequence[Value]:
        """Append a loop over the steps of a group, each built by ``body``. Returns the buffers after it."""
        steps = self.steps
        args = steps.body.args
        hints = [args[1 + k].hint for k in steps.buffers]
        block = Block([index, *(v.type for v in place.buffers)], ["step", *hints])
        with insert_at(block):
            step, *buffers = block.args
            mapping: Mapping = {args[1 + k]: v for k, v in zip(steps.buffers, buffers, strict=True)}
            if body is not None:
                mapping = self._scalars(place, step, buffers)
                mapping.update((op.result, table) for op, table in place.samples.items())
                body(step, mapping)
            build(ops.yield_, [mapping[v] for v in map(steps.yields, steps.buffers)])
        limits = [const_index(0), place.count, const_index(1)]
        types = [v.type for v in place.buffers]
        return build(ops.for_, [*limits, *place.buffers], {}, types, [block]).results

    # Blocks and seams -------------------------------------------------------------------------------------------------

    def _edge(self, sizes: Sizes, number: Value) -> Value:
        """The first row of a block."""
        rows = ops.subi(sizes.last, sizes.first)
        return ops.addi(sizes.first, ops.floordivsi(ops.muli(rows, number), sizes.blocks))

    def _blocks(self, sizes: Sizes, place: _Place) -> None:
        slopes, one = self.slopes, const_index(1)

        def block(number: Value) -> None:
            following = ops.addi(number, one)
            is_first = ops.cmpi(number, const_index(0), predicate="eq")
            is_last = ops.cmpi(following, sizes.blocks, predicate="eq")
            begin, end = self._edge(sizes, number), self._edge(sizes, following)
            behind = ops.addi(
                ops.muli(ops.subi(place.count, one), const_index(slopes.upper)), const_index(max(slopes.upper_offsets))
            )
            stop = ops.select(is_last, ops.addi(end, behind), end)

            def strip(row: Value) -> None:
                top = ops.addi(row, sizes.strip)

                def step(step: Value, mapping: Mapping) -> None:
                    up, down = (ops.muli(step, const_index(n)) for n in (slopes.lower, slopes.upper))
                    for n, statement in enumerate(self.steps.statements):
                        low, high = self.limits[n]
                        inner = ops.addi(begin, ops.addi(up, const_index(slopes.lower_offsets[n])))
                        shift = ops.addi(down, const_index(slopes.upper_offsets[n]))
                        outer = ops.subi(end, shift)
                        low = ops.select(is_first, low, ops.maxsi(low, inner))
                        high = ops.select(is_last, high, ops.minsi(high, outer))
                        low, high = ops.maxsi(low, ops.subi(row, shift)), ops.minsi(high, ops.subi(top, shift))
                        self._statement(statement, step, low, high, mapping)

                self._in_steps(place, step)

            _loop(begin, stop, sizes.strip, strip)

        _parallel(const_index(0), sizes.blocks, block)

    def _seams(self, sizes: Sizes, place: _Place) -> None:
        slopes = self.slopes

        def seam(number: Value) -> None:
            edge = self._edge(sizes, number)

            def step(step: Value, mapping: Mapping) -> None:
                up, down = (ops.muli(step, const_index(n)) for n in (slopes.lower, slopes.upper))
                for n, statement in enumerate(self.steps.statements):
                    low, high = self.limits[n]
                    below = ops.subi(edge, ops.addi(down, const_index(slopes.upper_offsets[n])))
                    above = ops.addi(edge, ops.addi(up, const_index(slopes.lower_offsets[n])))
                    self._statement(statement, step, ops.maxsi(low, below), ops.minsi(high, above), mapping)

            self._in_steps(place, step)

        _parallel(const_index(1), sizes.blocks, seam)

    def _statement(self, statement: Statement, step: Value, low: Value, high: Value, mapping: Mapping) -> None:
        """Append what ``statement`` does in a step to the rows from ``low`` to ``high``."""
        condition: Value | None = ops.cmpi(low, high, predicate="slt") if statement.is_row else None
        for value, taken in statement.guards:
            value = mapping.get(value, value)
            if not taken:
                value = ops.xori(value, const(True, i1))
            condition = value if condition is None else ops.andi(condition, value)
        mapping = dict(mapping)

        def rows() -> None:
            for op in statement.before:
                clone_op(op, mapping)
            op = statement.op
            if statement.is_sample:
                table = mapping[op.result]
                clone_op(op, mapping)
                build(ops.store, [mapping[op.result], table, step])
                return
            if statement.is_row:
                copy = clone_op(op, mapping)
            else:
                body = clone_block(op.regions[0], mapping)
                operands = [low, high, mapping.get(op.operands[2], op.operands[2])]
                copy = build(ops.parallel, operands, dict(op.attrs), [], [body], op.loc)
                if TRIPS not in copy.attrs:
                    copy.set_attr(TRIPS, STEEP)
            if statement.keep is not None:
                without(copy, op, statement.keep)
            copy.drop_attr("threads")
            for region in copy.regions:
                for inner in region.walk():
                    inner.drop_attr("threads")

        if condition is None:
            rows()
        else:
            then, other = Block(), Block()
            with insert_at(then):
                rows()
                build(ops.yield_, [])
            with insert_at(other):
                build(ops.yield_, [])
            build(ops.if_, [condition], {}, [], [then, other])


def _loop(lower: Value, upper: Value, step: Value, body: Callable[[Value], None]) -> Op:
    block = Block([index], ["row"])
    with insert_at(block):
        body(block.args[0])
        build(ops.yield_, [])
    return build(ops.for_, [lower, upper, step], {}, [], [block])


def _parallel(lower: Value, upper: Value, body: Callable[[Value], None]) -> Op:
    block = Block([index], ["block"])
    with insert_at(block):
        body(block.args[0])
        build(ops.reduce, [])
    return build(ops.parallel, [lower, upper, const_index(1)], {"threads": True}, [], [block])
