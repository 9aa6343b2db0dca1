"""The terms that irregular loops add are computed first, as SIMD, and then added, in order.

An iteration that adds to elements at loaded subscripts (the camera and the point of an observation) is not SIMD, as the
next iteration may add to the same elements. But most of its work is in the terms. Strips of iterations are taken
together: a first loop does everything except the additions and keeps the terms in small buffers, and a second one adds
them, one iteration after the other (loop distribution and scalar expansion; Allen and Kennedy, Optimizing Compilers for
Modern Architectures, chapter 5). Each element gets its terms in the same order as before.

The loops are those over the iterations of a chunk (``privatisation``) or of a block (``colouring``). If inner loops add
the terms, row by row, they form the second loop, provided elementary functions come before them. Inner loops of few
iterations, like those over the coordinates of a point, are written out first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import ONE_BY_ONE, PRIVATE, TRIPS
from adc.ir.nesting import having, inside, with_inner
from adc.ir.rewrite import used_from_outside
from adc.ir.types import MemRefType
from adc.passes.analysis.costs import cost_of, cost_of_block
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import COUNTED, LOOPS, PURE
from adc.passes.distribution.distribute_functions import has_functions
from adc.passes.distribution.expansion import Cut, Limits, in_strips
from adc.passes.rewrite import put_instead
from adc.passes.small_arrays.numbers import Numbers
from adc.passes.small_arrays.unrolling import write_out

STRIP = 64
"""Iterations of a strip: some vectors, and few enough that dozens of buffers stay in the first-level cache."""

LONG_STRIP = 1 << 14
"""The same if the first loop is for threads."""

WORTH = 12.0
"""The least cost of computing a term: keeping one and finding its place again costs about half of that."""

SHORT = 4
"""The most iterations of inner loops that are written out."""

_ELSEWHERE = frozenset({ops.call, ops.alloc, ops.dealloc, ops.while_})


@dataclass(frozen=True)
class DistributeTerms:
    """Cut loops that add to private copies after the terms, or before the inner loops that add them."""

    name: ClassVar[str] = "distribute-terms"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            if short := {inner for op in func.walk() for inner in _short_loops(op)}:
                write_out(func, short, Numbers({}))
            found = [op for op in func.walk() if _is_candidate(op)]
            if found:
                self._function(func, found, Memory.asked(func, summaries))
        return module

    def _function(self, func: Func, found: list[Op], memory: Memory) -> None:
        for loop in found:
            made = Block()
            with insert_at(made, loop.loc):
                _strips(loop, memory)
            put_instead(loop, made.ops)
            loop.drop()


def _short_loops(loop: Op) -> Sequence[Op]:
    """The loops in a loop that adds to private copies, if all are short, and none is in a branch or in another one."""
    if loop.opdef is not ops.parallel or not loop.attrs.get(PRIVATE) or loop.attrs.get(ONE_BY_ONE) or loop.results:
        return []
    inner = [op for op in loop.regions[0].walk() if op.opdef in LOOPS]
    return inner if all(op.parent is loop.regions[0] and _is_short(op) for op in inner) else []


def _is_short(loop: Op) -> bool:
    if loop.opdef not in COUNTED:
        return False
    limits = [constant_of(v) for v in loop.operands[:3]]
    return None not in limits and len(range(*(int(n or 0) for n in limits))) <= SHORT


def _is_candidate(loop: Op) -> bool:
    if loop.opdef is not ops.parallel or not loop.attrs.get(PRIVATE):
        return False
    if adds_by_rows(loop):
        return True
    if loop.attrs.get(ONE_BY_ONE) or loop.results:
        return False
    (body,) = loop.regions
    inner = list(body.walk())
    terms = [op for op in inner if op.opdef is ops.accumulate]
    if not terms or constant_of(loop.operands[2]) != 1:
        return False
    if any(op.opdef in LOOPS or op.opdef in _ELSEWHERE for op in inner):
        return False
    work = cost_of_block(body) - len(terms) * cost_of(ops.accumulate)
    return terms_are_apart(loop, terms) and work >= WORTH * len(terms)


def adds_by_rows(loop: Op) -> bool:
    """Whether only inner loops add terms, at the end of an iteration, and elementary functions are computed before."""
    if not ends_in_rows(loop):
        return False
    nests = _adding(loop)
    return has_functions([op for op in loop.regions[0].ops if op not in nests])


def ends_in_rows(loop: Op) -> bool:
    """Whether only inner loops add terms, and everything else in an iteration can be done before."""
    nests = _adding(loop)
    if loop.results or not nests or constant_of(loop.operands[2]) != 1 or not all(op.opdef in COUNTED for op in nests):
        return False
    at = next(k for k, op in enumerate(loop.regions[0].ops) if op in nests)
    before, after = loop.regions[0].ops[:at], [op for op in loop.regions[0].ops[at:-1] if op not in nests]
    if any(op.opdef not in PURE for op in after) or any(op.results for op in nests):
        return False
    added = [inner for op in nests for inner in op.regions[0].walk()]
    others = [inner for op in before for inner in with_inner(op)]
    if any(op.opdef in _ELSEWHERE for op in (*added, *others)):
        return False
    return not any(isinstance(v.type, MemRefType) and inside(v, loop) for v in used_from_outside(list(nests)))


def _adding(loop: Op) -> dict[Op, None]:
    """The operations in the body of ``loop`` that add terms: additions, and operations that contain some."""
    return dict.fromkeys(
        op for op in loop.regions[0].ops if any(inner.opdef is ops.accumulate for inner in with_inner(op))
    )


def terms_are_apart(loop: Op, terms: Collection[Op]) -> bool:
    """Whether all of the ``terms`` can be added after the rest of an iteration: none is in a branch or in a loop."""
    return constant_of(loop.operands[2]) == 1 and all(op.parent is loop.regions[0] for op in terms)


def _strips(loop: Op, memory: Memory) -> None:
    def repeatable(op: Op) -> bool:
        return op.opdef in PURE or (op.opdef is ops.load and not memory.may_write(loop, op.operands[0]))

    terms, size = _adding(loop), const_index(STRIP)
    in_strips(
        loop, size, ops.for_, {ONE_BY_ONE: True}, "strip",
        lambda limits: terms_first(loop, terms, limits, (), STRIP, repeatable),
    )


def rows_last(loop: Op, repeatable: Callable[[Op], bool]) -> Op:
    """Append the equivalent of ``loop``, which ends in rows: for strips of iterations, a parallel loop with everything
    before the rows, and a sequential one that adds their terms (see ``terms_first``). Returns the latter."""
    size = ops.maxsi(ops.minsi(trip_count(*loop.operands[:3]), const_index(LONG_STRIP)), const_index(1))
    cut, made = Cut(loop, _adding(loop), repeatable), list[Op]()

    def part(limits: Limits) -> Sequence[Value]:
        made.extend(cut.build(limits, size, ops.for_))
        return ()

    in_strips(loop, size, ops.for_, {}, "part", part)
    return made[1]


def terms_first(
    loop: Op,
    terms: Collection[Op],
    limits: tuple[Value, Value],
    initial: Sequence[Value],
    size: int,
    repeatable: Callable[[Op], bool],
) -> Sequence[Value]:
    """Append the iterations of ``loop`` between ``limits``, at most ``size``: what ``terms`` add is computed first, and
    added then. ``terms`` are additions, or loops that add.

    ``initial``: the initial values of the loop's reductions, which are returned. Subscripts are recomputed by
    operations that are ``repeatable``, and kept otherwise.
    """
    first, second = Cut(loop, terms, repeatable).build(limits, size, ops.for_, initial)
    for name in ("threads", PRIVATE, ONE_BY_ONE):
        first.drop_attr(name)
    second.set_attr(TRIPS, size)
    if not any(op.regions for op in first.regions[0].ops):
        first.set_attr(TRIPS, size)
    return first.results
