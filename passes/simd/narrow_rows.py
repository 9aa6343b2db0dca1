"""Sums over short rows: the rows are to lie side by side in SIMD registers, and not what is summed.

``for each i: s = sum over j of a[i, j] ** 2`` is SIMD over j as it stands: right for long rows, but those of two to ten
elements, points with their coordinates say, fill no register. Where all sums in a parallel loop are over few elements
in the run, they are done in order, one element after the other, which is what ``vectorise-outer`` makes SIMD across
the iterations around. Longer rows stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import inside
from adc.ir.rewrite import Mapping, clone_op
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.machine import machine
from adc.passes.rewrite import put_instead
from adc.passes.simd.side_by_side import choose, outermost


@dataclass(frozen=True)
class NarrowRows:
    """Give parallel loops whose sums are over ``few`` elements or less in the run a version with sums in order, where
    that can have its iterations side by side."""

    few: int | None = None  # three registers of the machine's
    name: ClassVar[str] = "narrow-rows"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        few = self.few or 3 * machine().few_lanes
        for func in module.funcs.values():
            loops = [loop for loop in outermost(func.body) if _may_be_short(loop, few)]
            if loops:
                _choose_versions(func, [_Version(loop, few) for loop in loops], summaries)
        return module


def _reductions(loop: Op) -> list[Op]:
    """The parallel loops in ``loop`` that reduce."""
    return [op for region in loop.regions for op in region.walk() if op.opdef is ops.parallel and op.results]


def _may_be_short(loop: Op, few: int) -> bool:
    """Whether there are reductions, all over ranges that are known in front of ``loop``, and may be short."""
    found = _reductions(loop)
    if not found or constant_of(loop.operands[2]) is None or any(_reductions(op) for op in found):
        return False
    if any(inside(v, loop) for op in found for v in op.operands[:3]):
        return False
    return not any(_constant_trips(op) > few for op in found)


def _constant_trips(loop: Op) -> int:
    """How often a loop runs, 0 if that is not known."""
    bounds = [constant_of(v) for v in loop.operands[:3]]
    return 0 if None in bounds else len(range(*(int(b or 0) for b in bounds)))


class _Version:
    """``made``: what stands in the place of ``loop``; ``short``: the loop in it that does its sums in order."""

    def __init__(self, loop: Op, few: int) -> None:
        self.loop = loop
        with insert_at(Block(), loop.loc) as made:
            trips = dict.fromkeys(trip_count(*op.operands[:3]) for op in _reductions(loop))
            is_short = [ops.cmpi(n, const_index(few), predicate="sle") for n in trips if constant_of(n) is None]
            self.short, self.in_order = _in_order(loop)
            if is_short:
                yes, no = Block(), Block()
                yes.append(self.short)
                with insert_at(yes):
                    build(ops.yield_, self.short.results)
                with insert_at(no):
                    build(ops.yield_, clone_op(loop, {}).results)
                condition = reduce(ops.andi, is_short)
                self.results = build(ops.if_, [condition], {}, [r.type for r in loop.results], [yes, no]).results
            else:
                made.append(self.short)
                self.results = self.short.results
        self.made = made.ops

    def keep(self) -> None:
        for old, new in zip(self.loop.results, self.results, strict=True):
            new.hint = old.hint
            old.replace_uses(new)
        self.loop.drop()

    def undo(self) -> None:
        *others, last = self.made
        put_instead(last, [self.loop])
        block = self.loop.parent
        assert block is not None
        block.set_ops([op for op in block.ops if op not in others])
        for op in reversed(self.made):
            op.drop()


def _choose_versions(func: Func, versions: list[_Version], summaries: Summaries) -> None:
    """Keep the versions whose iterations can be side by side, and otherwise the loop."""
    for version in versions:
        put_instead(version.loop, version.made)
    memory, forms = Memory.asked(func, summaries), Forms()
    for version in versions:
        together = {op for lanes in choose(version.short, memory, forms) for op in lanes.together}
        if together.issuperset(version.in_order):
            version.keep()
        else:
            version.undo()


def _in_order(loop: Op) -> tuple[Op, list[Op]]:
    """A copy of ``loop`` whose reductions are done in order, and these."""
    found: list[Op] = []
    mapping: Mapping = {}
    (body,) = loop.regions
    copy = Block([a.type for a in body.args], [a.hint for a in body.args])
    mapping.update(zip(body.args, copy.args, strict=True))
    with insert_at(copy):
        _copy(body, mapping, found)
    types = [r.type for r in loop.results]
    return Op(ops.parallel, list(loop.operands), types, dict(loop.attrs), [copy], loop.loc), found


def _copy(block: Block, mapping: Mapping, found: list[Op]) -> None:
    """Append copies of the operations of ``block``."""
    for op in block.ops:
        if op.opdef is ops.parallel and op.results:
            found.append(_sum_in_order(op, mapping))
        elif op.regions:
            regions = []
            for region in op.regions:
                copied = Block([a.type for a in region.args], [a.hint for a in region.args])
                mapping.update(zip(region.args, copied.args, strict=True))
                with insert_at(copied):
                    _copy(region, mapping, found)
                regions.append(copied)
            given = [mapping.get(v, v) for v in op.operands]
            made = build(op.opdef, given, dict(op.attrs), [r.type for r in op.results], regions, op.loc)
            mapping.update(zip(op.results, made.results, strict=True))
        else:
            clone_op(op, mapping)


def _sum_in_order(op: Op, mapping: Mapping) -> Op:
    (body,) = op.regions
    given: list[Value] = [mapping.get(v, v) for v in op.operands]
    types = [r.type for r in op.results]
    copied = Block([body.args[0].type, *types], [body.args[0].hint])
    mapping[body.args[0]] = copied.args[0]
    with insert_at(copied):
        for inner in body.ops[:-1]:
            clone_op(inner, mapping)
        terms = [mapping.get(v, v) for v in body.terminator.operands]
        kinds = body.terminator.attrs["kinds"]
        sums = [
            ops.COMBINE[kind][0 if t.is_float else 1](so_far, term)
            for kind, t, so_far, term in zip(kinds, types, copied.args[1:], terms, strict=True)
        ]
        build(ops.yield_, sums)
    made = build(ops.for_, given, {}, types, [copied], op.loc)
    for old, new in zip(op.results, made.results, strict=True):
        new.hint = old.hint
        mapping[old] = new
    return made
