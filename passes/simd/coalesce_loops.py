"""Loops over all elements of arrays become one: ``for each i: for each j: b[i, j] = f(a[i, j])``.

Rows of a few elements are too short for SIMD. If each access that depends on a counter is to element ``[i, j]`` of an
array whose rows follow each other in memory, and have as many elements as the inner loop has iterations, the nest is
one loop over the elements of all rows. The same holds for any number of loops, wherever in the nest they are: what
depends on neither counter, such as an inner loop, is not looked at. Sums over the nest are sums over the loop. Loops
that run in order become one that does the same in the same order.

Reference: Polychronopoulos, Loop Coalescing: A Compiler Transformation for Parallel Machines, ICPP 1987.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import ONE_BY_ONE, REVERSE, UNORDERED
from adc.ir.nesting import having, inside
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.extents import Extents, shadowed
from adc.passes.analysis.kinds import COUNTED, ELEMENT, accessed
from adc.passes.rewrite import put_before, put_instead, replace_op

_KNOWN = frozenset({"threads", REVERSE, ONE_BY_ONE, UNORDERED})


@dataclass(frozen=True)
class CoalesceLoops:
    """Merge nested loops into one if their bodies access only what their counters together go through in order."""

    name: ClassVar[str] = "coalesce-loops"
    needs = frozenset({ops.for_, ops.parallel})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            nests = list(_nests(func.body))
            if nests:
                extents = Extents(like=shadowed(func))
                runs = [run for nest in nests for run in _Nest(nest, extents).runs()]  # outer ones first
                for k, run in enumerate(runs):
                    renewed = _coalesce(run)
                    runs[k + 1 :] = [later.after(run, renewed) for later in runs[k + 1 :]]
        return module


def _nests(body: Block) -> Iterator[list[Op]]:
    """Nests of loops of one kind, each of which contains nothing but the next, as far as that goes."""
    seen: set[Op] = set()
    for op in walk_warm(body):
        if op in seen or not is_plain(op):
            continue
        nest = [op]
        while (inner := _alone_in(nest[-1])) is not None and not any(inside(v, op) for v in inner.operands):
            nest.append(inner)
        seen.update(nest)
        if len(nest) > 1:
            yield nest


def is_plain(loop: Op) -> bool:
    """Whether a loop has steps of one, shares only sums between iterations, and is not marked for a special use."""
    if loop.opdef is ops.for_ and loop.results and UNORDERED not in loop.attrs:
        return False
    return loop.opdef in COUNTED and set(loop.attrs) <= _KNOWN and constant_of(loop.operands[2]) == 1


def _alone_in(outer: Op) -> Op | None:
    """The only loop in ``outer``, of the same kind."""
    inner = alone_in(outer)
    return inner if inner is not None and inner.opdef is outer.opdef else None


def alone_in(outer: Op) -> Op | None:
    """The only loop in ``outer``, if its trip count is not constant and its sums are those of ``outer``."""
    inner = outer.regions[0].ops[0]
    if not is_plain(inner) or constant_of(inner.operands[0]) != 0 or constant_of(inner.operands[1]) is not None:
        return None
    sums, of_inner = _sums(outer), _sums(inner)
    if sums is None or of_inner is None or sums.kinds != of_inner.kinds or sums.values != inner.results:
        return None
    if len(outer.regions[0].ops) != 2 + sums.additions:
        return None
    starts = zip(inner.operands[3:], sums.kinds, strict=True)
    return inner if all(constant_of(v) == ops.NEUTRAL[kind] for v, kind in starts) else None


@dataclass(frozen=True)
class _Sums:
    """The values that a loop combines, and the number of its own operations for that."""

    kinds: tuple[str, ...]
    values: tuple[Value, ...]
    additions: int = 0


def _sums(loop: Op) -> _Sums | None:
    """The sums of a loop; None if it carries something else."""
    end = loop.regions[0].terminator
    if loop.opdef is ops.parallel:
        return _Sums(end.attrs["kinds"], end.operands)
    found: list[tuple[str, Value]] = []
    for carried, value in zip(loop.regions[0].args[1:], end.operands, strict=True):
        op = value.op
        kind = next((k for k, (of_floats, _) in ops.COMBINE.items() if op is not None and op.opdef is of_floats), None)
        if kind is None or op is None or op.parent is not loop.regions[0] or len(carried.uses) != 1:
            return None
        if len(value.uses) != 1 or carried not in op.operands:
            return None
        found.append((kind, next((v for v in op.operands if v is not carried), carried)))
    return _Sums(tuple(k for k, _ in found), tuple(v for _, v in found), len(found))


def dimensions(counter: Value) -> dict[Op, int] | None:
    """The accesses that have a counter as one subscript, and its dimension; None if the counter is used otherwise."""
    found: dict[Op, int] = {}
    for user, position in counter.uses:
        array = ELEMENT.get(user.opdef)
        if array is None or position <= array or user in found:
            return None
        found[user] = position - array - 1
    return found


@dataclass(eq=False)
class _Nest:
    loops: Sequence[Op]
    extents: Extents
    along: dict[Op, dict[int, int]] = field(default_factory=dict)  # by access: loops, and the dimensions they go along

    def runs(self) -> Iterator[_Run]:
        """Adjacent loops that all accesses go through as one."""
        plain = [dimensions(loop.regions[0].args[0]) for loop in self.loops]
        for depth, found in enumerate(plain):
            for access, dimension in (found or {}).items():
                self.along.setdefault(access, {})[depth] = dimension
        start = 0
        for depth in range(1, len(self.loops) + 1):
            if depth == len(self.loops) or None in plain[depth - 1 : depth + 1] or not self._goes_on(depth):
                if depth - start > 1:
                    taken = {access: along[start] for access, along in self.along.items() if start in along}
                    yield _Run(self.loops[start:depth], taken)
                start = depth

    def _goes_on(self, depth: int) -> bool:
        """Whether each access goes along rows with the loop at ``depth``, and from row to row with the one around
        it."""
        loop = self.loops[depth]
        width = self.extents.all_equal_at(loop.operands[1], self.loops[0])
        for access, along in self.along.items():
            row, element = along.get(depth - 1), along.get(depth)
            if row is None and element is None:
                continue
            memref = accessed(access)[0]
            t = memref.type
            assert isinstance(t, MemRefType)
            if row is None or element != row + 1 or t.strides is not None or isinstance(t.element, MemRefType):
                return False
            if inside(memref, self.loops[0]) or self.extents.shape(memref)[element] not in width:
                return False
        return any(depth in along for along in self.along.values())


@dataclass(frozen=True)
class _Run:
    """``accesses``: those that go along the ``loops``, and the dimension at which they begin to do so."""

    loops: Sequence[Op]
    accesses: dict[Op, int]

    def after(self, other: _Run, renewed: dict[Op, Op]) -> _Run:
        """The same after ``other``, which is around it, has become one loop: its accesses are new, with fewer
        dimensions."""
        if renewed.keys().isdisjoint(self.accesses):
            return self
        accesses = {}
        for access, dimension in self.accesses.items():
            first = other.accesses.get(access, dimension)
            accesses[renewed.get(access, access)] = dimension - (len(other.loops) - 1 if first < dimension else 0)
        return _Run(self.loops, accesses)


def _coalesce(run: _Run) -> dict[Op, Op]:
    """Replace all loops by one over the elements of the single row that the arrays are viewed as. Returns which access
    has replaced which."""
    outer, inner, depth = run.loops[0], run.loops[-1], len(run.loops)
    rows: dict[tuple[Value, int], Value] = {}
    with insert_at(Block(), outer.loc) as made:
        first, stop = outer.operands[:2]
        for loop in run.loops[1:]:
            first, stop = (ops.muli(v, loop.operands[1]) for v in (first, stop))
        for access, dimension in run.accesses.items():
            key = accessed(access)[0], dimension
            if key not in rows:
                rows[key] = as_row(*key, depth)
        limits = [first, stop, const_index(1)]
    args = inner.regions[0].args
    block = Block([v.type for v in args], [v.hint for v in args])
    for old, new in zip(args[1:], block.args[1:], strict=True):
        old.replace_uses(new)
    renewed = {}
    for access, dimension in run.accesses.items():
        memref = rows[accessed(access)[0], dimension]
        renewed[access] = access_row(access, memref, dimension, depth, block.args[0])
    block.set_ops(list(inner.regions[0].ops))
    inner.regions[0].set_ops([])
    attrs = dict(inner.attrs) | dict(outer.attrs)
    if not all(UNORDERED in loop.attrs for loop in run.loops):
        attrs.pop(UNORDERED, None)
    types = [v.type for v in outer.results]
    loop = Op(outer.opdef, [*limits, *outer.operands[3:]], types, attrs, [block], loc=outer.loc)
    put_before(outer, made.ops)
    put_instead(outer, [loop])
    replace_op(outer, loop.results)
    return renewed


def as_row(memref: Value, first: int, depth: int) -> Value:
    """The same elements, with ``depth`` dimensions from ``first`` on merged into one."""
    t = memref.type
    assert isinstance(t, MemRefType)
    extents = [ops.dim(memref, dim=d) for d in range(t.rank)]
    long = extents[first]
    for extent in extents[first + 1 : first + depth]:
        long = ops.muli(long, extent)
    after = range(first + depth, t.rank)
    groups = (*((1, 1) for _ in range(first)), (depth, 1), *((1, 1) for _ in after))
    return build(ops.reshape, [memref, *extents[:first], long, *(extents[d] for d in after)], {"groups": groups}).result


def access_row(access: Op, row: Value, first: int, depth: int, at: Value) -> Op:
    """Replace an access to an array by one to the ``row`` in which its dimensions from ``first`` on are one, and return
    it."""
    array = ELEMENT[access.opdef]
    subscripts = list(access.operands[array + 1 :])
    subscripts[first : first + depth] = [at]
    operands = [*access.operands[:array], row, *subscripts]
    new = Op(access.opdef, operands, [v.type for v in access.results], dict(access.attrs), loc=access.loc)
    put_instead(access, [new])
    replace_op(access, new.results)
    return new
