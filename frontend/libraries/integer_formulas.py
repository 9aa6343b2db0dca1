"""Functions of integers that are loops or bit tricks."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import Type, i1, index


def gcd(x: Value, y: Value, *, dtype: Type) -> Value:
    """Euclid's algorithm."""
    zero = const(0, index)
    head, body = Block([index, index], ["a", "b"]), Block([index, index], ["a", "b"])
    with insert_at(head):
        build(ops.condition, [ops.cmpi(head.args[1], zero, predicate="ne"), *head.args])
    with insert_at(body):
        a, b = body.args
        build(ops.yield_, [b, ops.remsi(a, b)])
    start = [ops.absi(x), ops.absi(y)]
    return ops.absi(build(ops.while_, start, result_types=[index, index], regions=[head, body]).results[0])


def lcm(x: Value, y: Value, *, dtype: Type) -> Value:
    common = gcd(x, y, dtype=dtype)
    none = ops.cmpi(common, const(0, index), predicate="eq")
    parts = ops.divsi(ops.absi(x), ops.select(none, const(1, index), common))
    return ops.muli(parts, ops.absi(y))


def fmod(x: Value, y: Value, *, dtype: Type) -> Value:
    """The remainder with the sign of ``x``; of integers zero where there is none."""
    if dtype.is_float:
        return ops.remf(x, y)
    none = ops.cmpi(y, const(0, index), predicate="eq")
    rest = ops.remsi(x, ops.select(none, const(1, index), y))
    return ops.select(none, const(0, index), rest)


def invert(x: Value, *, dtype: Type) -> Value:
    return ops.xori(x, const(True, i1) if dtype == i1 else const(-1, index))
