"""Elementary functions that follow an inner loop are computed in a loop of their own, which becomes SIMD.

A loop with an inner loop is not SIMD, so a function of the inner loop's result is computed for one iteration at a time:
a hyperbolic tangent after each row of a sparse product, for instance. Here iterations are taken in blocks: a first loop
runs everything up to the end of the inner loop and keeps what is needed in small buffers, and a second one does the
rest (loop distribution; Allen and Kennedy, Optimizing Compilers for Modern Architectures, 5.2). Iterations of parallel
loops do not depend on each other, so nothing has to be proved.

In loops whose iterations do depend on each other, functions of other things are computed ahead: see
``functions_ahead``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import having, with_inner
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.costs import cost_of, trips
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import LOOPS, PURE
from adc.passes.distribution.expansion import Cut, Limits, in_strips
from adc.passes.distribution.functions_ahead import MOST_BUFFERS, Ahead, is_called
from adc.passes.rewrite import put_instead, replace_op

BLOCK = 32
"""Iterations of a block: a few vectors, and few enough that short loops still have blocks for many threads."""

FUNCTION = 8.0  # the least cost of an elementary function, in the units of ``costs``
UNROLLED = 64  # trip counts up to which LLVM unrolls loops
_MARKS = frozenset({"threads", REVERSE})
_MOVED = frozenset({ops.load, ops.store})


@dataclass(frozen=True)
class DistributeFunctions:
    """Cut parallel loops after the last loop inside them, if elementary functions follow, and sequential loops after
    functions of what other iterations have no part in."""

    name: ClassVar[str] = "distribute-functions"
    needs = frozenset({ops.for_, ops.parallel})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            if any(is_called(op) for op in func.walk()):
                _block(func.body, Memory.asked(func, summaries))
        return module


def _block(block: Block, memory: Memory) -> None:
    for op in list(block.ops):
        for region in warm_regions(op):
            _block(region, memory)
        if op.opdef is ops.parallel and _MARKS.issuperset(op.attrs):
            _cut(op)
        elif op.opdef is ops.for_ and (ahead := Ahead(op)).find(memory):
            with insert_at(Block(), op.loc) as made:
                blocks = ahead.build()
            put_instead(op, made.ops)
            replace_op(op, blocks.results)


def _cut(loop: Op) -> None:
    """Replace ``loop`` by one over blocks, if it has a part that is worth separating."""
    body = loop.regions[0]
    at = max((k for k, op in enumerate(body.ops) if op.regions), default=-1) + 1
    first, second = body.ops[:at], body.ops[at:-1]
    if not any(_stays(o) for op in first for o in with_inner(op)) or not has_functions(second):
        return
    if constant_of(loop.operands[2]) != 1 or not all(op.opdef in PURE or op.opdef in _MOVED for op in second):
        return
    if any(o.opdef in (ops.accumulate, ops.alloc, ops.dealloc) for op in body.ops for o in with_inner(op)):
        return
    if not all(r.type.is_float for r in loop.results):
        return
    cut = Cut(loop, [*second, body.terminator], _is_subscript)
    if len(cut.kept) > MOST_BUFFERS or any(isinstance(v.type, MemRefType) for v in cut.kept):
        return

    def block(limits: Limits) -> Sequence[Value]:
        kinds = body.terminator.attrs["kinds"]
        neutral = [const(ops.NEUTRAL[kind], r.type) for kind, r in zip(kinds, loop.results, strict=True)]
        first, second = cut.build(limits, BLOCK, ops.parallel, neutral)
        first.drop_attr("threads")
        if REVERSE in loop.attrs:
            second.set_attr(REVERSE, True)
        return second.results

    with insert_at(Block(), loop.loc) as made:
        blocks = in_strips(loop, const_index(BLOCK), ops.parallel, dict(loop.attrs), "x", block)
    put_instead(loop, made.ops)
    replace_op(loop, blocks.results)


def _is_subscript(op: Op) -> bool:
    """Whether an operation on integers may as well be repeated."""
    return op.opdef in PURE and (op.opdef is ops.constant or op.opdef.dialect == "arith")


def _stays(op: Op) -> bool:
    """Whether this is a loop that LLVM does not unroll, so that the one around it is not SIMD."""
    if op.opdef not in LOOPS:
        return False
    known = op.opdef is not ops.while_ and None not in map(constant_of, op.operands[:3])
    return not known or trips(op) > UNROLLED


def has_functions(part: Sequence[Op]) -> bool:
    """Whether there are elementary functions that are better computed as SIMD."""
    return any(op.opdef.dialect == "math" and cost_of(op.opdef) >= FUNCTION for op in part)
