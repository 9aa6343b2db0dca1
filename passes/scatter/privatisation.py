"""Private copies of shadows, for parallel loops whose iterations add to elements about which nothing is known.

The iterations are cut into chunks. Each chunk runs in order and adds to a copy of its own; the copies are added to the
shadow in the order of the chunks. The number of chunks depends on the extents of the loops and of the shadow, not on
the number of threads, so the sum is the same on any number of threads.

As many chunks run at a time as there are copies: all of them if their copies fit together in a core's cache, otherwise
one for each thread, so that copies are still in cache when they are used again.

Copies must be cleared and added, so they are used only if the iterations do much more work than that; otherwise the
loop runs in order, without copies. Both versions exist, since the extents are known only at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import CHUNKS, PRIVATE, UNORDERED
from adc.ir.nesting import inside
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType, index, scalar_bytes
from adc.passes.analysis.conflicts import has_accumulate
from adc.passes.analysis.costs import cost_of
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.machine import machine
from adc.passes.building import parallel_loop, strip
from adc.passes.rewrite import put_instead

MOST_CHUNKS = 16
MOST_ELEMENTS = 1 << 23
"""For all copies together: 64 MB of doubles."""

WORTH = 32
"""The least number of operations in a chunk for each element of its copies."""

STRIP = 1024
"""Elements of a vector to which all copies are added before the next elements: they stay in a core's cache."""

GUESS = 8  # trip count of inner loops whose limits are not known before the loop


@dataclass(frozen=True, eq=False)
class Private:
    """``loop`` runs over the iterations of a chunk; ``copies`` are the arrays that it adds to, one of copies for each
    shadow; ``otherwise`` is the region for the case that copies do not pay, which so far has only its terminator."""

    loop: Op
    copies: Sequence[Value]
    otherwise: Block

    def only_accumulates(self) -> bool:
        """Whether the loop only accumulates to the copies, so that the order of its iterations does not matter."""
        users = {op for copy in self.copies for op, _ in copy.uses}
        return all(op.opdef is ops.accumulate for op in self.loop.regions[0].walk() if op in users)

    def has_rows(self) -> bool:
        """Whether the loop consists of one that runs in order, and that one of a parallel one: the two outer loops can
        become one, and SIMD is in the innermost one."""
        inner = self.loop.regions[0].ops[0]
        if inner.opdef is not ops.for_ or UNORDERED not in inner.attrs:
            return False
        return inner.regions[0].ops[0].opdef is ops.parallel and has_accumulate(inner)


def shared(analysis: Analysis, loop: Op, group: Sequence[Op]) -> Value | None:
    """The shadow that ``group`` adds to, if the loop does nothing else with it or with what may overlap it."""
    base = group[0].operands[1]
    assert isinstance(base.type, MemRefType)
    if inside(base, loop) or base.type.strides is not None or not base.type.rank:
        return None
    if any(op.operands[1] is not base for op in group):
        return None
    mine = set(group)
    found = analysis.accesses(loop).found
    targets = [access for access in found if access.op in mine]
    if any(not analysis.apart(a, b, loop) for a in found if a.op not in mine for b in targets):
        return None
    return base


def build_private(loop: Op, groups: Sequence[Sequence[Op]], bases: Sequence[Value]) -> Private:
    """Append a branch, with copies of ``bases``, to which ``groups`` add, or without; its results replace the loop's.
    """
    lower, upper, step = loop.operands[:3]
    trips = trip_count(lower, upper, step)
    types = [base.type for base in bases if isinstance(base.type, MemRefType)]
    extents = [[ops.dim(base, dim=d) for d in range(t.rank)] for base, t in zip(bases, types, strict=True)]
    elements = reduce(ops.addi, [reduce(ops.muli, dims) for dims in extents])
    elements = ops.maxsi(elements, const_index(1))
    chunks, each = _cut(trips, ops.muli(trips, _work(loop, loop.regions[0])), elements)
    then = Block()
    with insert_at(then):
        width = max(scalar_bytes(t.element) for t in types)
        together = ops.floordivsi(const_index(machine().block_bytes // width), elements)
        wave = ops.minsi(ops.maxsi(ops.threads(), ops.maxsi(together, const_index(1))), chunks)
        copies = [
            ops.alloc(wave, *dims, type=MemRefType((None,) * (t.rank + 1), t.element))
            for dims, t in zip(extents, types, strict=True)
        ]
        block = Block([index, *(r.type for r in loop.results)], ["wave"])
        with insert_at(block):
            before, *totals = block.args
            count = ops.minsi(ops.subi(chunks, before), wave)
            outer, inner = _chunks(loop, groups, copies, (before, count), each, totals)
            for base, copy, dims in zip(bases, copies, extents, strict=True):
                _merge(base, copy, dims, count)
            build(ops.yield_, outer.results)
        bounds = [const_index(0), chunks, wave]
        waves = build(ops.for_, [*bounds, *loop.operands[3:]], None, [r.type for r in loop.results], [block])
        build(ops.yield_, waves.results)
    otherwise = Block()
    with insert_at(otherwise):
        build(ops.yield_, loop.results)
    condition = ops.cmpi(const_index(1), chunks, predicate="slt")
    branch = build(ops.if_, [condition], None, [r.type for r in loop.results], [then, otherwise])
    for k, (old, new) in enumerate(zip(loop.results, branch.results, strict=True)):
        new.hint = old.hint
        old.replace_uses(new)
        otherwise.terminator.set_operand(k, old)
    return Private(inner, copies, otherwise)


def _cut(trips: Value, work: Value, elements: Value) -> tuple[Value, Value]:
    """The number of chunks, and of iterations in each. A loop no longer than a block is one chunk; this is not weighed,
    since a short loop inside another one takes less time than weighing."""
    one, weighed = Block(), Block()
    with insert_at(one):
        build(ops.yield_, [const_index(1), const_index(machine().lanes)])
    with insert_at(weighed):
        build(ops.yield_, _weighed(trips, work, elements))
    short = ops.cmpi(trips, const_index(machine().lanes), predicate="sle")
    chunks, each = build(ops.if_, [short], None, [index, index], [one, weighed]).results
    return chunks, each


def _weighed(trips: Value, work: Value, elements: Value) -> tuple[Value, Value]:
    """If there are many chunks, their number is a power of two, so that they come out even on so many threads. They are
    whole blocks of the iterations that run side by side."""
    block = const_index(machine().lanes)
    chunks = ops.floordivsi(work, ops.muli(elements, const_index(WORTH)))
    affordable = ops.floordivsi(const_index(MOST_ELEMENTS), elements)
    chunks = ops.minsi(ops.minsi(chunks, const_index(MOST_CHUNKS)), affordable)
    power = const_index(1)
    for number in (2**k for k in range(1, MOST_CHUNKS.bit_length())):
        power = ops.select(ops.cmpi(const_index(number), chunks, predicate="sle"), const_index(number), power)
    blocks = ops.ceildivsi(ops.ceildivsi(trips, power), block)
    each = ops.muli(ops.maxsi(blocks, const_index(1)), block)
    return ops.ceildivsi(trips, each), each


def _chunks(
    loop: Op,
    groups: Sequence[Sequence[Op]],
    copies: Sequence[Value],
    wave: tuple[Value, Value],
    each: Value,
    inits: Sequence[Value],
) -> tuple[Op, Op]:
    """Append the loop over the chunks of a ``wave``: the number of chunks before it, and the number in it. Returns that
    loop, and the one over the iterations of a chunk."""
    before, count = wave
    lower, upper, step = loop.operands[:3]
    target = {op: copy for group, copy in zip(groups, copies, strict=True) for op in group}
    kinds = loop.regions[0].terminator.attrs["kinds"]
    block = Block([index], ["chunk"])
    with insert_at(block):
        (number,) = block.args
        for copy in copies:
            _clear(copy, number)
        first, length = strip(ops.addi(before, number), ops.muli(each, step), upper, lower)
        last = ops.addi(first, length)
        neutral = [const(ops.NEUTRAL[kind], r.type) for kind, r in zip(kinds, loop.results, strict=True)]
        inner = clone_op(loop, {})
        for k, value in enumerate((first, last, step, *neutral)):
            inner.set_operand(k, value)
        inner.drop_attr("threads")
        inner.set_attr(PRIVATE, True)
        _redirect(loop, inner, target, number)
        build(ops.reduce, inner.results, {"kinds": kinds})
    operands = [const_index(0), count, const_index(1), *inits]
    types = [r.type for r in loop.results]
    return build(ops.parallel, operands, {"threads": True, CHUNKS: True}, types, [block]), inner


def _redirect(loop: Op, copy: Op, target: dict[Op, Value], chunk: Value) -> None:
    """Let the accumulations in ``copy`` that correspond to those of ``target`` in ``loop`` go to the chunk's copies."""
    for old, new in zip(list(loop.regions[0].walk()), list(copy.regions[0].walk()), strict=True):
        if old in target:
            value, _, *at = new.operands
            made = Op(ops.accumulate, [value, target[old], chunk, *at], (), dict(new.attrs), loc=new.loc)
            put_instead(new, [made])
            new.drop()


def _clear(copy: Value, number: Value) -> None:
    t = copy.type
    assert isinstance(t, MemRefType)
    zero = const(0.0, t.element)

    def level(at: list[Value]) -> None:
        if len(at) == t.rank:
            build(ops.store, [zero, copy, *at])
        else:
            limit = ops.dim(copy, dim=len(at))
            parallel_loop(const_index(0), limit, lambda i: level([*at, i]))

    level([number])


def _merge(base: Value, copy: Value, extents: Sequence[Value], chunks: Value) -> None:
    """Append the loops that add copies to the shadow: row by row, one copy after the other; a vector is cut up."""

    def level(at: list[Value]) -> None:
        if len(at) < len(extents) - 1:
            threads = {} if at else {"threads": True}
            parallel_loop(const_index(0), extents[len(at)], lambda i: level([*at, i]), **threads)
        else:
            row(at, const_index(0), extents[-1])

    def row(at: list[Value], first: Value, count: Value) -> None:
        block = Block([index], ["chunk"])
        with insert_at(block):

            def add(k: Value) -> None:
                i = ops.addi(first, k)
                total = ops.addf(ops.load(base, *at, i), ops.load(copy, block.args[0], *at, i))
                build(ops.store, [total, base, *at, i])

            parallel_loop(const_index(0), count, add)
            build(ops.yield_, ())
        build(ops.for_, [const_index(0), chunks, const_index(1)], None, [], [block])

    if len(extents) == 1:
        size = const_index(STRIP)
        strips = ops.ceildivsi(extents[0], size)
        parallel_loop(const_index(0), strips, lambda k: row([], *strip(k, size, extents[0])), threads=True)
    else:
        level([])


def _work(loop: Op, block: Block) -> Value:
    """The work of one execution of ``block``, in operations, with the trip counts of inner loops as far as known."""
    total = const_index(int(sum(cost_of(op.opdef) for op in block.ops if not op.regions)) + 1)
    for op in block.ops:
        for region in op.regions:
            amount = _work(loop, region)
            if op.opdef in COUNTED:
                amount = ops.muli(amount, _trips(loop, op))
            total = ops.addi(total, amount)
    return total


def _trips(loop: Op, inner: Op) -> Value:
    limits = [v for v in inner.operands[:3] if constant_of(v) is None]
    return const_index(GUESS) if any(inside(v, loop) for v in limits) else trip_count(*inner.operands[:3])

