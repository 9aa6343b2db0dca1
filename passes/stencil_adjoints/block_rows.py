"""The rows of blocks: terms of a row's iterations go to buffers, one for each shift, and are then added to the shadow.

Both loops are SIMD. Buffers are padded with minus zero, which changes nothing, so that all terms of a row can be added
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import Mapping as Copies
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Form
from adc.passes.building import choose, parallel_loop, sum_of
from adc.passes.rewrite import put_instead
from adc.passes.stencil_adjoints.stencils import Stencil

STRIP = 256
"""The most elements that the iterations of a block which runs in order are spread over: whole vectors, and few enough
for buffers in the frame."""


@dataclass(frozen=True)
class Row:
    """The iterations along the last axis, as counters; ``count``: the numbers from the first to the end, gaps included.
    """

    lower: Value
    upper: Value
    count: Value


@dataclass(frozen=True)
class Target:
    """The elements that terms with ``shifts`` are added to: the shifts differ only in their last numbers."""

    stencil: Stencil
    shifts: Sequence[tuple[int, ...]]
    buffers: Sequence[Value]

    @property
    def least(self) -> int:
        return self.shifts[0][-1]

    @property
    def greatest(self) -> int:
        return self.shifts[-1][-1]


@dataclass(frozen=True)
class Rows:
    """The rows of ``stencils``, which share their loops; ``steps`` are the steps of the loops.

    ``fresh``: arrays whose elements, if the condition holds, have not been added to unless an earlier block reaches
    them. ``value`` computes a form of what is known before the nest.
    """

    stencils: Sequence[Stencil]
    steps: Sequence[int]
    fresh: Mapping[Value, Value]
    value: Callable[[Form], Value]

    @property
    def strip(self) -> int | None:
        """The iterations of a block whose row buffers are in the frame; None if they cannot be."""
        if len(self.steps) > 1 or 2 * max(self.pad(stencil.shifts) for stencil in self.stencils) > STRIP:
            return None
        return STRIP // self.steps[-1] or None

    def targets(self, row: Row, *, in_frame: bool) -> list[Target]:
        """The elements that the terms of a row are added to, with buffers for the terms."""
        found = []
        for stencil in self.stencils:
            outer = dict.fromkeys(shift[:-1] for shift in stencil.shifts)
            for place in outer:
                shifts = [shift for shift in stencil.shifts if shift[:-1] == place]
                found.append(Target(stencil, shifts, [self._buffer(stencil, shifts, row, in_frame) for _ in shifts]))
        return found

    def pad(self, shifts: Sequence[tuple[int, ...]]) -> int:
        return (shifts[-1][-1] - shifts[0][-1]) * self.steps[-1]

    def _buffer(self, stencil: Stencil, shifts: Sequence[tuple[int, ...]], row: Row, in_frame: bool) -> Value:
        """A buffer for the terms of a row, with neutral ones at both ends, where only other shifts have terms."""
        base = stencil.base.type
        assert isinstance(base, MemRefType)
        pad = self.pad(shifts)
        if not in_frame:
            buffer = ops.alloc(ops.addi(row.count, const_index(2 * pad)), type=MemRefType((None,), base.element))
        else:
            buffer = ops.alloc(type=MemRefType((STRIP + 2 * pad,), base.element))
        nothing = const(-0.0, base.element)
        if self.steps[-1] != 1:  # only some elements are terms, at equal distances
            parallel_loop(
                const_index(0),
                ops.addi(row.count, const_index(2 * pad)),
                lambda x: _store(nothing, buffer, x),
            )
        elif pad:
            for begin in (const_index(0), ops.addi(row.count, const_index(pad))):
                end = ops.addi(begin, const_index(pad))
                parallel_loop(begin, end, lambda x: _store(nothing, buffer, x))
        return buffer

    def keep_terms(self, mapping: Copies, body: Block, row: Row, targets: Sequence[Target]) -> None:
        """Let the innermost loop store terms in buffers instead of adding them."""
        old = self.stencils[0].loops[-1].regions[0]
        gone = {term.op for target in targets for term in target.stencil.terms}
        end = body.terminator
        kept = []
        for before, copied in zip(old.ops[:-1], body.ops[:-1], strict=True):
            if before in gone:
                copied.drop()
            else:
                kept.append(copied)
        body.set_ops(kept)
        with insert_at(body):
            for target in targets:
                at = ops.addi(ops.subi(body.args[0], row.lower), const_index(self.pad(target.shifts)))
                for shift, buffer in zip(target.shifts, target.buffers, strict=True):
                    terms = [mapping.get(t.value, t.value) for t in target.stencil.terms if t.shift == shift]
                    _store(sum_of(terms), buffer, at)
        body.append(end)

    def add(self, bodies: Sequence[Block], row: Row, targets: Sequence[Target]) -> None:
        """After the innermost loop, add the contents of the buffers to the shadows."""
        inner = bodies[-1].parent_op
        assert inner is not None
        added = Block()
        with insert_at(added):
            outer = [body.args[0] for body in bodies[:-1]]
            for target in targets:
                self._add_to(target, row, outer)
        put_instead(inner, [inner, *added.ops])

    def _add_to(self, target: Target, row: Row, outer: Sequence[Value]) -> None:
        step, base, pad = self.steps[-1], target.stencil.base, self.pad(target.shifts)
        lower = ops.addi(row.lower, const_index(target.least * step))
        upper = ops.addi(row.upper, const_index(target.greatest * step))
        # Without iterations nothing is added, however far apart the shifts are.
        upper = ops.select(ops.cmpi(row.lower, row.upper, predicate="slt"), upper, lower)

        def total(x: Value) -> Value:
            terms = []
            for shift, buffer in zip(target.shifts, target.buffers, strict=True):
                at = ops.addi(ops.subi(x, row.lower), const_index(pad - shift[-1] * step))
                terms.append(ops.load(buffer, at))
            return sum_of(terms)

        def store(x: Value) -> None:
            build(ops.store, [total(x), base, *self._element(target, [*outer, x])])

        def add(x: Value) -> None:
            element = self._element(target, [*outer, x])
            build(ops.store, [ops.addf(ops.load(base, *element), total(x)), base, *element])

        fresh = self.fresh.get(base)
        if fresh is None:
            parallel_loop(lower, upper, add, step=step)
            return
        middle = ops.minsi(upper, ops.addi(row.lower, const_index(target.greatest)))
        parallel_loop(lower, middle, add)
        choose(fresh, lambda: parallel_loop(middle, upper, store), lambda: parallel_loop(middle, upper, add))

    def _element(self, target: Target, at: Sequence[Value]) -> list[Value]:
        """The subscripts of an element. ``at``: the counters of the outer loops in the iteration that adds, and the
        counter of the last loop in the iteration that would add to the element without a shift."""
        stencil, found = target.stencil, []
        for axis, origin in zip(stencil.axes, stencil.origin, strict=True):
            if axis is None:
                found.append(self.value(origin))
                continue
            moved = 0 if axis == len(self.steps) - 1 else target.shifts[0][axis] * self.steps[axis]
            offset = origin + moved
            found.append(ops.addi(at[axis], self.value(offset)) if offset.terms else at[axis])
        return found


def _store(value: Value, buffer: Value, at: Value) -> None:
    build(ops.store, [value, buffer, at])
