"""Parallel loops around loops that carry values: blocks of their iterations run side by side.

``for p in prange(n): for i in range(d): s += x[p, i] * y[i]`` becomes, for 48 values of p at a time, ``for i: for each
of the 48: s[lane] += x[p, i] * y[i]``, whose innermost loop LLVM makes SIMD. What each iteration of the parallel loop
has for itself lives in small buffers, an element per lane. Iterations of a parallel loop may run in any order,
interleaved too, and each of them does what it did, in the same order. Those that do not fill a block are a shorter one,
whose code is not the same: registers are for a number of lanes that is known.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, chapter 5
(strip-mining, scalar expansion, loop distribution).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, contractible, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.loop_attrs import NARROW
from adc.ir.types import index
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.machine import machine
from adc.passes.rewrite import put_instead
from adc.passes.simd.scalar_expansion import Expansion
from adc.passes.simd.side_by_side import Lanes, choose, outermost

_Body = Callable[[Value], Sequence[Value]]


@dataclass(frozen=True)
class VectoriseOuter:
    """Run ``lanes`` iterations of parallel loops side by side where that makes loops in them SIMD; if there are ``few``
    or less that lie side by side in memory, columns of a narrow array, as many as these. By default it is the machine
    that says how many."""

    lanes: int | None = None
    few: int | None = None
    name: ClassVar[str] = "vectorise-outer"

    @contractible()
    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            if any(op.opdef is ops.parallel for op in func.walk()):
                self._function(func, Memory.asked(func, summaries))
        return module

    def _function(self, func: Func, memory: Memory) -> None:
        forms = Forms()
        chosen = [lanes for op in outermost(func.body) for lanes in choose(op, memory, forms)]
        for lanes in chosen:
            if NARROW in lanes.loop.attrs:
                _transform_narrow(lanes)
            else:
                _transform(lanes, self.lanes or machine().lanes, self.few or machine().few_lanes)


def _transform_narrow(lanes: Lanes) -> None:
    """Put one block in the place of the loop."""
    loop = lanes.loop
    with insert_at(Block(), loop.loc) as made:
        width, trips = int(loop.attrs[NARROW]), trip_count(*loop.operands[:3])
        Expansion(lanes, width, int(constant_of(loop.operands[2]) or 0), trips, few=width).block(const_index(0))
    put_instead(loop, made.ops)
    loop.drop()


def _transform(lanes: Lanes, width: int, few: int) -> None:
    """Put the loop over blocks in the place of the loop.

    The last block may be short. A loop that threads share runs it as one of its blocks, so that no thread waits for it;
    others run it after the full ones.
    """
    loop = lanes.loop
    with insert_at(Block(), loop.loc) as made:
        lower, upper, step = loop.operands[:3]
        by = int(constant_of(step) or 0)
        trips = trip_count(lower, upper, step)
        blocks = ops.floordivsi(trips, const_index(width))
        rest = ops.subi(trips, ops.muli(blocks, const_index(width)))
        last = ops.addi(blocks, ops.minsi(rest, const_index(1)))
        full, short = Expansion(lanes, width, by), Expansion(lanes, width, by, rest)
        rests = short.block if lanes.packings else _narrow_or(short, few)
        if "threads" in loop.attrs:
            either = _either(loop, lambda number: ops.cmpi(number, blocks, predicate="slt"), full.block, rests)
            results = _blocks(loop, const_index(0), last, loop.operands[3:], either)
        else:
            results = _blocks(loop, const_index(0), blocks, loop.operands[3:], full.block)
            results = _blocks(loop, blocks, last, results, rests)
    put_instead(loop, made.ops)
    for old, new in zip(loop.results, results, strict=True):
        new.hint = old.hint
        old.replace_uses(new)
    loop.drop()


def _narrow_or(short: Expansion, few: int) -> _Body:
    """What appends a short block, or one of ``few`` lanes if no more are in use."""
    rest = short.count
    assert rest is not None
    narrow = Expansion(short.lanes, short.width, short.by, rest, few=few)
    if short.width <= few:
        return narrow.block
    return _either(
        short.lanes.loop, lambda _: ops.cmpi(rest, const_index(few), predicate="sle"), narrow.block, short.block
    )


def _blocks(loop: Op, first: Value, last: Value, initial: Sequence[Value], body: _Body) -> Sequence[Value]:
    """Append the loop over blocks ``first`` to ``last`` of the iterations of ``loop``; its results. ``body`` builds a
    block of some number, and returns its parts of the reductions."""
    block = Block([index])
    with insert_at(block):
        build(ops.reduce, body(block.args[0]), {"kinds": loop.regions[0].terminator.attrs["kinds"]})
    types = [r.type for r in loop.results]
    return build(ops.parallel, [first, last, const_index(1), *initial], dict(loop.attrs), types, [block]).results


def _either(loop: Op, condition: Callable[[Value], Value], yes: _Body, no: _Body) -> _Body:
    """What appends a block by one of two ways, depending on a condition of its number."""

    def append(number: Value) -> Sequence[Value]:
        bodies = []
        for way in (yes, no):
            body = Block()
            with insert_at(body):
                build(ops.yield_, way(number))
            bodies.append(body)
        return build(ops.if_, [condition(number)], {}, [r.type for r in loop.results], bodies).results

    return append
