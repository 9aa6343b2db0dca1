"""Two loops over all elements of arrays become one: ``for each i: for each j: b[i, j] = f(a[i, j])``.

Rows of a few elements are too short to be SIMD. Where every access is to element ``[i, j]`` of arrays whose rows follow
each other in memory, and have as many elements as the inner loop has iterations, the nest is one loop over as many
elements as there are in all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType, index
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.extents import Extent, Extents
from adc.passes.analysis.kinds import PURE, TERMINATORS
from adc.passes.rewrite import put_instead

_KNOWN = frozenset({"threads", REVERSE})
_DONE = PURE | TERMINATORS | {ops.if_}


@dataclass(frozen=True)
class FlattenNests:
    """Make one loop of two whose bodies access only what both counters, together, go through in order."""

    name: ClassVar[str] = "flatten-nests"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            pairs = [pair for op in walk_warm(func.body) if (pair := _pair(op)) is not None]
            if pairs:
                extents = Extents()
                for outer, inner in [pair for pair in pairs if _Nest(*pair, extents).is_flat()]:
                    _flatten(outer, inner)
        return module


def _pair(outer: Op) -> tuple[Op, Op] | None:
    """A parallel loop of nothing but another one, which does not have a known number of iterations."""
    if not _is_plain(outer) or len(outer.regions[0].ops) != 2:
        return None
    inner = outer.regions[0].ops[0]
    if not _is_plain(inner) or inside(inner.operands[1], outer) or constant_of(inner.operands[1]) is not None:
        return None
    return outer, inner


def _is_plain(loop: Op) -> bool:
    if loop.opdef is not ops.parallel or loop.results or not set(loop.attrs) <= _KNOWN:
        return False
    return constant_of(loop.operands[0]) == 0 and constant_of(loop.operands[2]) == 1


@dataclass(eq=False)
class _Nest:
    outer: Op
    inner: Op
    extents: Extents
    rows: set[Value] = field(default_factory=set)  # arrays whose elements are accessed by both counters
    same: dict[Extent, Extent] = field(default_factory=dict)

    def is_flat(self) -> bool:
        body = self.inner.regions[0]
        accesses = set(_accesses(body))
        counters = {self.outer.regions[0].args[0], self.inner.regions[0].args[0]}
        flat = [op for op in accesses if counters <= set(op.operands)]
        if not flat or any(op.opdef not in _DONE and op not in accesses for op in body.walk()):
            return False
        if any(user not in accesses for counter in counters for user, _ in counter.uses if user is not self.inner):
            return False
        self.rows = {v for op in flat for v in op.operands if isinstance(v.type, MemRefType)}
        self._read_assertions()
        width = self._extent(self.extents.extent(self.inner.operands[1]))
        return all(self._goes_along(op, width) for op in accesses)

    def _goes_along(self, op: Op, width: Extent) -> bool:
        """Whether an access is the same in all iterations, or to element ``[..., i, j]`` of rows that are as long."""
        memref, *at = op.operands if op.opdef is ops.load else op.operands[1:]
        i, j = self.outer.regions[0].args[0], self.inner.regions[0].args[0]
        t = memref.type
        assert isinstance(t, MemRefType)
        if isinstance(t.element, MemRefType) or inside(memref, self.outer):
            return False
        if i not in at and j not in at:
            return op.opdef is ops.load and memref not in self.rows
        if t.strides is not None or at[-2:] != [i, j] or i in at[:-2] or j in at[:-2]:
            return False
        if any(inside(v, self.outer) for v in at[:-2]):
            return False
        return self._extent(self.extents.shape(memref)[-1]) == width

    def _read_assertions(self) -> None:
        """Extents that are equal, or the nest would not be reached."""
        inner: Op = self.outer
        for block in (self.outer.parent, *(op.parent for op in enclosing(self.outer.parent))):
            if block is None:
                return
            for op in block.ops:
                if op is inner:
                    break
                condition = op.operands[0].op if op.opdef is ops.assert_ else None
                if condition is not None and condition.opdef is ops.cmpi and condition.attrs["predicate"] == "eq":
                    a, b = (self._extent(self.extents.extent(v)) for v in condition.operands)
                    if a != b:
                        self.same[a] = b
            inner = block.parent_op or inner

    def _extent(self, extent: Extent) -> Extent:
        while extent in self.same:
            extent = self.same[extent]
        return extent


def _accesses(block: Block) -> Iterator[Op]:
    for op in block.walk():
        if op.opdef is ops.load or op.opdef is ops.store:
            yield op


def _flatten(outer: Op, inner: Op) -> None:
    """Put one loop in the place of both: over the elements of the only row that the arrays are seen to have."""
    i, j = outer.regions[0].args[0], inner.regions[0].args[0]
    with insert_at(Block(), outer.loc) as made:
        zero = const_index(0)
        count = ops.muli(outer.operands[1], inner.operands[1])
        block = Block([index], [j.hint])
        mapping: Mapping = {i: zero, j: block.args[0]}
        for op in _accesses(inner.regions[0]):
            memref = op.operands[0 if op.opdef is ops.load else 1]
            if i in op.operands and memref not in mapping:
                mapping[memref] = _as_row(memref)
        with insert_at(block, inner.loc):
            for op in inner.regions[0].ops:
                clone_op(op, mapping)
        attrs = dict(inner.attrs) | dict(outer.attrs)
        build(ops.parallel, [zero, count, const_index(1)], attrs, [], [block])
    put_instead(outer, made.ops)
    outer.drop()


def _as_row(memref: Value) -> Value:
    """The same elements with all rows in one."""
    t = memref.type
    assert isinstance(t, MemRefType)
    *before, rows, columns = [ops.dim(memref, dim=d) for d in range(t.rank)]
    groups = (*((1, 1) for _ in before), (2, 2))
    extents = [*before, const_index(1), ops.muli(rows, columns)]
    return build(ops.reshape, [memref, *extents], {"groups": groups}).result
