"""Functions of one run-time integer that may leave its range: negation, the absolute value, rounding."""

from __future__ import annotations

from adc.frontend.data.values import Scalar
from adc.frontend.numeric.convert import INT64, TOO_LARGE, wrap
from adc.frontend.traps import trap_unless
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.types import i64, index, ui64


def negated(s: Scalar) -> Scalar:
    """``-s`` of an integer."""
    _check_opposite(s, "-({})")
    return Scalar(wrap(ops.subi(const(0, index), s.value), s.dtype), s.dtype, s.weak)


def absolute(s: Scalar) -> Scalar:
    """``abs(s)`` of an integer."""
    _check_opposite(s, "abs({})")
    return Scalar(s.value if s.dtype == ui64 else wrap(ops.absi(s.value), s.dtype), s.dtype, s.weak)


def rounded_integer(s: Scalar, places: int) -> Scalar:
    """``round(s, places)`` of a Python integer: to the nearest multiple of a power of ten, ties to even."""
    if places >= 0:
        return s
    power, n = 10**-places, s.value
    if power > INT64.max:  # zero, or a number that needs more than 64 bits
        half = power // 2
        if half <= INT64.max:
            ends = (ops.cmpi(n, const(v, index), predicate=p) for v, p in ((-half, "sge"), (half, "sle")))
            trap_unless(ops.andi(*ends), "RangeError", TOO_LARGE.format(f"round({{}}, {places})"), n)
        return Scalar(const(0, index), i64)
    step, zero = const(power, index), const(0, index)
    quotient = ops.divsi(n, step)
    below = ops.muli(quotient, step)
    rest = ops.subi(n, below)
    beside, half_step = ops.absi(rest), const(power // 2, index)
    odd = ops.cmpi(ops.andi(quotient, const(1, index)), zero, predicate="ne")
    tie = ops.andi(ops.cmpi(beside, half_step, predicate="eq"), odd)
    away = ops.ori(ops.cmpi(beside, half_step, predicate="sgt"), tie)
    signed = ops.select(ops.cmpi(rest, zero, predicate="slt"), ops.subi(zero, step), step)
    added = ops.select(away, signed, zero)
    trap_unless(ops.fits(below, added, kind="add"), "RangeError", TOO_LARGE.format(f"round({{}}, {places})"), n)
    return Scalar(ops.addi(below, added), i64)


def _check_opposite(s: Scalar, shown: str) -> None:
    if s.weak:
        fits = ops.fits(const(0, index), s.value, kind="sub")
        trap_unless(fits, "RangeError", TOO_LARGE.format(shown), s.value)


def sign_of_integer(x: Value) -> Value:
    return ops.maxsi(ops.minsi(x, const(1, index)), const(-1, index))
