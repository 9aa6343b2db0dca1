"""Elementary functions that follow an inner loop are computed in a loop of their own, which becomes SIMD.

A loop with another one inside is no SIMD loop, and a function of what the inner one found is then computed for one
iteration at a time: a hyperbolic tangent after each row of a sparse product. Here iterations are taken in blocks: a
first loop does what comes up to the end of the inner loop and keeps what is needed of it in small buffers, and a
second one does the rest (loop distribution; Allen and Kennedy, Optimizing Compilers for Modern Architectures, 5.2).
Iterations of parallel loops do not depend on each other, so nothing has to be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import inside
from adc.ir.rewrite import Mapping, clone_op, used_from_outside
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of, trips
from adc.passes.analysis.kinds import LOOPS, PURE
from adc.passes.building import parallel_loop, strip
from adc.passes.rewrite import put_instead

BLOCK = 32
"""Iterations: a few vectors, and few enough that short loops still have blocks for many threads."""

MOST_BUFFERS = 8
FUNCTION = 8.0  # what an elementary function costs at least, in the units of ``costs``
UNROLLED = 64  # trips up to which LLVM unrolls loops
_MARKS = frozenset({"threads", REVERSE})
_MOVED = frozenset({ops.load, ops.store})


@dataclass(frozen=True)
class DistributeFunctions:
    """Cut parallel loops behind the last loop inside of them, where elementary functions follow."""

    name: ClassVar[str] = "distribute-functions"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _block(func.body)
        return module


def _block(block: Block) -> None:
    for op in list(block.ops):
        for region in warm_regions(op):
            _block(region)
        if op.opdef is ops.parallel and not op.results and _MARKS.issuperset(op.attrs):
            _cut(op)


def _cut(loop: Op) -> None:
    """Replace ``loop`` by one over blocks, if it has a part that is worth setting apart."""
    body = loop.regions[0]
    at = max((k for k, op in enumerate(body.ops) if op.regions), default=-1) + 1
    first, second = body.ops[:at], body.ops[at:-1]
    if not any(_stays(o) for op in first for o in with_inner(op)) or not has_functions(second):
        return
    if constant_of(loop.operands[2]) != 1 or not all(op.opdef in PURE or op.opdef in _MOVED for op in second):
        return
    if any(o.opdef in (ops.accumulate, ops.alloc, ops.dealloc) for op in body.ops for o in with_inner(op)):
        return
    again: dict[Op, None] = {}
    kept = [v for v in used_from_outside(second) if inside(v, loop) and not _repeat(v, loop, again)]
    if len(kept) > MOST_BUFFERS or any(isinstance(v.type, MemRefType) for v in kept):
        return
    made = Block()
    with insert_at(made, loop.loc):
        _build(loop, first, [*again, *second], kept)
    put_instead(loop, made.ops)
    loop.drop()


def with_inner(op: Op) -> list[Op]:
    """``op`` and all that is inside of it."""
    return [op, *(inner for region in op.regions for inner in region.walk())]


def _stays(op: Op) -> bool:
    """Whether this is a loop that LLVM does not unroll, so that the one around it is no SIMD loop."""
    if op.opdef not in LOOPS:
        return False
    known = op.opdef is not ops.while_ and None not in map(constant_of, op.operands[:3])
    return not known or trips(op) > UNROLLED


def has_functions(part: Sequence[Op]) -> bool:
    """Whether there are elementary functions that are better computed as SIMD."""
    return any(op.opdef.dialect == "math" and cost_of(op.opdef) >= FUNCTION for op in part)


def _repeat(value: Value, loop: Op, again: dict[Op, None]) -> bool:
    """Whether ``value`` is a subscript that is as well computed again; notes in ``again`` what that takes."""
    if not inside(value, loop) or value is loop.regions[0].args[0]:
        return True
    op = value.op
    if op is None or op.opdef not in PURE or op.parent is not loop.regions[0] or value.type.is_float:
        return False
    if op.opdef is not ops.constant and op.opdef.dialect != "arith":
        return False
    if not all(_repeat(v, loop, again) for v in op.operands):
        return False
    again[op] = None
    return True


def _build(loop: Op, first: Sequence[Op], second: Sequence[Op], kept: Sequence[Value]) -> None:
    lower, upper, step = loop.operands[:3]
    iterations = trip_count(lower, upper, step)

    def block(number: Value) -> None:
        start, count = strip(number, const_index(BLOCK), upper, lower)
        buffers = [ops.alloc(type=MemRefType((BLOCK,), v.type)) for v in kept]

        def one(x: Value) -> None:
            mapping: Mapping = {loop.regions[0].args[0]: ops.addi(start, x)}
            for op in first:
                clone_op(op, mapping)
            for value, buffer in zip(kept, buffers, strict=True):
                build(ops.store, [mapping[value], buffer, x])

        def other(x: Value) -> None:
            mapping: Mapping = {loop.regions[0].args[0]: ops.addi(start, x)}
            for value, buffer in zip(kept, buffers, strict=True):
                mapping[value] = ops.load(buffer, x)
            for op in second:
                clone_op(op, mapping)

        marks = {name: True for name in loop.attrs if name != "threads"}
        parallel_loop(const_index(0), count, one, **marks)
        parallel_loop(const_index(0), count, other, **marks)

    # Blocks are counted: the start of one after the last could wrap around.
    blocks = ops.ceildivsi(iterations, const_index(BLOCK))
    parallel_loop(const_index(0), blocks, block, **dict.fromkeys(loop.attrs, True))
