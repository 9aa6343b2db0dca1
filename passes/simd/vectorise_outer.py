"""Parallel loops around loops that carry values: blocks of their iterations run side by side.

``for p in prange(n): for i in range(d): s += x[p, i] * y[i]`` becomes, for 48 values of p at a time, ``for i: for each
of the 48: s[lane] += x[p, i] * y[i]``, whose innermost loop LLVM makes SIMD. The values that each iteration of the
parallel loop has for itself are kept in small buffers, with an element for each lane. Iterations of a parallel loop may
run in any order, also interleaved, and each of them does what it did, in the same order. Iterations that do not fill a
block form blocks of 8, in which lanes without an iteration neither load nor store: registers need a fixed number of
lanes.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, chapter 5
(strip-mining, scalar expansion, loop distribution).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of, trip_count
from adc.ir.builder import build, contractible, insert_at
from adc.ir.core import Attr, Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import NARROW, PRIVATE
from adc.ir.nesting import having
from adc.ir.types import index
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.machine import machine
from adc.passes.building import chosen
from adc.passes.rewrite import put_instead
from adc.passes.simd.array_columns import make_columns, rows_of_iterations
from adc.passes.simd.scalar_expansion import Expansion
from adc.passes.simd.side_by_side import Lanes, choose, outermost

_Body = Callable[[Value], Sequence[Value]]


@dataclass(frozen=True)
class VectoriseOuter:
    """Run ``lanes`` iterations of parallel loops side by side if that makes loops in them SIMD. If there are ``few`` or
    less that lie side by side in memory, like the columns of a narrow array, run only as many. The default numbers are
    those of the machine."""

    lanes: int | None = None
    few: int | None = None
    name: ClassVar[str] = "vectorise-outer"
    needs = frozenset({ops.parallel})

    @contractible()
    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            self._function(func, Memory.asked(func, summaries))
        return module

    def _function(self, func: Func, memory: Memory) -> None:
        forms = Forms()
        columns = rows_of_iterations(func)
        while True:
            chosen = [lanes for op in outermost(func.body) for lanes in choose(op, memory, forms, columns)]
            loops = {lanes.loop for lanes in chosen}
            unfit = {alloc for alloc, around in columns.items() if not around <= loops}
            if not unfit:
                break
            columns = {alloc: around for alloc, around in columns.items() if alloc not in unfit}
        for alloc in columns:
            make_columns(alloc)
        for lanes in chosen:
            if NARROW in lanes.loop.attrs:
                _transform_narrow(lanes)
            else:
                _transform(lanes, self.lanes or machine().lanes, self.few or machine().few_lanes)


def _transform_narrow(lanes: Lanes) -> None:
    """Replace the loop by one block."""
    loop = lanes.loop
    with insert_at(Block(), loop.loc) as made:
        width, trips = int(loop.attrs[NARROW]), trip_count(*loop.operands[:3])
        Expansion(lanes, width, int(constant_of(loop.operands[2]) or 0), trips=trips).block(const_index(0))
    put_instead(loop, made.ops)
    loop.drop()


def _transform(lanes: Lanes, width: int, few: int) -> None:
    """Replace the loop by a loop over blocks.

    Iterations that do not fill a block form blocks of ``few``, the last of which is not full either. A loop on threads
    runs all of these as one of its blocks, so that no thread waits for it; other loops run them after the full ones.
    """
    loop = lanes.loop
    with insert_at(Block(), loop.loc) as made:
        lower, upper, step = loop.operands[:3]
        by = int(constant_of(step) or 0)
        trips = trip_count(lower, upper, step)
        blocks = ops.floordivsi(trips, const_index(width))
        full = Expansion(lanes, width, by)
        if lanes.packings:  # they are made for a whole block
            rest = ops.subi(trips, ops.muli(blocks, const_index(width)))
            rests = _Blocks(blocks, ops.ceildivsi(trips, const_index(width)), Expansion(lanes, width, by, rest).block)
        else:
            narrow = few if width % few == 0 else width
            first, last = ops.muli(blocks, const_index(width // narrow)), ops.ceildivsi(trips, const_index(narrow))
            rests = _Blocks(first, last, Expansion(lanes, narrow, by, trips=trips).block)
        if "threads" in loop.attrs:
            either = _either(loop, blocks, full.block, rests)
            last = ops.ceildivsi(trips, const_index(width))
            results = _Blocks(const_index(0), last, either).append(loop, loop.operands[3:], dict(loop.attrs))
        else:
            results = _Blocks(const_index(0), blocks, full.block).append(loop, loop.operands[3:], dict(loop.attrs))
            results = rests.append(loop, results, dict(loop.attrs))
    put_instead(loop, made.ops)
    for old, new in zip(loop.results, results, strict=True):
        new.hint = old.hint
        old.replace_uses(new)
    loop.drop()


@dataclass(frozen=True)
class _Blocks:
    """The blocks from ``first`` to before ``last``; ``body`` appends one, given its number, and returns its parts of
    the reductions."""

    first: Value
    last: Value
    body: _Body

    def append(self, loop: Op, initial: Sequence[Value], attrs: dict[str, Attr]) -> Sequence[Value]:
        """Append a loop over these blocks of the iterations of ``loop``, and return its results."""
        block = Block([index])
        with insert_at(block):
            build(ops.reduce, self.body(block.args[0]), {"kinds": loop.regions[0].terminator.attrs["kinds"]})
        types = [r.type for r in loop.results]
        return build(ops.parallel, [self.first, self.last, const_index(1), *initial], attrs, types, [block]).results


def _either(loop: Op, blocks: Value, full: _Body, rests: _Blocks) -> _Body:
    """A function that appends one of the full ``blocks`` or, as one more block, all the rest."""
    kinds = loop.regions[0].terminator.attrs["kinds"]

    def rest() -> Sequence[Value]:
        neutral = [const(ops.NEUTRAL[kind], r.type) for kind, r in zip(kinds, loop.results, strict=True)]
        return rests.append(loop, neutral, {k: v for k, v in loop.attrs.items() if k not in ("threads", PRIVATE)})

    def append(number: Value) -> Sequence[Value]:
        is_full = ops.cmpi(number, blocks, predicate="slt")
        return chosen(is_full, lambda: full(number), rest)

    return append
