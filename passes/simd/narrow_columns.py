"""Sums over the rows of a narrow array: a loop over columns around the one over rows, with the sums in registers.

``for i: for each j: t[j] += a[i, j]`` goes through memory in order, and the sums are SIMD. But if rows have few
elements, the same few sums are loaded and stored all the time, and each waits for the one before. If there are no more
columns than ``vectorise-outer`` takes side by side in one register (``few``), the loops are swapped: ``for each j: s
= t[j]; for i: s += a[i, j]; t[j] = s``. Each sum adds the same terms in the same order. Wider rows stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import NARROW
from adc.ir.nesting import having, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import DIVISIONS, PURE, TERMINATORS
from adc.passes.analysis.machine import machine
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class NarrowColumns:
    """Exchange a sequential loop and the parallel one in it if the latter has ``few`` iterations at run time."""

    few: int | None = None  # the machine's
    name: ClassVar[str] = "narrow-columns"
    needs = frozenset({ops.for_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            pairs = [pair for op in walk_warm(func.body) if (pair := _pair(op)) is not None]
            memory = Memory.asked(func, summaries) if pairs else None
            nests = [_Nest(*pair) for pair in pairs]
            for nest in [nest for nest in nests if memory is not None and nest.may_change(memory)]:
                nest.exchange(self.few or machine().few_lanes)
        return module


def _pair(rows: Op) -> tuple[Op, Op] | None:
    """A loop that carries nothing and contains one parallel loop with fixed limits, apart from loads and computations
    for it; and that loop."""
    if rows.opdef is not ops.for_ or rows.results:
        return None
    loops = [op for op in rows.regions[0].ops if op.regions]
    if len(loops) != 1 or loops[0] is not rows.regions[0].ops[-2]:
        return None
    columns = loops[0]
    if columns.opdef is not ops.parallel or columns.results:
        return None
    if constant_of(columns.operands[2]) != 1 or any(inside(v, rows) for v in columns.operands):
        return None
    if constant_of(columns.operands[1]) is not None or any(op.regions for op in columns.regions[0].ops):
        return None
    return rows, columns


@dataclass(eq=False)
class _Nest:
    """``sums``: for each array that is stored to, the subscripts, which are the same in all rows."""

    rows: Op
    columns: Op
    sums: dict[Value, tuple[Value, ...]] = field(default_factory=dict)

    @property
    def _prologue(self) -> Sequence[Op]:
        return self.rows.regions[0].ops[:-2]

    @property
    def _body(self) -> Sequence[Op]:
        return self.columns.regions[0].ops[:-1]

    def may_change(self, memory: Memory) -> bool:
        """Whether each column has sums of its own, and the terms are contiguous in memory and do not change."""
        stores = [op for op in self._body if op.opdef is ops.store]
        self.sums = {op.operands[1]: op.operands[2:] for op in stores}
        if not self.sums or not all(self._is_of_column(memref, at) for memref, at in self.sums.items()):
            return False
        if any(memory.may_overlap(a, b) for a in self.sums for b in self.sums if a is not b):
            return False
        return all(self._fits(op, memory) for op in (*self._prologue, *self._body))

    def _is_of_column(self, memref: Value, at: Sequence[Value]) -> bool:
        """Whether an element belongs to its column in all rows."""
        counter = self.columns.regions[0].args[0]
        if inside(memref, self.rows) or any(v is not counter and inside(v, self.rows) for v in at):
            return False
        return self._is_side_by_side(memref, at)

    def _is_side_by_side(self, memref: Value, at: Sequence[Value]) -> bool:
        counter = self.columns.regions[0].args[0]
        t = memref.type
        assert isinstance(t, MemRefType)
        return t.strides is None and bool(at) and at[-1] is counter and counter not in at[:-1]

    def _fits(self, op: Op, memory: Memory) -> bool:
        if op.opdef is ops.store:
            return op.parent is self.columns.regions[0] and op.operands[2:] == self.sums[op.operands[1]]
        if op.opdef is not ops.load:
            risky = op.opdef in DIVISIONS and op.parent is not self.rows.regions[0]
            return op.opdef in PURE and not risky and not any(_is_memory(r) for r in op.results)
        memref, *at = op.operands
        if _is_memory(op.result):
            return False
        if memref in self.sums:
            return op.parent is self.columns.regions[0] and tuple(at) == self.sums[memref]
        if memory.may_write(self.rows, memref):
            return False
        same = not any(inside(v, self.columns) for v in at)
        return same or (not inside(memref, self.columns) and self._is_side_by_side(memref, at))

    def exchange(self, few: int) -> None:
        """Add the exchanged nest as a version for few columns, and for at least one row, so that the sums exist."""
        with insert_at(Block(), self.rows.loc) as made:
            some = ops.cmpi(*self.rows.operands[:2], predicate="slt")
            narrow = ops.cmpi(trip_count(*self.columns.operands[:3]), const_index(few), predicate="sle")
            bodies = Block(), Block()
            with insert_at(bodies[0], self.columns.loc):
                self._columns_of_rows(few)
                build(ops.yield_, [])
            with insert_at(bodies[1]):
                clone_op(self.rows, {})
                build(ops.yield_, [])
            build(ops.if_, [ops.andi(some, narrow)], {}, [], bodies)
        put_instead(self.rows, made.ops)
        self.rows.drop()

    def _columns_of_rows(self, few: int) -> None:
        counter = self.columns.regions[0].args[0]
        columns = Block([counter.type], [counter.hint])
        mapping: Mapping = {counter: columns.args[0]}
        with insert_at(columns, self.rows.loc):
            places = {memref: [mapping.get(v, v) for v in at] for memref, at in self.sums.items()}
            first = [ops.load(memref, *at) for memref, at in places.items()]
            counter = self.rows.regions[0].args[0]
            rows = Block([counter.type, *(v.type for v in first)], [counter.hint])
            mapping[counter] = rows.args[0]
            with insert_at(rows):
                last = self._row(mapping, dict(zip(places, rows.args[1:], strict=True)))
                build(ops.yield_, last)
            limits = self.rows.operands[:3]
            loop = build(ops.for_, [*limits, *first], dict(self.rows.attrs), [v.type for v in first], [rows])
            for (memref, at), value in zip(places.items(), loop.results, strict=True):
                build(ops.store, [value, memref, *at])
            build(ops.reduce, [], {"kinds": ()})
        build(ops.parallel, self.columns.operands, {NARROW: few}, [], [columns], self.columns.loc)

    def _row(self, mapping: Mapping, now: dict[Value, Value]) -> list[Value]:
        """Append what one row does to the sums of a column, which are ``now``; return the new sums."""
        for op in (*self._prologue, *self._body):
            if op.opdef is ops.store:
                now[op.operands[1]] = mapping.get(op.operands[0], op.operands[0])
            elif op.opdef is ops.load and op.operands[0] in now:
                mapping[op.result] = now[op.operands[0]]
            elif op.opdef not in TERMINATORS:
                clone_op(op, mapping)
        return list(now.values())


def _is_memory(value: Value) -> bool:
    return isinstance(value.type, MemRefType)
