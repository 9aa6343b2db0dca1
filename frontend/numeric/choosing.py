"""Choosing between values by a condition, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.frontend.data.values import AbstractValue, Number, Scalar
from adc.frontend.numeric.complex_functions import parts
from adc.frontend.numeric.convert import as_complex, as_number, complex_of, convert, kind, nonzero, promote
from adc.ir import ops
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Value


def chosen(
    condition: Callable[[], AbstractValue], x: Callable[[], AbstractValue], y: Callable[[], AbstractValue]
) -> Number:
    """``x`` or ``y``. The part of an array expression that is not chosen is not evaluated: it may have no value there,
    nor a derivative."""
    test = nonzero(as_number(condition()))
    blocks = Block(), Block()
    values: list[Number] = []
    for block, operand in zip(blocks, (x, y), strict=True):
        with insert_at(block):
            values.append(as_number(operand()))
    dtype, _ = promote(*values)
    results: list[tuple[Value, ...]] = []
    for block, value in zip(blocks, values, strict=True):
        with insert_at(block):
            results.append(parts(as_complex(value, dtype)) if kind(dtype) == 3 else (convert(value, dtype),))

    def made(found: Sequence[Value]) -> Number:
        return complex_of(*found) if kind(dtype) == 3 else Scalar(found[0], dtype, weak=False)

    if all(op.opdef in _HARMLESS for block in blocks for op in block.ops):
        for block in blocks:
            for op in block.ops:
                current_block().append(op)
        return made([ops.select(test, *either) for either in zip(*results, strict=True)])
    for block, result in zip(blocks, results, strict=True):
        with insert_at(block):
            build(ops.yield_, list(result))
    return made(build(ops.if_, [test], result_types=[v.type for v in results[0]], regions=blocks).results)


_HARMLESS = frozenset({ops.load, ops.constant, ops.index_cast, ops.sitofp, ops.extf, ops.select, ops.cmpi})
