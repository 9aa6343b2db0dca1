"""A short row that all rows of an array are combined with is repeated, so that the nest goes through more elements.

In ``for each i: for each j: b[i, j] = f(a[i, j], c[j])`` the inner loop fills no SIMD register if rows are short, and
``coalesce-loops`` cannot join the two: all rows are combined with the same ``c``. So ``c`` is written into a buffer
several times in succession, and the nest goes through as many rows at a time: ``for each period p: for each k: b[p + k]
= f(a[p + k], several_c[k])``. If the reverse sweep adds to elements of a row, ``d[j] += a[i, j]``, it adds to a buffer
of as many rows, which are added to ``d`` at the end. If rows are long enough, or few, the same nest accesses them as
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import PEELED, UNORDERED
from adc.ir.nesting import having, inside
from adc.ir.types import MemRefType, index
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extents import Extents, shadowed
from adc.passes.analysis.kinds import ELEMENT, ELEMENT_WRITES, PURE, TERMINATORS, accessed
from adc.passes.analysis.machine import machine
from adc.passes.building import chosen, loop_of, parallel_loop, strip, window
from adc.passes.rewrite import put_instead, replace_op
from adc.passes.simd.coalesce_loops import access_row, alone_in, as_row, dimensions, is_plain

_DONE = PURE | TERMINATORS | {ops.if_}

WORTH = 2
"""The least number of periods for which rows are repeated: buffers are filled for each run of a nest."""


@dataclass(frozen=True)
class RepeatRows:
    """Let nests that combine all rows of arrays with the same row go through at least ``least`` elements at a time, if
    a row has less than ``long``."""

    least: int = 64
    long: int | None = None  # two registers of the machine's
    name: ClassVar[str] = "repeat-rows"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            pairs = [(op, inner) for op in walk_warm(func.body) if (inner := _row_of(op)) is not None]
            if pairs:
                extents, memory = Extents(like=shadowed(func)), Memory.asked(func, summaries)
                for nest in [nest for nest in [_Nest(*pair, extents) for pair in pairs] if nest.has_rows(memory)]:
                    _repeat(nest, self.least, self.long or 2 * machine().few_lanes)
        return module


def _row_of(outer: Op) -> Op | None:
    """The loop over the elements of a row, inside a loop over rows."""
    inner = alone_in(outer) if is_plain(outer) else None
    if inner is None or inner.opdef is not ops.parallel or any(inside(v, outer) for v in inner.operands):
        return None
    return inner if all(op.opdef in _DONE or op.opdef in ELEMENT for op in inner.regions[0].walk()) else None


@dataclass(eq=False)
class _Nest:
    """``along``: accesses to elements of each row, with the dimension that counts the rows; ``same``: accesses to the
    row that is the same for all, with the dimension of its elements; ``sums``: the arrays among the latter that are
    added to."""

    outer: Op
    inner: Op
    extents: Extents
    along: dict[Op, int] = field(default_factory=dict)
    same: dict[Op, int] = field(default_factory=dict)
    sums: set[Value] = field(default_factory=set)

    @property
    def counter(self) -> Value:
        """The counter of the elements of a row."""
        return self.inner.regions[0].args[0]

    @property
    def is_unordered(self) -> bool:
        return self.outer.opdef is ops.parallel or UNORDERED in self.outer.attrs

    def has_rows(self, memory: Memory) -> bool:
        """Whether there are such rows, and only elements of them and of consecutive rows are accessed."""
        rows, elements = dimensions(self.outer.regions[0].args[0]), dimensions(self.counter)
        if rows is None or elements is None or not rows.keys() <= elements.keys():
            return False
        width = self.extents.all_equal_at(self.inner.operands[1], self.outer)
        for access, element in elements.items():
            row = rows.get(access)
            memref, *at = accessed(access)
            t = memref.type
            assert isinstance(t, MemRefType)
            if isinstance(t.element, MemRefType) or inside(memref, self.outer):
                return False
            if self.extents.shape(memref)[element] not in width:
                return False
            if row is None:
                if (element != t.rank - 1) if t.strides is None else t.strides[element] != 1:
                    return False
                # Elements that some iterations may access all can access: the row has as many elements as there are
                # iterations.
                always = access.parent is self.inner.regions[0]
                if not always or any(v is not self.counter and inside(v, self.outer) for v in at):
                    return False
                self.same[access] = element
            elif element != row + 1 or t.strides is not None:
                return False
            else:
                self.along[access] = row
        return bool(self.along and self.same) and self._may_copy(memory) and self._is_independent(memory)

    def _is_independent(self, memory: Memory) -> bool:
        """Whether rows may be processed in any order, apart from sums: no row accesses elements that another one
        changes."""
        if self.is_unordered:
            return True
        for store, row in self.along.items():
            if store.opdef in ELEMENT_WRITES:
                for other, of_other in self.along.items():
                    a, b = accessed(store)[0], accessed(other)[0]
                    if row != of_other if a is b else memory.may_overlap(a, b):
                        return False
        return True

    def _may_copy(self, memory: Memory) -> bool:
        """Whether the rows that are read do not change, and the others are added to in any order."""
        by_array: dict[Value, list[Op]] = {}
        for access in self.same:
            by_array.setdefault(accessed(access)[0], []).append(access)
        for memref, accesses in by_array.items():
            if all(op.opdef is ops.load for op in accesses):
                if memory.may_write(self.outer, memref):
                    return False
            elif self.is_unordered and self._only_adds(accesses, memory):
                self.sums.add(memref)
            else:
                return False
        return True

    def _only_adds(self, accesses: list[Op], memory: Memory) -> bool:
        """Whether all accesses are to one row of an array that nothing else in the nest accesses, and add to its
        elements."""
        block, own = self.inner.regions[0], set(accesses)
        order = [op for op in block.ops if op in own]
        if len({tuple(accessed(op)[1:]) for op in accesses}) != 1 or len(order) % 2:
            return False
        if not all(_adds(load, store) for load, store in zip(order[::2], order[1::2], strict=True)):
            return False
        memref = order[0].operands[0]
        others = (op for op in block.walk() if op.opdef in ELEMENT and op not in own)
        return not any(memory.may_overlap(memref, accessed(op)[0]) for op in others)


def _adds(load: Op, store: Op) -> bool:
    """Whether ``store`` stores the sum of what ``load`` loads and of terms that may be added in any order."""
    if load.opdef is not ops.load or store.opdef is not ops.store:
        return False
    value = load.result
    while len(value.uses) == 1:
        user, position = next(iter(value.uses))
        if user is store:
            return position == 0
        if user.opdef is not ops.addf or user.parent is not load.parent or not user.attrs.get("fastmath"):
            return False
        value = user.result
    return False


def _repeat(nest: _Nest, least: int, long: int) -> None:
    """Replace the nest over rows by a nest over periods, each of several rows."""
    outer, inner = nest.outer, nest.inner
    width = inner.operands[1]
    with insert_at(Block(), outer.loc) as made:
        lower, upper = outer.operands[:2]
        size, number, copies = _cut(ops.subi(upper, lower), width, least, long)
        of_row = {accessed(access): access for access in nest.same}
        several = {row: _several(nest, access, copies, least + long) for row, access in of_row.items()}
        rows = {accessed(access)[0]: as_row(accessed(access)[0], first, 2) for access, first in nest.along.items()}
        limits = [const_index(0), number, const_index(1)]
    args = outer.regions[0].args
    periods, elements = Block([v.type for v in args], [v.hint for v in args]), Block([index], [nest.counter.hint])
    for old, new in zip(args[1:], periods.args[1:], strict=True):
        old.replace_uses(new)
    with insert_at(periods, inner.loc):
        first, here = strip(periods.args[0], size, upper, lower)
        start = ops.muli(first, width)
        ends = [const_index(0), ops.muli(here, width), const_index(1), *inner.operands[3:]]
        within = Op(inner.opdef, ends, [v.type for v in inner.results], dict(inner.attrs), [elements], loc=inner.loc)
        periods.append(within)
    with insert_at(elements, inner.loc):
        at = ops.addi(start, elements.args[0])
    for access, dimension in nest.along.items():
        access_row(access, rows[accessed(access)[0]], dimension, 2, at)
    for access in nest.same:
        row = accessed(access)
        access_row(access, several[row], 0, len(row) - 1, elements.args[0])
    elements.set_ops([*elements.ops, *inner.regions[0].ops])
    inner.regions[0].set_ops([])
    periods.set_ops([*periods.ops, *outer.regions[0].ops[1:]])
    outer.regions[0].set_ops([])
    replace_op(inner, within.results)
    types = [v.type for v in outer.results]
    loop = Op(outer.opdef, [*limits, *outer.operands[3:]], types, dict(outer.attrs), [periods], loc=outer.loc)
    with insert_at(Block(), outer.loc) as after:
        for (memref, *at_row), buffer in several.items():
            if memref in nest.sums:
                _add_up(nest, memref, at_row, buffer, copies)
    put_instead(outer, [*made.ops, loop, *after.ops])
    replace_op(outer, loop.results)


def _cut(count: Value, width: Value, least: int, long: int) -> Sequence[Value]:
    """Append the number of rows in a period, out of ``count``, the number of periods, and how often rows are repeated:
    zero if a period is one row, which is used itself then. Divisions take as long as a nest over few elements."""

    def several() -> Sequence[Value]:
        size = ops.ceildivsi(const_index(least), ops.maxsi(width, const_index(1)))
        return size, ops.ceildivsi(count, size), size

    many = ops.cmpi(ops.muli(count, width), const_index(least * WORTH), predicate="sge")
    pays = ops.andi(ops.cmpi(width, const_index(long), predicate="slt"), many)
    return chosen(pays, several, lambda: (const_index(1), count, const_index(0)))


def _several(nest: _Nest, access: Op, times: Value, room: int) -> Value:
    """Append a buffer with the row ``times`` times, or with as many zeros if it is added to; for zero, the row
    itself."""
    memref, *at = accessed(access)
    t = memref.type
    assert isinstance(t, MemRefType)
    width, counter = nest.inner.operands[1], nest.counter
    zero, one = const_index(0), const_index(1)
    others = tuple(k for k, v in enumerate(at) if v is not counter)
    starts, sizes = [zero if v is counter else v for v in at], [width if v is counter else one for v in at]
    row = window(memref, starts, sizes, others)
    buffer = build(ops.alloc, [], {"type": MemRefType((room,), t.element)}).result

    def fill(r: Value, j: Value) -> None:
        empty = memref in nest.sums
        element = const(0.0, t.element) if empty else ops.load(memref, *(j if v is counter else v for v in at))
        build(ops.store, [element, buffer, ops.addi(ops.muli(r, width), j)])

    def fill_row(r: Value) -> None:
        parallel_loop(zero, width, lambda j: fill(r, j), **{PEELED: True})

    parallel_loop(zero, times, fill_row)
    length = ops.muli(times, width)
    repeated, here = ops.cmpi(times, zero, predicate="sgt"), window(buffer, [zero], [length])
    return chosen(repeated, lambda: (here,), lambda: (row,))[0]


def _add_up(nest: _Nest, memref: Value, at: Sequence[Value], buffer: Value, times: Value) -> None:
    """Append the code that adds the rows of a buffer to the single row."""
    counter, zero = nest.counter, const_index(0)
    width = nest.inner.operands[1]

    def add_row(r: Value) -> None:
        def add(j: Value) -> None:
            place = [j if v is counter else v for v in at]
            term = ops.load(buffer, ops.addi(ops.muli(r, width), j))
            build(ops.store, [ops.addf(ops.load(memref, *place), term), memref, *place])

        parallel_loop(zero, width, add, **{PEELED: True})

    loop_of(ops.for_, zero, times, const_index(1), add_row, "r")
