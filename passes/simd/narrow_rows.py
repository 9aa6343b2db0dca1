"""Sums over short rows: the rows should lie side by side in SIMD registers, not the elements that are summed.

``for each i: s = sum over j of a[i, j] ** 2`` is SIMD over j as it stands: right for long rows, but rows of two to ten
elements, such as points with their coordinates, fill no register. If all sums in a parallel loop are over few elements
at run time, they are done in order, one element after the other, and ``vectorise-outer`` makes that SIMD across the
iterations around. Longer rows stay as they are. So do loops each of whose iterations makes a large array. A loop that
cannot be taken so as a whole, such as one around the sum of what a window's sums come to, may contain one that can.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import prod
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import SMALL_ARRAYS
from adc.ir.nesting import having, inside
from adc.ir.rewrite import clone_op
from adc.ir.schedules import TAPE
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.costs import has_known_length, trips
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import LOOPS
from adc.passes.analysis.machine import machine
from adc.passes.rewrite import put_instead, to_sequential
from adc.passes.simd.array_expansion import MOST_ELEMENTS, known_size
from adc.passes.simd.side_by_side import choose, outermost


@dataclass(frozen=True)
class NarrowRows:
    """Give parallel loops a version with sums in order, whose iterations can be side by side, for sums over ``few``
    elements or less at run time and small arrays of each iteration's own."""

    few: int | None = None  # three registers of the machine's
    name: ClassVar[str] = "narrow-rows"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        few = self.few or machine().few_terms
        for func in having(module, self.needs):
            loops = list(outermost(func.body))
            while loops:
                short = [loop for loop in loops if _may_be_short(loop, few)]
                kept = _choose_versions(func, [_Version(loop, few) for loop in short], summaries)
                inner = [op for loop in loops if loop not in kept for op in outermost(loop.regions[0])]
                loops = inner + [op for version in kept.values() for op in version.left()]
        return module


def _reductions(loop: Op) -> list[Op]:
    """The parallel loops inside ``loop`` that reduce."""
    return [op for region in loop.regions for op in region.walk() if op.opdef is ops.parallel and op.results]


def _arrays(loop: Op) -> list[Op]:
    """The allocations in ``loop`` whose extents are known before it, but are not constants; without tapes, which may
    have any length."""
    made = [op for region in loop.regions for op in region.walk() if op.opdef is ops.alloc and not op.attrs.get(TAPE)]
    return [op for op in made if known_size(op) is None and not any(inside(v, loop) for v in op.operands)]


def _may_be_short(loop: Op, few: int) -> bool:
    """Whether there are reductions, all over ranges known before ``loop`` that may be short; or arrays."""
    found = _reductions(loop)
    if not (found or _arrays(loop)) or constant_of(loop.operands[2]) is None:
        return False
    if any(inside(v, loop) for op in found for v in op.operands[:3]):
        return False
    return not any(has_known_length(op) and trips(op) > few for op in found)


class _Version:
    """``made``: the operations that replace ``loop``; ``short``: the loop among them that does its sums in order."""

    def __init__(self, loop: Op, few: int) -> None:
        self.loop = loop
        self.otherwise: Op | None = None
        with insert_at(Block(), loop.loc) as made:
            is_short = [ops.cmpi(n, most, predicate="sle") for n, most in _counts(loop, few)]
            yes, no = Block(), Block()
            with insert_at(yes if is_short else made):
                self.short, self.in_order = _in_order(loop)
            if is_short:
                with insert_at(yes):
                    build(ops.yield_, self.short.results)
                with insert_at(no):
                    self.otherwise = clone_op(loop, {})
                    build(ops.yield_, self.otherwise.results)
                condition = reduce(ops.andi, is_short)
                self.results = build(ops.if_, [condition], {}, [r.type for r in loop.results], [yes, no]).results
            else:
                self.results = self.short.results
        self.made = made.ops

    def keep(self) -> None:
        for old, new in zip(self.loop.results, self.results, strict=True):
            new.hint = old.hint
            old.replace_uses(new)
        self.loop.drop()

    def left(self) -> list[Op]:
        """The outermost loops for longer rows whose own length was tested, and in which there are other rows."""
        found = [op for op in _reductions(self.otherwise) if _reductions(op)] if self.otherwise else []
        nested = {inner for op in found for inner in _reductions(op)}
        return [op for op in found if op not in nested]

    def undo(self) -> None:
        *others, last = self.made
        put_instead(last, [self.loop])
        block = self.loop.parent
        assert block is not None
        block.set_ops([op for op in block.ops if op not in others])
        for op in reversed(self.made):
            op.drop()


def _counts(loop: Op, few: int) -> Iterator[tuple[Value, Value]]:
    """Append the numbers of elements of sums and arrays; each with the greatest that it may be."""
    own = trip_count(*loop.operands[:3])
    most: dict[Value, list[Value]] = {}
    for op in _reductions(loop):
        n = trip_count(*op.operands[:3])
        if constant_of(n) is None:
            most.setdefault(n, []).append(_most(op, own, few))
    for n, limits in most.items():
        yield n, reduce(ops.minsi, limits)
    extents = {op.operands: op.result.type for op in _arrays(loop)}
    for operands, t in extents.items():
        assert isinstance(t, MemRefType)
        known = prod(n for n in t.shape if n is not None)
        yield reduce(ops.muli, operands), const_index(MOST_ELEMENTS // max(known, 1))


def _most(reduction: Op, own: Value, few: int) -> Value:
    """How many elements there may be in a loop of ``own`` iterations. An extreme of sums is not SIMD as it stands, and
    the same in any order: the iterations around should be side by side, unless they are very few beside its own."""
    inner = any(op.opdef in LOOPS for op in reduction.regions[0].walk())
    exact = {"min", "max"}.issuperset(reduction.regions[0].terminator.attrs["kinds"])
    return ops.muli(own, const_index(few)) if inner and exact else const_index(few)


def _choose_versions(func: Func, versions: list[_Version], summaries: Summaries) -> dict[Op, _Version]:
    """Keep the versions whose iterations can run side by side; undo the others. Returns those kept, by their loops."""
    if not versions:
        return {}
    kept: dict[Op, _Version] = {}
    for version in versions:
        put_instead(version.loop, version.made)
    memory, forms = Memory.asked(func, summaries), Forms()
    for version in versions:
        chosen = choose(version.short, memory, forms)
        together = {op for lanes in chosen for op in lanes.together}
        made = {op for lanes in chosen for op in lanes.arrays}
        if together.issuperset(version.in_order) and (version.in_order or made):
            version.keep()
            kept[version.loop] = version
        else:
            version.undo()
    return kept


def _in_order(loop: Op) -> tuple[Op, list[Op]]:
    """Append a copy of ``loop`` whose reductions are done in order, and return it and these."""
    copy = clone_op(loop, {})
    if _arrays(loop):
        for op in (copy, *copy.regions[0].walk()):
            if op.opdef is ops.parallel:
                op.set_attr(SMALL_ARRAYS, True)
    found: list[Op] = []
    for op in _reductions(copy):
        made = to_sequential(op)
        put_instead(op, [made])
        found.append(made)
    return copy, found
