"""Rounding to decimals as Python does it: the exact value of the float is rounded, half to even."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.types import f64, i1

MOST_DIGITS = 22  # larger powers of ten are no floats
_HALF, _ONE, _LARGEST = 0.5, 1.0, 2.0**53  # what is larger has no digits to lose


def rounded_to(x: Value, digits: int) -> Value:
    """``round(x, digits)`` for at most ``MOST_DIGITS`` digits before or after the point. Its derivative is zero."""
    x, power = ops.stop_gradient(x), const(10.0 ** abs(digits), f64)
    scaled, whole = _after(x, power) if digits >= 0 else _before(x, power)
    rounded = ops.divf(whole, power) if digits >= 0 else ops.mulf(whole, power)
    return ops.select(_compare(ops.absf(scaled), "olt", _LARGEST), rounded, x)


def _after(x: Value, power: Value) -> tuple[Value, Value]:
    """``x`` times the power of ten, and the nearest integer to the exact product."""
    scaled = ops.mulf(x, power)
    rest = ops.fma(x, power, ops.negf(scaled))  # the product is scaled + rest
    whole = ops.roundeven(scaled)
    side = ops.addf(scaled, ops.copysign(const(_HALF, f64), rest))
    tie = _compare(ops.absf(ops.subf(scaled, whole)), "oeq", _HALF)
    whole = ops.select(ops.andi(tie, _compare(rest, "une", 0.0)), side, whole)
    other = ops.andi(_compare(ops.absf(rest), "oeq", _HALF), _is_odd(whole))
    return scaled, ops.select(other, ops.addf(whole, ops.addf(rest, rest)), whole)


def _before(x: Value, power: Value) -> tuple[Value, Value]:
    """``x`` divided by the power of ten, and the nearest integer to the exact quotient."""
    scaled = ops.divf(x, power)
    whole = ops.roundeven(scaled)
    rest = ops.fma(ops.negf(whole), power, x)
    twice = ops.absf(ops.addf(rest, rest))
    beyond = ops.cmpf(twice, power, predicate="ogt")
    tie = ops.andi(ops.cmpf(twice, power, predicate="oeq"), _is_odd(whole))
    side = ops.addf(whole, ops.copysign(const(_ONE, f64), rest))
    return scaled, ops.select(ops.ori(beyond, tie), side, whole)


def _compare(x: Value, predicate: str, limit: float) -> Value:
    return ops.cmpf(x, const(limit, f64), predicate=predicate)


def _is_odd(whole: Value) -> Value:
    half = ops.mulf(whole, const(_HALF, f64))
    return ops.xori(ops.cmpf(half, ops.floor(half), predicate="oeq"), const(True, i1))
