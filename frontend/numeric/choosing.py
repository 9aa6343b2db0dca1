"""Values of which a condition chooses one, element by element."""

from __future__ import annotations

from collections.abc import Callable

from adc.frontend.data.values import AbstractValue, Scalar
from adc.frontend.numeric.convert import as_scalar, convert, promote
from adc.ir import ops
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import i1


def chosen(
    condition: Callable[[], AbstractValue], x: Callable[[], AbstractValue], y: Callable[[], AbstractValue]
) -> Scalar:
    """What is not chosen of an array expression is not evaluated: it may have no value there, nor a derivative."""
    test = convert(as_scalar(condition()), i1)
    blocks = Block(), Block()
    values: list[Scalar] = []
    for block, operand in zip(blocks, (x, y), strict=True):
        with insert_at(block):
            values.append(as_scalar(operand()))
    dtype, _ = promote(*values)
    results: list[Value] = []
    for block, value in zip(blocks, values, strict=True):
        with insert_at(block):
            results.append(convert(value, dtype))
    if all(op.opdef in _HARMLESS for block in blocks for op in block.ops):
        for block in blocks:
            for op in block.ops:
                current_block().append(op)
        return Scalar(ops.select(test, *results), dtype, weak=False)
    for block, result in zip(blocks, results, strict=True):
        with insert_at(block):
            build(ops.yield_, [result])
    picked = build(ops.if_, [test], result_types=[results[0].type], regions=blocks).result
    return Scalar(picked, dtype, weak=False)


_HARMLESS = frozenset({ops.load, ops.constant, ops.index_cast, ops.sitofp, ops.extf, ops.select, ops.cmpi})
