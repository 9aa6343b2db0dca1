"""Two-phase blocks: terms are scattered, each iteration runs once, and no two blocks meet.

The iterations along the first axis on which terms are apart are cut into blocks. In the first phase each block runs all
but its last few iterations, as many as the stencil is long (its *rim*); what these iterations add does not touch the
neighbours' elements. In the second phase, after a barrier, the rims run. They do not touch each other because a block
is at least twice as long as the stencil. Blocks of one phase run in parallel, and the order in which each element gets
its terms does not depend on threads. If terms are apart only along the last of several axes, rows are independent, and
there is one phase. A loop that does not run on threads, because one around it does, has no phases: its blocks run in
order.

Axes before that axis are counted through together with the blocks. Within a block the axes from there on run in order.
Along the last axis the terms of all iterations are computed into row buffers, one for each shift, and then added to the
shadow, row by row: both loops are SIMD. Buffers are padded with minus zero, which changes nothing, so that all terms of
a row can be added at once.

The loop keeps everything else that it does, so the terms of several shadows are computed together, and nothing is
computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import TRIPS
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import i1, index
from adc.passes.analysis.affine import Form
from adc.passes.analysis.conflicts import Group, has_accumulate
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.building import choose
from adc.passes.distribution.fission import Fission
from adc.passes.rewrite import put_instead, to_sequential
from adc.passes.stencil_adjoints.block_rows import Row, Rows
from adc.passes.stencil_adjoints.fills import Cleared, fill_around, middle, zeros_before
from adc.passes.stencil_adjoints.gather import Axis
from adc.passes.stencil_adjoints.stencils import Stencil, recognise

LENGTH = {1: 16384, 2: 32}  # the most iterations of a block along the axis cut, by the number of axes from there
SHORT = 16
LEAST = {1: 1024}  # and the least
FEW = 8
BLOCKS = 64
"""The number of blocks, if they do not get too short: what many threads need."""


@dataclass(frozen=True)
class Blocks:
    """Terms of the stencils, which share their loops; no two stencils add to one element."""

    stencils: Sequence[Stencil]

    @property
    def loops(self) -> tuple[Op, ...]:
        return self.stencils[0].loops

    @property
    def axis(self) -> int:
        """The axis that is cut into blocks."""
        last = len(self.loops) - 1
        apart = (k for k in range(last) if self._span(k))
        return next(apart, max(0, last - 1))

    @property
    def span(self) -> int:
        """The distance along the axis from which two iterations cannot meet."""
        return self._span(self.axis)

    def _span(self, level: int) -> int:
        spans = (stencil.span(level) for stencil in self.stencils)
        return max(greatest - least for least, greatest in spans)

    @property
    def length(self) -> int:
        """The most iterations of a block along the axis."""
        return max(LENGTH.get(len(self.loops) - self.axis, SHORT), 2 * self.span)

    def length_for(self, trips: Value) -> Value:
        """The length for a total number of iterations; it does not depend on threads."""
        share = ops.ceildivsi(trips, const_index(BLOCKS))
        least = min(self.length, max(LEAST.get(len(self.loops), FEW), 2 * self.span))
        return ops.minsi(ops.maxsi(share, const_index(least)), const_index(self.length))


def blocks_for(fission: Fission, groups: Sequence[Group]) -> Blocks | None:
    """Blocks for all ``groups``, if terms are at constant offsets and the loop only adds to their arrays."""
    stencils: list[Stencil] = []
    for group, _ in groups:
        found = recognise(fission, group)
        if isinstance(found, str):
            return None
        stencils += found
    if any(stencil.loops != stencils[0].loops for stencil in stencils):
        return None
    group_of = {op: n for n, (group, _) in enumerate(groups) for op in group}
    accesses = fission.accesses.found
    for target in accesses:
        if target.op not in group_of:
            continue
        others = (a for a in accesses if group_of.get(a.op) != group_of[target.op])
        if any(not fission.analysis.apart(a, target, fission.loop) for a in others):
            return None
    blocks = Blocks(stencils)
    outside = [op for loop in blocks.loops[: blocks.axis] for op in loop.regions[0].ops[:-1] if op not in blocks.loops]
    if blocks.axis and (fission.loop.results or any(not op.opdef.pure for op in outside)):
        return None  # each block would do that again
    return blocks


def build_blocks(fission: Fission, blocks: Blocks, block: Block, *, threads: bool) -> Op:
    """Append the two phases to ``block``. Their results replace the loop's, which is left without users. Arrays that
    are zeroed right before are zeroed block by block instead. Returns the loop over blocks."""
    return _Builder(fission, blocks, block, threads=threads, fresh={}).build()


class _Builder:
    """``fresh``: arrays whose elements, if the condition holds, have not been added to unless an earlier block reaches
    them."""

    def __init__(
        self, fission: Fission, blocks: Blocks, block: Block, *, threads: bool, fresh: dict[Value, Value]
    ) -> None:
        self.fission = fission
        self.fresh = fresh
        self.threads = threads
        self.loop = fission.loop
        self.blocks = blocks
        self.emitter = Emitter(fission.analysis.forms)
        self.steps = [_step(loop) for loop in blocks.loops]
        self.before = block
        self.kinds = self.loop.regions[0].terminator.attrs["kinds"]
        self.rows = Rows(blocks.stencils, self.steps, fresh, self._value)
        self.strip = self.rows.strip if blocks.span else None
        self.cleared = self._take_over_zeros()

    def _take_over_zeros(self) -> list[Cleared]:
        """The arrays that blocks set to zero. Each block zeroes its part of the domain, moved so that earlier blocks
        have added nothing there: blocks of the first phase leave out their rims, and reach into the next block's part
        by all but the least shift; blocks that run in order reach into it by all but the greatest.
        """
        found, stencils, axis = [], self.blocks.stencils, self.blocks.axis
        for stencil in stencils:
            fill = zeros_before(self.fission.analysis, stencil, self.before.ops)
            if fill is None or sum(other.base is stencil.base for other in stencils) > 1:
                continue
            shift = list(middle(stencil))
            shift[axis] = stencil.span(axis)[0 if self.threads else 1]
            axes = [Axis(self.fission.analysis.forms, loop, self.before) for loop in stencil.loops]
            fill_around(fill, stencil, axes, shift, self.before)
            if self.strip is None or self.threads:
                found.append(Cleared(stencil, axes, shift))
            else:
                self.fresh[stencil.base] = const(1, i1)
        return found

    def build(self) -> Op:
        if not self.blocks.span:
            return self._phase(None, self.loop.operands[3:])
        if not self.threads:
            loop = self._phase(None, self.loop.operands[3:])
            in_order = to_sequential(loop)
            put_instead(loop, [in_order])
            return in_order
        loop, types = self.loop, [r.type for r in self.loop.results]
        phase = Block([index, *types], ["phase", *(r.hint for r in loop.results)])
        with insert_at(phase):
            first = ops.cmpi(phase.args[0], const_index(0), predicate="eq")
            over = self._phase(first, phase.args[1:])
            build(ops.yield_, over.results)
        phases = build(ops.for_, [*map(const_index, (0, 2, 1)), *loop.operands[3:]], {}, types, [phase])
        self._stand_in(phases)
        if self.strip is not None:
            self._strips(over, first)
        return over

    def _strips(self, over: Op, first: Value) -> None:
        """In each block of a nest of one loop, let short blocks run in order."""
        fresh = {cleared.stencil.base: first for cleared in self.cleared}
        new = over.regions[0].in_place_of()
        for op in over.regions[0].ops:
            new.append(op)
            if op.opdef is not ops.parallel or not has_accumulate(op):
                continue
            with insert_at(new, op.loc):
                fission = Fission(self.fission.analysis, op)
                _Builder(fission, self._of_copy(op), new, threads=False, fresh=fresh).build()
            new.set_ops([o for o in new.ops if o is not op])
            op.drop()
        over.regions[0].set_ops(new.ops)

    def _of_copy(self, copy: Op) -> Blocks:
        """The same blocks for ``copy``, which is the loop for some of its iterations. The copy cannot be analysed
        again: of memory that it loads, such as parts of a tape, nothing is known."""
        twin = dict(zip(self.loop.regions[0].walk(), copy.regions[0].walk(), strict=True))
        twin[self.loop] = copy
        return Blocks(
            [
                replace(
                    stencil,
                    loops=tuple(twin[loop] for loop in stencil.loops),
                    terms=[replace(t, op=twin[t.op], value=twin[t.op].operands[0]) for t in stencil.terms],
                )
                for stencil in self.blocks.stencils
            ]
        )

    def _stand_in(self, new: Op) -> None:
        for old, result in zip(self.loop.results, new.results, strict=True):
            result.hint = old.hint
            old.replace_uses(result)

    def _phase(self, first: Value | None, carried: Sequence[Value]) -> Op:
        """Append the loop over the blocks, for the ``first`` phase, the second, or both in one."""
        blocks, body = self.blocks, Block([index], ["block"])
        axes = [self._bounds(level) for level in range(blocks.axis + 1)]
        counts = [trip_count(lower, upper, const_index(s)) for (lower, upper), s in zip(axes, self.steps, strict=False)]
        in_frame = self.strip if not self.threads else None
        length = blocks.length_for(counts[-1]) if in_frame is None else const_index(in_frame)
        counts[-1] = ops.ceildivsi(counts[-1], length)
        with insert_at(body):
            number, starts = body.args[0], list[Value]()
            for level in range(blocks.axis, -1, -1):
                place = ops.remsi(number, counts[level]) if level else number
                number = ops.divsi(number, counts[level]) if level else number
                each = ops.muli(place, const_index(self.steps[level]))
                if level == blocks.axis:
                    each = ops.muli(each, length)
                starts.insert(0, ops.addi(axes[level][0], each))
            build(ops.reduce, self._block(starts, axes[-1][1], length, first), {"kinds": self.kinds})
        total = counts[0]
        for count in counts[1:]:
            total = ops.muli(total, count)
        operands = [const_index(0), total, const_index(1), *carried]
        attrs = {"threads": True} if self.threads else {}
        made = build(ops.parallel, operands, attrs, [r.type for r in self.loop.results], [body])
        if first is None:
            self._stand_in(made)
        return made

    def _bounds(self, level: int) -> tuple[Value, Value]:
        """The bounds of an axis, computed before the nest."""
        forms = self.fission.analysis.forms
        lower, upper = (self._value(forms.of(v)) for v in self.blocks.loops[level].operands[:2])
        return lower, upper

    def _block(
        self, starts: Sequence[Value], upper: Value, length: Value, first: Value | None
    ) -> Sequence[Value]:
        """Append one phase of a block of ``length`` iterations, and return what it reduces. ``starts``: where it starts
        on the axes up to that of blocks, which ends at ``upper``."""
        loop, blocks, start, step = self.loop, self.blocks, starts[-1], self.steps[self.blocks.axis]
        # The length that is left is compared, not the end: a sum could wrap around.
        left = ops.subi(upper, start)
        end = ops.addi(start, ops.minsi(left, ops.muli(length, const_index(step))))
        whole, middle = end, end
        if first is not None:
            core = ops.muli(ops.subi(length, const_index(blocks.span)), const_index(step))
            middle = ops.addi(start, ops.minsi(left, core))
            start, end = ops.select(first, start, middle), ops.select(first, middle, end)
        bounds = [(x, ops.addi(x, const_index(s))) for x, s in zip(starts[:-1], self.steps, strict=False)]
        bounds.append((start, end))
        in_strips = first is not None and self.strip is not None
        if first is not None:
            choose(first, lambda: self._clear(bounds[:-1], starts[-1], middle, whole), lambda: None)
        else:
            self._clear(bounds[:-1], start, end, end)
        row = self._row(start, end)
        in_frame = not self.threads and self.strip is not None
        targets = [] if in_strips else self.rows.targets(row, in_frame=in_frame)
        neutral = [const(ops.NEUTRAL[kind], r.type) for kind, r in zip(self.kinds, loop.results, strict=True)]
        mapping: Mapping = {}
        copy = clone_op(loop, mapping)
        copy.drop_attr("threads")
        for k, value in enumerate(neutral):
            copy.set_operand(3 + k, value)
        bodies = [self._copied(mapping, axis.regions[0]) for axis in blocks.loops]
        for body, (lower, upper) in zip(bodies, bounds, strict=False):
            assert body.parent_op is not None
            body.parent_op.set_operand(0, lower)
            body.parent_op.set_operand(1, upper)
        if in_strips:
            return copy.results  # see ``_strips``
        self.rows.keep_terms(mapping, bodies[-1], row, targets)
        self.rows.add(bodies, row, targets)
        for level in range(len(bodies) - 2, -1, -1):
            old = bodies[level].parent_op
            assert old is not None
            new = to_sequential(old)
            if level <= blocks.axis:
                new.set_attr(TRIPS, blocks.length if level == blocks.axis else 1)
            put_instead(old, [new])
            copy = new if old is copy else copy
        return copy.results

    def _clear(self, before: Sequence[tuple[Value, Value]], start: Value, middle: Value, end: Value) -> None:
        """Append the code that sets the block's part of arrays to zero: iterations ``start`` to ``end`` along the axis
        of blocks, and the ranges ``before`` along the axes before it. Strips up to ``middle`` store instead of adding
        first."""
        after = [self._bounds(level) for level in range(len(before) + 1, len(self.blocks.loops))]
        for cleared in self.cleared:
            parts = [(start, end)]
            if self.strip is not None:
                least, greatest = cleared.stencil.span(0)
                reach = const_index(greatest - least)
                parts = [(start, ops.addi(start, reach)), (ops.addi(middle, reach), end)]
            for part in parts:
                cleared.clear([*before, part, *after])

    def _copied(self, mapping: Mapping, block: Block) -> Block:
        """The copy of ``block``, which is the body of a loop."""
        copy = mapping[block.args[0]].owner
        assert isinstance(copy, Block)
        return copy

    def _value(self, form: Form) -> Value:
        """A form of values known before the nest, computed there."""
        with insert_at(self.before):
            return self.emitter.value(form)

    def _row(self, lower: Value, upper: Value) -> Row:
        """The last axis; if there is only one axis, the block from ``lower`` to ``upper``."""
        if len(self.blocks.loops) > 1:
            lower, upper = self._bounds(len(self.blocks.loops) - 1)
        return Row(lower, upper, ops.maxsi(ops.subi(upper, lower), const_index(0)))


def _step(loop: Op) -> int:
    step = constant_of(loop.operands[2])
    assert step is not None
    return int(step)
