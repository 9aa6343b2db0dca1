"""``/``, ``//`` and ``%`` of two run-time numbers: signs as in Python, zero divisors as in Python or NumPy."""

from __future__ import annotations

from collections.abc import Callable

from adc.frontend.data.values import Scalar
from adc.frontend.numeric import large_integers
from adc.frontend.numeric.convert import INT64, TOO_LARGE, convert, in_single, kind, promote, wrap
from adc.frontend.numeric.handled import check_divisor
from adc.frontend.numeric.operands import meet
from adc.frontend.traps import trap_unless
from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.core import Value
from adc.ir.types import f64, i64, index, ui64


def divide(x: Scalar, y: Scalar) -> Scalar:
    """``x / y``."""
    dtype, weak = promote(x, y)
    if kind(dtype) < 2:
        if weak:
            _check_divisor(convert(y, i64), "division by zero")
            return Scalar(large_integers.quotient(convert(x, i64), convert(y, i64)), f64, weak)
        dtype = f64
    p, q = convert(x, dtype), convert(y, dtype)
    if weak:
        check_divisor(q)
    return Scalar(ops.divf(p, q), dtype, weak)


def _check_divisor(divisor: Value, message: str) -> None:
    known = constant_of(divisor)
    if known is None or known == 0:
        trap_unless(ops.cmpi(divisor, const(0, index), predicate="ne"), "ZeroDivisionError", message)


def floor_divide(x: Scalar, y: Scalar) -> Scalar:
    """``x // y``."""
    p, q, dtype, weak = meet(x, y, i64)
    if kind(dtype) == 2:
        if weak:
            check_divisor(q, "float floor division by zero")
        return Scalar(in_single(_float_floor_divide, [p, q]), dtype, weak)
    if not weak:
        divide = ops.divui if dtype == ui64 else ops.floordivsi
        return Scalar(wrap(_unless_zero(divide, p, q), dtype), dtype, weak)
    _check_divisor(q, "integer division or modulo by zero")
    if constant_of(q) in (None, -1):  # the least integer has no negative
        whole = ops.ori(*(ops.cmpi(v, const(n, index), predicate="ne") for v, n in ((p, INT64.min), (q, -1))))
        trap_unless(whole, "RangeError", TOO_LARGE.format("{} // {}"), p, q)
    return Scalar(ops.floordivsi(p, q), dtype, weak)


def _unless_zero(emit: Callable[[Value, Value], Value], p: Value, q: Value) -> Value:
    """A quotient or remainder of NumPy's integers: zero for a zero divisor."""
    known, zero = constant_of(q), const(0, index)
    if known is not None:
        return emit(p, q) if known else zero
    by_zero = ops.cmpi(q, zero, predicate="eq")
    return ops.select(by_zero, zero, emit(p, ops.select(by_zero, const(1, index), q)))


def modulo(x: Scalar, y: Scalar) -> Scalar:
    """``x % y``."""
    p, q, dtype, weak = meet(x, y, i64)
    if kind(dtype) == 2:
        if weak:
            check_divisor(q, "float modulo")
        return Scalar(in_single(_float_modulo, [p, q]), dtype, weak)
    if not weak:
        return Scalar(_unless_zero(ops.remui if dtype == ui64 else int_modulo, p, q), dtype, weak)
    _check_divisor(q, "integer division or modulo by zero")
    return Scalar(int_modulo(p, q), dtype, weak)


def int_modulo(p: Value, q: Value) -> Value:
    r = ops.remsi(p, q)
    zero = const(0, index)
    known = constant_of(q)
    if known is not None:
        differs = ops.cmpi(r, zero, predicate="slt" if known > 0 else "sgt")
    else:
        differs = ops.andi(ops.cmpi(r, zero, predicate="ne"), ops.cmpi(ops.xori(r, q), zero, predicate="slt"))
    return ops.select(differs, ops.addi(r, q), r)


def _float_modulo(p: Value, q: Value) -> Value:
    """Python's ``%`` on floats: the sign of the divisor, on zeros too."""
    r = ops.remf(p, q)
    zero = const(0.0, r.type)
    known = constant_of(q)
    if known is not None and known > 0:
        return ops.select(ops.cmpf(r, zero, predicate="olt"), ops.addf(r, q), ops.addf(r, zero))
    negative = ops.cmpf(q, zero, predicate="olt")
    # Adding zero gives a zero remainder the divisor's sign, and does not change its derivative.
    signed = ops.select(negative, ops.negf(ops.addf(ops.negf(r), zero)), ops.addf(r, zero))
    return ops.select(_of_other_sign(r, q), ops.addf(r, q), signed)


def _of_other_sign(r: Value, q: Value) -> Value:
    """Whether a remainder is not zero and its sign differs from the divisor's."""
    zero = const(0.0, r.type)
    negative = [ops.cmpf(v, zero, predicate="olt") for v in (r, q)]
    return ops.andi(ops.xori(*negative), ops.cmpf(r, zero, predicate="one"))


def _float_floor_divide(p: Value, q: Value) -> Value:
    """Python's ``//`` on floats, as CPython and NumPy compute it, rounding by rounding."""
    zero, one = const(0.0, p.type), const(1.0, p.type)
    quotient, r = ops.divf(p, q), ops.remf(p, q)
    whole = ops.divf(ops.subf(p, r), q)  # an integer up to rounding
    whole = ops.select(_of_other_sign(r, q), ops.subf(whole, one), whole)
    floor = ops.floor(whole)
    up = ops.cmpf(ops.subf(whole, floor), const(0.5, p.type), predicate="ogt")
    floor = ops.select(up, ops.addf(floor, one), floor)
    signed_zero = ops.copysign(zero, quotient)
    result = ops.select(ops.cmpf(whole, zero, predicate="oeq"), signed_zero, floor)
    if constant_of(q):
        return result
    return ops.select(ops.cmpf(q, zero, predicate="oeq"), quotient, result)
