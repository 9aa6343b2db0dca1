"""Modules as plain data, to be kept for other processes: values are numbers, in the order of their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value

Packed = tuple[tuple[Any, ...], ...]


def packed(module: Module) -> Packed:
    """What ``unpacked`` makes a copy of the module from: numbers, strings, types and locations."""
    return tuple(_packed_function(func) for func in module.funcs.values())


def unpacked(data: Packed) -> Module:
    """The module that was packed, with locations and names of values."""
    return Module({func[0]: _unpacked_function(*func) for func in data})


def _packed_function(func: Func) -> tuple[Any, ...]:
    arg_attrs = [dict(attrs) for attrs in func.arg_attrs]
    return func.name, func.result_types, arg_attrs, dict(func.attrs), func.loc, _packed_block(func.body, {})


def _unpacked_function(
    name: str, result_types: Any, arg_attrs: Any, attrs: Any, loc: Any, body: tuple[Any, ...]
) -> Func:
    func = Func(name, [t for t, _ in body[0]], result_types, [hint for _, hint in body[0]], loc)
    func.arg_attrs, func.attrs = arg_attrs, attrs
    _fill(func.body, body, [])
    return func


def _packed_block(block: Block, numbers: dict[Value, int]) -> tuple[Any, ...]:
    return _defined(block.args, numbers), [_packed_op(op, numbers) for op in block.ops]


def _packed_op(op: Op, numbers: dict[Value, int]) -> tuple[Any, ...]:
    operands = [numbers[v] for v in op.operands]
    regions = [_packed_block(region, numbers) for region in op.regions]
    return op.opdef.name, operands, dict(op.attrs), regions, op.loc, _defined(op.results, numbers)


def _defined(values: Sequence[Value], numbers: dict[Value, int]) -> tuple[tuple[Any, str], ...]:
    for value in values:
        numbers[value] = len(numbers)
    return tuple((value.type, value.hint) for value in values)


def _fill(block: Block, data: tuple[Any, ...], values: list[Value]) -> Block:
    values += block.args
    for name, operands, attrs, regions, loc, results in data[1]:
        inner = [_fill(Block([t for t, _ in r[0]], [hint for _, hint in r[0]]), r, values) for r in regions]
        op = Op(ops.TABLE[name], [values[k] for k in operands], [t for t, _ in results], attrs, inner, loc)
        for value, (_, hint) in zip(op.results, results, strict=True):
            value.hint = hint
        values += op.results
        block.append(op)
    return block
