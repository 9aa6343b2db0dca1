"""Factors that the terms of a sum share are multiplied once, after the loop that sums: the distributive law.

The adjoint of a linear map that is the same for all points of a loop, ``y = Q (x[p] - m)``, adds ``Q' ybar`` to the
shadow of ``m`` at each point. The sum over the points is ``Q'`` times the sum of ``ybar``, which is shorter by a loop::

    parallel p                                    parallel p
      parallel i                                    parallel i
        %y = ...                                      %y = ...
        parallel j                       ->           accumulate %y, %sums[i]
          accumulate Q[i, j] * %y, %m[j]          parallel i
                                                    if %sums[i] != 0
                                                      parallel j
                                                        accumulate Q[i, j] * %sums[i], %m[j]

If no iteration added anything, the sum is zero and the factors are not even read: their subscripts may be out of range
then. The sums take memory in proportion to what one iteration computes; if that is much, the loop stays as it was. Both
versions exist.

Reference: Gautam and Rajopadhye, Simplifying Reductions, POPL 2006, section 4 (distributivity).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial, reduce
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, iteration_number, trip_count
from adc.ir.builder import build, contractible, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, having
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.kinds import COUNTED
from adc.passes.building import choose, nest
from adc.passes.rewrite import put_before, put_instead
from adc.passes.sums.common_factors import FEWEST_ITERATIONS, Finder, Term
from adc.passes.sums.fixed import copy_fixed

SMALL_SUMS = "adc.small_sums"
"""Attribute of memory for sums of values that each iteration computes in any case."""

MOST_SUMS = 1 << 16
"""The most elements: half a megabyte of doubles, of which chunks of the loop may need copies."""


@dataclass(frozen=True)
class FactorSums:
    """Take loop-invariant factors out of what a loop adds to shadows."""

    name: ClassVar[str] = "factor-sums"
    needs = frozenset({ops.accumulate})

    @contractible()
    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            done: set[Op] = set()
            while groups := _groups(func, Analysis(func, module, summaries), done):
                done |= _rewrite(groups)
        return module


def _groups(func: Func, analysis: Analysis, done: Collection[Op]) -> list[list[Term]]:
    """The terms of one outermost loop that is not among ``done``, with those that have the same sums together.

    Inner loops have their turn later, in one of the loop's two versions, so that nests do not double with each level.
    """
    finder = Finder(func, analysis)
    found: dict[tuple[object, ...], list[Term]] = defaultdict(list)
    for op in walk_warm(func.body):
        term = finder.term(op) if op.opdef is ops.accumulate else None
        if term is not None and term.loop not in done:
            found[term.loop, term.varying, term.kept, term.at.parent].append(term)
    worth = [group for group in found.values() if any(term.saves for term in group)]
    outer = min((group[0].loop for group in worth), key=lambda loop: len(list(enclosing(loop.parent))), default=None)
    return [group for group in worth if group[0].loop is outer]


def _rewrite(groups: Sequence[Sequence[Term]]) -> set[Op]:
    """Replace their loop by a branch: with sums if there are not too many of them, else as it was.

    Returns the loops that need not be looked at again.
    """
    loop = groups[0][0].loop
    results = list(loop.results)
    head, small, large = Block(), Block(), Block()
    with insert_at(head, loop.loc):
        extents = [[trip_count(*outer.operands[:3]) for outer in group[0].kept] for group in groups]
        limit = const_index(MOST_SUMS)
        often = ops.cmpi(const_index(FEWEST_ITERATIONS), trip_count(*loop.operands[:3]), predicate="sle")
        fits = reduce(ops.andi, [ops.cmpi(_product(sizes), limit, predicate="sle") for sizes in extents], often)
        branch = build(ops.if_, [fits], {}, [v.type for v in results], [small, large])
    put_instead(loop, head.ops)
    for old, new in zip(results, branch.results, strict=True):
        old.replace_uses(new)
        new.hint = old.hint
    with insert_at(large, loop.loc):
        copy = clone_op(loop, {})
        build(ops.yield_, copy.results)
    with insert_at(small, loop.loc):
        sums = [_zeros(group, sizes) for group, sizes in zip(groups, extents, strict=True)]
        small.append(loop)
        for group, memory, sizes in zip(groups, sums, extents, strict=True):
            _sum_up(group, memory)
            nest(sizes, partial(_spread, group, memory))
        build(ops.yield_, results)
    return {loop, copy, *(op for region in copy.regions for op in region.walk() if op.opdef in COUNTED)}


def _product(sizes: Sequence[Value]) -> Value:
    """Append the number of elements, or if they are too many, some number that is too large."""
    limit = const_index(MOST_SUMS + 1)
    total = const_index(1)
    for size in sizes:
        total = ops.minsi(ops.muli(total, ops.minsi(size, limit)), limit)
    return total


def _zeros(group: Sequence[Term], sizes: Sequence[Value]) -> Value:
    """Append memory for the sums of ``group``."""
    element = group[0].accumulate.operands[0].type
    shape = [constant_of(size) for size in sizes]
    known = tuple(None if size is None else int(size) for size in shape)
    dynamic = [v for v, size in zip(sizes, known, strict=True) if size is None]
    memory = ops.alloc(*dynamic, type=MemRefType(known, element))
    assert memory.op is not None
    memory.op.set_attr(SMALL_SUMS, True)
    memory.hint = f"{group[0].accumulate.operands[1].hint or 'shadow'}_sums"
    build(ops.fill, [const(0.0, element), memory])
    return memory


def _sum_up(group: Sequence[Term], memory: Value) -> None:
    """Replace the terms by additions of the factors that vary."""
    ats = {term.at for term in group}
    block = group[0].at.parent
    assert block is not None
    first = next(op for op in block.ops if op in ats)
    made = Block()
    with insert_at(made, first.loc):
        numbers = [iteration_number(outer.regions[0].args[0], *outer.operands[0:3:2]) for outer in group[0].kept]
        build(ops.accumulate, [reduce(ops.mulf, group[0].varying), memory, *numbers])
    put_before(first, made.ops)
    for term in group:
        put_instead(term.accumulate, ())
        term.accumulate.drop()


def _spread(group: Sequence[Term], memory: Value, numbers: Sequence[Value]) -> None:
    """Append the terms of one sum, each the sum times its fixed factors."""
    total = ops.load(memory, *numbers)
    mapping: Mapping = {}
    for outer, number in zip(group[0].kept, numbers, strict=True):
        lower, _, step = outer.operands[:3]
        mapping[outer.regions[0].args[0]] = lower + number * step

    def terms() -> None:
        for term in group:
            _nested(term, total, list(term.skipped), dict(mapping))

    choose(ops.cmpf(total, const(0.0, total.type), predicate="une"), terms, lambda: None)


def _nested(term: Term, total: Value, skipped: list[Op], mapping: Mapping) -> None:
    """Append the loops ``skipped``, the last one outermost, around one addition."""
    if not skipped:
        value = reduce(ops.mulf, [copy_fixed(v, term.loop, mapping) for v in term.fixed], total)
        value = ops.negf(value) if term.negated else value
        _, base, *subscripts = term.accumulate.operands
        build(ops.accumulate, [value, base, *(copy_fixed(v, term.loop, mapping) for v in subscripts)])
        return
    *inner, outer = skipped
    lower, upper, step = (copy_fixed(v, term.loop, mapping) for v in outer.operands[:3])

    def body(numbers: Sequence[Value]) -> None:
        _nested(term, total, inner, {**mapping, outer.regions[0].args[0]: lower + numbers[0] * step})

    nest([trip_count(lower, upper, step)], body)
