"""How many steps of a time loop are run at once, over blocks of how many rows: computed at run time, from extents."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.analysis.affine import Form
from adc.passes.analysis.form_conditions import Emitter
from adc.passes.analysis.machine import machine
from adc.passes.cache.time_slopes import Slopes
from adc.passes.cache.time_steps import NO_AXIS, Statement, Steps

MOST_BLOCKS = 64  # as many as many threads need
STEEP = 4  # a block is at least so many times as high as its edges move
MOST_STEPS = 16
LEAST_STEPS = 8
STRIP_BYTES = 16 << 10  # of a strip's rows, about


@dataclass(frozen=True)
class Sizes:
    """Values computed before the loop: steps of a group, rows of a strip, the range of all rows, number of blocks."""

    steps: Value
    strip: Value
    first: Value
    last: Value
    blocks: Value


@dataclass(frozen=True)
class Measures:
    """Sizes of one time loop, computed by code at the insertion point."""

    emitter: Emitter
    steps: Steps
    slopes: Slopes

    def pays(self) -> Value:
        """Append the condition that the fields are larger than the caches and there are enough steps."""
        first, last = self._range()
        lower, upper = self.steps.loop.operands[:2]
        size = ops.muli(self._row_bytes(), ops.subi(last, first))
        large = ops.cmpi(size, const_index(machine().last_cache_bytes), predicate="sgt")
        several = ops.cmpi(ops.subi(upper, lower), const_index(2), predicate="sge")
        return ops.andi(large, several)

    def _range(self) -> tuple[Value, Value]:
        """The first row of all statements and the one after the last."""
        first: Value | None = None
        last: Value | None = None
        for statement in self.steps.statements:
            low, high = (self.emitter.value(f) for f in (statement.lower, statement.upper))
            if statement.is_row:
                low = self._valid(statement, low)
                high = ops.addi(low, const_index(1))
            first = low if first is None else ops.minsi(first, low)
            last = high if last is None else ops.maxsi(last, high)
        assert first is not None and last is not None
        return first, ops.maxsi(first, last)

    def _valid(self, statement: Statement, row: Value) -> Value:
        """A row within the field: that of a statement that does not run may be any number."""
        touch = next((t for t in statement.touches if self.steps.rows[t.field] != NO_AXIS), None)
        if touch is None:
            return row
        extent = self._extent(touch.access.base, self.steps.rows[touch.field])
        return ops.minsi(ops.maxsi(row, const_index(0)), extent)

    def _extent(self, memref: Value, axis: int) -> Value:
        return self.emitter.value(self.emitter.forms.extent(self._outside(memref), axis))

    def _outside(self, memref: Value) -> Value:
        """An array from before the loop that has the initial extents of ``memref``."""
        if memref.owner is self.steps.body:
            return self.steps.loop.operands[2 + memref.index]
        return memref

    def _row_bytes(self) -> Value:
        """The approximate size in memory of one row of all statements."""
        total = const_index(0)
        for base, axis in self._along_rows().items():
            assert isinstance(base.type, MemRefType)
            size = const_index(scalar_bytes(base.type.element))
            for d in range(base.type.rank):
                if d not in axis:
                    size = ops.muli(size, self._extent(base, d))
            total = ops.addi(total, size)
        return ops.maxsi(total, const_index(1))

    def _along_rows(self) -> dict[Value, set[int]]:
        """The arrays that have rows, and their axes along which a row has one element: that of rows, and that of
        time."""
        forms = self.emitter.forms
        found: dict[Value, set[int]] = {}
        time = forms.symbol(self.steps.body.args[0])
        for statement in self.steps.statements:
            if not statement.is_nest or statement.is_row:
                continue
            counter = Form.symbol(forms.symbol(statement.op.regions[0].args[0]))
            for access in statement.accesses:
                where = access.where or ()
                rows = [d for d, (low, high) in enumerate(where) if low is high and (low - counter).is_constant]
                if rows and isinstance(access.base.type, MemRefType) and access.base.type.element.is_float:
                    stepped = {d for d, (low, _) in enumerate(where) if time in low.symbols()}
                    found.setdefault(access.base, {rows[0], *stepped})
        return found

    def sizes(self, asked: int | None) -> Sizes:
        """Append the computation of all sizes. ``asked``: the number of steps in a group, if it is given."""
        slopes = self.slopes
        lower, upper = self.steps.loop.operands[:2]
        first, last = self._range()
        row = self._row_bytes()
        own = max(slopes.upper_offsets) + slopes.reach + 1
        strip = ops.maxsi(ops.minsi(ops.floordivsi(const_index(STRIP_BYTES), row), const_index(4096)), const_index(1))
        if asked is not None:
            count = const_index(asked)
        else:
            rows = ops.floordivsi(const_index(machine().second_cache_bytes), row)
            room = ops.subi(ops.subi(rows, strip), const_index(own))
            count = ops.floordivsi(room, const_index(max(1, slopes.upper)))
            count = ops.maxsi(ops.minsi(count, const_index(MOST_STEPS)), const_index(LEAST_STEPS))
        count = ops.maxsi(ops.minsi(count, ops.subi(upper, lower)), const_index(1))
        moved = ops.muli(ops.subi(count, const_index(1)), const_index(slopes.lower + slopes.upper))
        offsets = max(slopes.lower_offsets) + max(slopes.upper_offsets) + slopes.reach
        least = ops.muli(ops.maxsi(ops.addi(moved, const_index(offsets)), strip), const_index(STEEP))
        blocks = ops.floordivsi(ops.subi(last, first), ops.maxsi(least, const_index(1)))
        blocks = ops.maxsi(ops.minsi(blocks, const_index(MOST_BLOCKS)), const_index(1))
        return Sizes(count, strip, first, last, blocks)
