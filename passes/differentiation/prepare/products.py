"""Products of many terms, prepared for differentiation: as several products side by side.

The reverse sweep of a product needs what it was before each term, so it is taken in order: each multiplication waits
for the one before, in both sweeps. Of a loop that multiplies many terms at run time, ``lanes`` products of every so
many-th term are taken side by side, in an array, whose elements are multiplied in the end. Both sweeps go through that
array as SIMD. Nothing is divided, so that terms may be zero.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.rewrite import inline_block
from adc.ir.types import MemRefType, index
from adc.passes.analysis.kinds import PURE, TERMINATORS
from adc.passes.building import chosen, loop_of

_LANES = 32
_LEAST = 8 * _LANES  # terms
_TERMS = PURE | TERMINATORS | {ops.load}
_SHORT = 24  # operations of a body, of which there are two then


def split_products(func: Func, active: set[Value]) -> None:
    """Take the ``active`` products of loops that are in no other loop by lanes."""

    def visit(block: Block) -> None:
        made = block.in_place_of()
        for op in block.ops:
            if op.opdef is ops.parallel and active.issuperset(op.results) and _is_product(op):
                with insert_at(made, op.loc):
                    _split(op)
            made.append(op)
            if op.opdef is ops.if_:
                for region in op.regions:
                    visit(region)
        block.set_ops(made.ops)

    visit(func.body)


def _is_product(loop: Op) -> bool:
    """Whether a loop only multiplies, and terms that take little code."""
    (body,) = loop.regions
    if len(loop.results) != 1 or body.terminator.attrs["kinds"] != ("mul",) or constant_of(loop.operands[2]) != 1:
        return False
    if all(constant_of(v) is not None for v in loop.operands[:2]) or len(body.ops) > _SHORT:
        return False
    return all(op.opdef in _TERMS and not op.regions for op in body.ops)


def _split(loop: Op) -> None:
    """Append products side by side, if there are many terms, and let the loop multiply those that are left."""
    lower, upper, step, start = loop.operands
    (body,) = loop.regions
    zero, lanes = const_index(0), const_index(_LANES)
    count = ops.subi(upper, lower)
    many = ops.cmpi(count, const_index(_LEAST), predicate="sge")
    blocks = ops.floordivsi(count, lanes)

    def side_by_side() -> list[Value]:
        products = ops.alloc(type=MemRefType((_LANES,), start.type))
        build(ops.fill, [const(1.0, start.type), products])

        def one(block: Value) -> None:
            first = ops.addi(lower, ops.muli(block, lanes))

            def multiply(lane: Value) -> None:
                (term,) = inline_block(body, [ops.addi(first, lane)])
                build(ops.store, [ops.mulf(ops.load(products, lane), term), products, lane])

            loop_of(ops.parallel, zero, lanes, step, multiply, "lane")

        loop_of(ops.for_, zero, blocks, step, one, "block")
        together = Block([index, start.type], ["lane", "product"])
        with insert_at(together):
            build(ops.yield_, [ops.mulf(together.args[1], ops.load(products, together.args[0]))])
        return [build(ops.for_, [zero, lanes, step, start], {}, [start.type], [together]).result]

    (so_far,) = chosen(many, side_by_side, lambda: [start])
    done = ops.select(many, ops.muli(blocks, lanes), zero)
    loop.set_operand(0, ops.addi(lower, done))
    loop.set_operand(3, so_far)
