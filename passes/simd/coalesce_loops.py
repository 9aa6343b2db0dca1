"""Loops over all elements of arrays become one: ``for each i: for each j: b[i, j] = f(a[i, j])``.

Rows of a few elements are too short to be SIMD. Where each access that depends on a counter is to element ``[i, j]`` of
an array whose rows follow each other in memory, and have as many elements as the inner loop has iterations, the nest is
one loop over as many elements as there are in all rows. So it is with any number of loops, wherever in the nest they
are: what depends on neither counter, an inner loop say, is not looked at. Sums over the nest are sums over the one loop.

Reference: Polychronopoulos, Loop Coalescing: A Compiler Transformation for Parallel Machines, ICPP 1987.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import inside
from adc.ir.types import MemRefType, index
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.extents import Extents, shadowed
from adc.passes.analysis.kinds import ELEMENT
from adc.passes.rewrite import put_before, put_instead, replace_op

_KNOWN = frozenset({"threads", REVERSE})


@dataclass(frozen=True)
class CoalesceLoops:
    """Make one loop of those whose bodies access only what their counters, together, go through in order."""

    name: ClassVar[str] = "coalesce-loops"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            nests = list(_nests(func.body))
            if nests:
                extents = Extents(like=shadowed(func))
                for run in [run for nest in nests for run in _Nest(nest, extents).runs()]:
                    _coalesce(run)
        return module


def _nests(body: Block) -> Iterator[list[Op]]:
    """Parallel loops of nothing but another one each, as far as that goes."""
    seen: set[Op] = set()
    for op in walk_warm(body):
        if op in seen or not _is_plain(op):
            continue
        nest = [op]
        while (inner := _alone_in(nest[-1])) is not None and not any(inside(v, op) for v in inner.operands):
            nest.append(inner)
        seen.update(nest)
        if len(nest) > 1:
            yield nest


def _is_plain(loop: Op) -> bool:
    if loop.opdef is not ops.parallel or not set(loop.attrs) <= _KNOWN:
        return False
    return constant_of(loop.operands[0]) == 0 and constant_of(loop.operands[2]) == 1


def _alone_in(outer: Op) -> Op | None:
    """The only loop in ``outer``, whose number of iterations is not known, and whose sums are those of ``outer``."""
    inner = outer.regions[0].ops[0]
    if len(outer.regions[0].ops) != 2 or not _is_plain(inner) or constant_of(inner.operands[1]) is not None:
        return None
    reduced = outer.regions[0].terminator
    if reduced.operands != inner.results or reduced.attrs["kinds"] != inner.regions[0].terminator.attrs["kinds"]:
        return None
    starts = zip(inner.operands[3:], reduced.attrs["kinds"], strict=True)
    return inner if all(constant_of(v) == ops.NEUTRAL[kind] for v, kind in starts) else None


@dataclass(eq=False)
class _Nest:
    loops: Sequence[Op]
    extents: Extents
    along: dict[Op, dict[int, int]] = field(default_factory=dict)  # of an access: loops, and dimensions they go along

    def runs(self) -> Iterator[_Run]:
        """Loops next to each other that all accesses go through as one."""
        counters = {loop.regions[0].args[0]: depth for depth, loop in enumerate(self.loops)}
        joined = [True] * len(self.loops)  # with the loop around; the first is with none
        for counter, depth in counters.items():
            for user, position in counter.uses:
                array = ELEMENT.get(user.opdef)
                if array is None or position <= array or depth in self.along.setdefault(user, {}):
                    joined[depth] = False
                    if depth + 1 < len(joined):
                        joined[depth + 1] = False
                else:
                    self.along[user][depth] = position - array - 1
        start = 0
        for depth in range(1, len(self.loops) + 1):
            if depth == len(self.loops) or not (joined[depth] and self._goes_on(depth)):
                if depth - start > 1:
                    yield _Run(self.loops[start:depth], self._taken(start, depth))
                start = depth

    def _goes_on(self, depth: int) -> bool:
        """Whether each access goes along rows with the loop at ``depth`` and from row to row with the one around."""
        loop = self.loops[depth]
        width = self.extents.all_equal_at(loop.operands[1], self.loops[0])
        for access, along in self.along.items():
            row, element = along.get(depth - 1), along.get(depth)
            if row is None and element is None:
                continue
            memref = access.operands[ELEMENT[access.opdef]]
            t = memref.type
            assert isinstance(t, MemRefType)
            if row is None or element != row + 1 or t.strides is not None or isinstance(t.element, MemRefType):
                return False
            if inside(memref, self.loops[0]) or self.extents.shape(memref)[element] not in width:
                return False
        return any(depth in along for along in self.along.values())

    def _taken(self, start: int, stop: int) -> dict[Op, int]:
        """The accesses that the loops from ``start`` up to ``stop`` go through, and the dimension they begin at."""
        return {access: along[start] for access, along in self.along.items() if start in along}


@dataclass(frozen=True)
class _Run:
    loops: Sequence[Op]
    accesses: dict[Op, int]


def _coalesce(run: _Run) -> None:
    """Put one loop in the place of all: over the elements of the only row that the arrays are seen to have."""
    outer, inner, depth = run.loops[0], run.loops[-1], len(run.loops)
    rows: dict[tuple[Value, int], Value] = {}
    with insert_at(Block(), outer.loc) as made:
        count = outer.operands[1]
        for loop in run.loops[1:]:
            count = ops.muli(count, loop.operands[1])
        for access, first in run.accesses.items():
            key = access.operands[ELEMENT[access.opdef]], first
            if key not in rows:
                rows[key] = _as_row(*key, depth)
        limits = [const_index(0), count, const_index(1)]
    block = Block([index], [inner.regions[0].args[0].hint])
    for access, first in run.accesses.items():
        _access_row(access, rows, first, depth, block.args[0])
    block.set_ops(list(inner.regions[0].ops))
    inner.regions[0].set_ops([])
    attrs = dict(inner.attrs) | dict(outer.attrs)
    types = [v.type for v in outer.results]
    loop = Op(ops.parallel, [*limits, *outer.operands[3:]], types, attrs, [block], loc=outer.loc)
    put_before(outer, made.ops)
    put_instead(outer, [loop])
    replace_op(outer, loop.results)


def _as_row(memref: Value, first: int, depth: int) -> Value:
    """The same elements with ``depth`` dimensions from ``first`` on as one."""
    t = memref.type
    assert isinstance(t, MemRefType)
    extents = [ops.dim(memref, dim=d) for d in range(t.rank)]
    long = extents[first]
    for extent in extents[first + 1 : first + depth]:
        long = ops.muli(long, extent)
    after = range(first + depth, t.rank)
    groups = (*((1, 1) for _ in range(first)), (depth, 1), *((1, 1) for _ in after))
    return build(ops.reshape, [memref, *extents[:first], long, *(extents[d] for d in after)], {"groups": groups}).result


def _access_row(access: Op, rows: dict[tuple[Value, int], Value], first: int, depth: int, at: Value) -> None:
    """Replace an access by counters by one to the row that holds all."""
    array = ELEMENT[access.opdef]
    memref, *subscripts = access.operands[array:]
    subscripts[first : first + depth] = [at]
    operands = [*access.operands[:array], rows[memref, first], *subscripts]
    row = Op(access.opdef, operands, [v.type for v in access.results], access.attrs, loc=access.loc)
    put_instead(access, [row])
    replace_op(access, row.results)
