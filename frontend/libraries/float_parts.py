"""Functions on the bits of floats: exponent and mantissa, sign, neighbours."""

from __future__ import annotations

import math

from adc.frontend.numeric.float_tests import is_finite, is_inf
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.types import Type, f16, f32, f64, i16, i32, index

_BIAS, _MANTISSA = 1023, 52  # of double precision
_LEAST, _MOST = -1022, 1023  # exponents of normal numbers
_NARROW: dict[Type, Type] = {f16: i16, f32: i32}


def _bits(x: Value) -> Value:
    if x.type in _NARROW:
        return ops.index_cast(ops.bitcast(x, type=_NARROW[x.type]), type=index)
    return ops.bitcast(x, type=index)


def _of_bits(n: Value, t: Type) -> Value:
    return ops.bitcast(ops.index_cast(n, type=_NARROW[t]) if t in _NARROW else n, type=t)


def _double(x: Value) -> Value:
    return ops.extf(x, type=f64) if x.type != f64 else x


def _as(x: Value, t: Type) -> Value:
    return ops.truncf(x, type=t) if t != f64 else x


def signbit(x: Value, *, dtype: Type) -> Value:
    return ops.cmpi(_bits(x), const(0, index), predicate="slt")


def ldexp(x: Value, n: Value, *, dtype: Type) -> Value:
    """``x * 2**n``, rounded once: multiplied by powers of two that are normal numbers. Steps downwards leave a margin
    of 53 bits, so that only the last product is rounded."""
    value = _double(x)
    for _ in range(2):
        up = ops.minsi(ops.maxsi(n, const(0, index)), const(_MOST, index))
        up = ops.select(ops.cmpi(n, const(_MOST, index), predicate="sgt"), up, const(0, index))
        small = ops.cmpi(n, const(_LEAST, index), predicate="slt")
        step = ops.select(small, const(_LEAST + 53, index), up)
        value, n = ops.mulf(value, _power_of_two(step)), ops.subi(n, step)
    last = ops.minsi(ops.maxsi(n, const(_LEAST, index)), const(_MOST, index))
    return _as(ops.mulf(value, _power_of_two(last)), x.type)


def _power_of_two(n: Value) -> Value:
    return ops.bitcast(ops.shli(ops.addi(n, const(_BIAS, index)), const(_MANTISSA, index)), type=f64)


def frexp(x: Value, *, dtype: Type) -> tuple[Value, Value]:
    """Mantissa and exponent. Zeros, infinities and NaN are their own mantissa."""
    value = _double(x)
    whole = is_finite(value)
    tiny = ops.cmpf(ops.absf(value), const(2.0**_LEAST, f64), predicate="olt")
    normal = ops.select(tiny, ops.mulf(value, const(2.0**54, f64)), value)
    raised = ops.andi(ops.shrsi(_bits(normal), const(_MANTISSA, index)), const(2 * _BIAS + 1, index))
    exponent = ops.subi(raised, ops.select(tiny, const(_BIAS - 1 + 54, index), const(_BIAS - 1, index)))
    is_number = ops.andi(whole, ops.cmpf(value, const(0.0, f64), predicate="one"))
    exponent = ops.select(is_number, exponent, const(0, index))
    return ldexp(x, ops.subi(const(0, index), exponent), dtype=dtype), exponent


def modf(x: Value, *, dtype: Type) -> tuple[Value, Value]:
    """The fractional and the integral part, both with the sign of the number."""
    whole, zero = ops.trunc(x), const(0.0, x.type)
    infinite = is_inf(x)
    rest = ops.select(infinite, zero, ops.subf(x, whole))
    return ops.copysign(rest, x), whole


def nextafter(x: Value, y: Value, *, dtype: Type) -> Value:
    """The float next to ``x`` on the way to ``y``."""
    zero, one = const(0.0, x.type), const(1, index)
    outwards = ops.cmpi(
        ops.index_castui(ops.cmpf(x, y, predicate="olt"), type=index),
        ops.index_castui(ops.cmpf(x, zero, predicate="ogt"), type=index),
        predicate="eq",
    )
    beside = _of_bits(ops.addi(_bits(x), ops.select(outwards, one, const(-1, index))), x.type)
    least = ops.copysign(_of_bits(one, x.type), y)
    found = ops.select(ops.cmpf(x, zero, predicate="oeq"), least, beside)
    found = ops.select(ops.cmpf(x, y, predicate="oeq"), y, found)
    # The difference is exact, and so is the sum, which has the derivative of ``x``; except for infinities and zeros.
    moved = ops.addf(x, ops.stop_gradient(ops.subf(found, x)))
    infinite = is_inf(x)
    as_it_is = ops.ori(infinite, ops.cmpf(found, zero, predicate="oeq"))
    none = ops.cmpf(x, y, predicate="uno")
    return ops.select(none, ops.addf(x, y), ops.select(as_it_is, found, moved))


def spacing(x: Value, *, dtype: Type) -> Value:
    """The distance to the next float away from zero, with the sign of the number."""
    beside = _of_bits(ops.addi(_bits(x), const(1, index)), x.type)
    away = ops.subf(beside, x)
    away = ops.select(ops.cmpf(x, const(0.0, x.type), predicate="oeq"), _of_bits(const(1, index), x.type), away)
    whole = is_finite(x)
    if x.type == f16:  # here NumPy goes upwards from negative numbers, too
        up = ops.subf(nextafter(x, const(math.inf, f16), dtype=dtype), x)
        away = ops.select(ops.cmpf(x, const(0.0, f16), predicate="olt"), up, away)
    return ops.stop_gradient(ops.select(whole, away, const(math.nan, x.type)))
