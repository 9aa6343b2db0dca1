"""Integers that are not exact as doubles: Python's comparisons with floats, and its division.

NumPy converts integers to doubles first. Python does not: ``2**53 + 1 == 2.0**53`` is false, and ``a / b`` is the
double nearest to the quotient of the integers.
"""

from __future__ import annotations

from functools import reduce

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Value
from adc.ir.types import f64, i1, index

MOST = 2**53
"""All integers up to this one are exact as doubles."""


def _is_small(n: Value) -> bool:
    known = constant_of(n)
    return (known is not None and abs(known) <= MOST) or (n.op is not None and n.op.opdef is ops.dim)


def compared(rounded: Value, predicate: str, n: Value, converted: Value, x: Value) -> Value:
    """Whether ``n`` compares with the float ``x`` as ``predicate`` (of ``arith.cmpi``) says; ``rounded`` is the same
    comparison of ``converted``, which is ``n`` as a float, with ``x``.

    That is right where those two differ. Where they are equal, ``x`` is an integer, which is compared with ``n``.
    """
    if _is_small(n):
        return rounded
    equal = ops.cmpf(converted, x, predicate="oeq")
    beyond = ops.cmpf(x, const(2.0**63, x.type), predicate="oge")  # then it is greater than all integers
    exact = ops.cmpi(n, ops.fptosi(x, type=index), predicate=predicate)
    exact = ops.select(beyond, const(predicate in ("slt", "sle", "ne"), i1), exact)
    return ops.select(equal, exact, rounded)


def quotient(n: Value, m: Value) -> Value:
    """The double nearest to ``n / m`` (computed to twice the precision: near a tie it may be the other neighbour)."""
    x, y = (ops.sitofp(v, type=f64) for v in (n, m))
    near = ops.divf(x, y)
    sizes = [ops.absf(converted) for v, converted in ((n, x), (m, y)) if not _is_small(v)]
    if not sizes:
        return near
    # Not by a test of integers: loops would be split where their counters become large.
    small = ops.cmpf(reduce(ops.maximumf, sizes), const(float(MOST), f64), predicate="olt")
    plain, exact = Block(), Block()
    with insert_at(plain):
        build(ops.yield_, [near])
    with insert_at(exact):
        build(ops.yield_, [_corrected(near, n, m)])
    return build(ops.if_, [small], {}, [f64], [plain, exact]).result


def _corrected(near: Value, n: Value, m: Value) -> Value:
    """``near`` plus the remainder of the division, to twice the precision."""
    (x, x_rest), (y, y_rest) = _parts(n), _parts(m)
    left = ops.fma(ops.negf(near), y, x)  # exact, as ``near`` is the rounded quotient
    left = ops.subf(ops.addf(left, x_rest), ops.mulf(near, y_rest))
    return ops.addf(near, ops.divf(left, y))


def _parts(n: Value) -> tuple[Value, Value]:
    """The double nearest to ``n``, and the remainder, which is a double too."""
    low = ops.andi(n, const_index(0x7FF))
    high = ops.sitofp(ops.subi(n, low), type=f64)
    low = ops.sitofp(low, type=f64)
    nearest = ops.addf(high, low)
    return nearest, ops.subf(low, ops.subf(nearest, high))
