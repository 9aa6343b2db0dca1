"""Functions of integers that are loops or bit tricks."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import IntType, Type, i1, index


def gcd(x: Value, y: Value, *, dtype: Type) -> Value:
    """Euclid's algorithm."""
    zero = const(0, index)
    head, body = Block([index, index], ["a", "b"]), Block([index, index], ["a", "b"])
    with insert_at(head):
        build(ops.condition, [ops.cmpi(head.args[1], zero, predicate="ne"), *head.args])
    with insert_at(body):
        a, b = body.args
        build(ops.yield_, [b, ops.remui(a, b)])
    start = [_size(x, dtype), _size(y, dtype)]
    return build(ops.while_, start, result_types=[index, index], regions=[head, body]).results[0]


def lcm(x: Value, y: Value, *, dtype: Type) -> Value:
    common = gcd(x, y, dtype=dtype)
    none = ops.cmpi(common, const(0, index), predicate="eq")
    parts = ops.divui(_size(x, dtype), ops.select(none, const(1, index), common))
    return ops.muli(parts, _size(y, dtype))


def _size(x: Value, dtype: Type) -> Value:
    """The absolute value, treated as unsigned."""
    return x if is_unsigned(dtype) else ops.absi(x)


def bit_count(x: Value, *, dtype: Type) -> Value:
    """The number of bits set in the absolute value: added up in pairs, fours, bytes, and all of these by a product."""
    n = _size(x, dtype)
    n = ops.subi(n, _masked(ops.shrui(n, const(1, index)), 0x5555555555555555))
    n = ops.addi(_masked(n, 0x3333333333333333), _masked(ops.shrui(n, const(2, index)), 0x3333333333333333))
    n = _masked(ops.addi(n, ops.shrui(n, const(4, index))), 0x0F0F0F0F0F0F0F0F)
    return ops.shrui(ops.muli(n, const(0x0101010101010101, index)), const(56, index))


def _masked(n: Value, mask: int) -> Value:
    return ops.andi(n, const(mask, index))


def is_unsigned(dtype: Type) -> bool:
    return isinstance(dtype, IntType) and dtype.unsigned


def fmod(x: Value, y: Value, *, dtype: Type) -> Value:
    """The remainder with the sign of ``x``; for integers, zero if the divisor is zero."""
    if dtype.is_float:
        return ops.remf(x, y)
    none = ops.cmpi(y, const(0, index), predicate="eq")
    divisor = ops.select(none, const(1, index), y)
    rest = ops.remui(x, divisor) if is_unsigned(dtype) else ops.remsi(x, divisor)
    return ops.select(none, const(0, index), rest)


def invert(x: Value, *, dtype: Type) -> Value:
    return ops.xori(x, const(True, i1) if dtype == i1 else const(-1, index))
