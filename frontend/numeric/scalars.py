"""Operators on numbers, as Python and NumPy define them: promotion, signs of ``//`` and ``%``, errors, truth.

Two numbers known at trace time are computed at once. Floats follow IEEE (division by zero gives an infinity, as in
NumPy); integers have 64 bits (32 for NumPy's int32) and raise ZeroDivisionError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.frontend.data.values import AbstractValue, Scalar, Static, describe_type, is_number, is_static_number
from adc.frontend.errors import refuse
from adc.frontend.numeric import large_integers
from adc.frontend.numeric.convert import (
    INT64,
    TOO_LARGE,
    as_scalar,
    beyond,
    check_fits,
    convert,
    kind,
    nonzero,
    promote,
    trap_unless,
    wrap,
)
from adc.ir import kinds, ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import Type, f64, i1, i32, i64, index

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FLOAT_PREDICATES = {"==": "oeq", "!=": "une", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}
_INT_PREDICATES = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
COMPARISONS = frozenset(_FLOAT_PREDICATES)
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def binary(symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """``a symbol b`` of two numbers, comparisons included."""
    if is_static_number(a) and is_static_number(b):
        known = _fold(symbol, a.value, b.value)  # type: ignore[attr-defined]
        if known is not None:
            return known
    if beyond(a) or beyond(b):
        met = _meet_large(symbol, a, b)
        if met is not None:
            return met
    if symbol in COMPARISONS and (whole := _whole_bound(symbol, a, b)) is not None:
        return binary(symbol, *whole) if isinstance(whole, tuple) else whole
    x, y = as_scalar(a), as_scalar(b)
    if symbol in COMPARISONS:
        return _compare(symbol, x, y)
    if symbol == "**":
        return _power(x, y, b.value if is_static_number(b) else None)  # type: ignore[attr-defined]
    return _ARITHMETIC[symbol](x, y)


def _whole_bound(symbol: str, a: AbstractValue, b: AbstractValue) -> tuple[Any, Any] | Static | None:
    """A comparison of a Python int with a float that is known, as one with an integer: Python's is exact."""
    if isinstance(a, Static):
        a, b, symbol = b, a, _SWAPPED[symbol]
        swapped = True
    else:
        swapped = False
    if not (isinstance(a, Scalar) and a.weak and a.dtype == i64 and isinstance(b, Static) and type(b.value) is float):
        return None
    if not math.isfinite(b.value):
        return Static(PYTHON[symbol](0, b.value))
    if symbol in ("==", "!=") and not b.value.is_integer():
        return Static(symbol == "!=")
    bound = Static(math.ceil(b.value) if symbol in ("<", ">=") else math.floor(b.value))
    return (bound, a) if swapped else (a, bound)


def _meet_large(symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """An operation where one of two operands is known and needs more than 64 bits: a float like it meets floats, and
    every integer is above it or below; else there is none."""
    large, other = (a, b) if beyond(a) else (b, a)
    assert isinstance(large, Static)
    s = as_scalar(other)
    if kind(s.dtype) == 2:
        try:
            instead = Static(float(large.value))
        except OverflowError:
            return None
        return binary(symbol, instead, other) if large is a else binary(symbol, other, instead)
    if symbol not in COMPARISONS:
        return None
    sign = 1 if large.value > 0 else -1
    answer = PYTHON[symbol](sign, 0) if large is a else PYTHON[symbol](0, sign)
    return Static(answer if s.weak else np.bool_(answer))


def _fold(symbol: str, a: Any, b: Any) -> Static | None:
    try:
        with np.errstate(all="ignore"):
            result = PYTHON[symbol](a, b)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    except TypeError:
        raise _unsupported(symbol, Static(a), Static(b)) from None
    return Static(result) if is_number(result) else None


def _unsupported(symbol: str, a: AbstractValue, b: AbstractValue) -> Exception:
    return refuse(
        current_loc(),
        f"{symbol} is not defined for {describe_type(a)} and {describe_type(b)}",
        kind=kinds.UNSUPPORTED_OPERAND,
    )


def _compare(symbol: str, x: Scalar, y: Scalar) -> Scalar:
    dtype, weak = promote(x, y)
    if dtype == i32:
        dtype = i64  # a Python integer that does not fit into 32 bits compares all the same
    p, q = convert(x, dtype), convert(y, dtype)
    if kind(dtype) == 2:
        found = ops.cmpf(p, q, predicate=_FLOAT_PREDICATES[symbol])
        if weak:  # Python compares an int with a float as they are, NumPy converts it first
            if kind(x.dtype) == 1:
                found = large_integers.compared(found, _INT_PREDICATES[symbol], x.value, p, q)
            elif kind(y.dtype) == 1:
                found = large_integers.compared(found, _INT_PREDICATES[_SWAPPED[symbol]], y.value, q, p)
        return Scalar(found, i1, weak)
    if dtype == i1:  # i1 has no sign to compare with
        p, q = ops.index_castui(p, type=index), ops.index_castui(q, type=index)
    return Scalar(ops.cmpi(p, q, predicate=_INT_PREDICATES[symbol]), i1, weak)


def _meet(x: Scalar, y: Scalar, at_least: Type = i1) -> tuple[Value, Value, Type, bool]:
    """Both operands in their common dtype; Python's bools count as integers."""
    dtype, weak = promote(x, y)
    if dtype == i1 and (weak or at_least != i1):
        if not weak:
            raise small_integers()
        dtype = i64
    if kind(dtype) < kind(at_least):
        dtype = at_least
    return convert(x, dtype), convert(y, dtype), dtype, weak


def small_integers() -> Exception:
    """Of an operation on NumPy's bools."""
    message = "this of NumPy's bools is an 8-bit integer in NumPy"
    return refuse(current_loc(), message, "convert to int first", kind=kinds.UNSUPPORTED_OPERAND)


def _arithmetic(
    on_floats: Any, on_integers: Any, on_bools: Any, symbol: str, fits: str
) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(x: Scalar, y: Scalar) -> Scalar:
        p, q, dtype, weak = _meet(x, y)
        if kind(dtype) == 2:
            return Scalar(on_floats(p, q), dtype, weak)
        if dtype == i1:
            if on_bools is None:
                raise _unsupported(symbol, x, y)
            return Scalar(on_bools(p, q), dtype, weak)
        if weak:
            check_fits(fits, p, q)
        return Scalar(wrap(on_integers(p, q), dtype), dtype, weak)

    return apply


def _divide(x: Scalar, y: Scalar) -> Scalar:
    dtype, weak = promote(x, y)
    if kind(dtype) < 2:
        if weak:
            _check_divisor(convert(y, i64), "division by zero")
            return Scalar(large_integers.quotient(convert(x, i64), convert(y, i64)), f64, weak)
        dtype = f64
    return Scalar(ops.divf(convert(x, dtype), convert(y, dtype)), dtype, weak)


def _check_divisor(divisor: Value, message: str) -> None:
    known = constant_of(divisor)
    if known is None or known == 0:
        trap_unless(ops.cmpi(divisor, const(0, index), predicate="ne"), "ZeroDivisionError", message)


def _floor_divide(x: Scalar, y: Scalar) -> Scalar:
    p, q, dtype, weak = _meet(x, y, i64)
    if kind(dtype) == 2:
        return Scalar(_float_floor_divide(p, q), dtype, weak)
    if not weak:
        return Scalar(wrap(_unless_zero(ops.floordivsi, p, q), dtype), dtype, weak)
    _check_divisor(q, "integer division or modulo by zero")
    if constant_of(q) in (None, -1):  # the least integer has no opposite
        whole = ops.ori(*(ops.cmpi(v, const(n, index), predicate="ne") for v, n in ((p, INT64.min), (q, -1))))
        trap_unless(whole, "OverflowError", TOO_LARGE.format("{} // {}"), p, q)
    return Scalar(ops.floordivsi(p, q), dtype, weak)


def _unless_zero(emit: Callable[[Value, Value], Value], p: Value, q: Value) -> Value:
    """A quotient or remainder of NumPy's integers: zero if the divisor is."""
    known, zero = constant_of(q), const(0, index)
    if known is not None:
        return emit(p, q) if known else zero
    by_zero = ops.cmpi(q, zero, predicate="eq")
    return ops.select(by_zero, zero, emit(p, ops.select(by_zero, const(1, index), q)))


def _modulo(x: Scalar, y: Scalar) -> Scalar:
    p, q, dtype, weak = _meet(x, y, i64)
    if kind(dtype) == 2:
        return Scalar(float_modulo(p, q), dtype, weak)
    if not weak:
        return Scalar(_unless_zero(_int_modulo, p, q), dtype, weak)
    _check_divisor(q, "integer division or modulo by zero")
    return Scalar(_int_modulo(p, q), dtype, weak)


def _int_modulo(p: Value, q: Value) -> Value:
    r = ops.remsi(p, q)
    zero = const(0, index)
    known = constant_of(q)
    if known is not None:
        differs = ops.cmpi(r, zero, predicate="slt" if known > 0 else "sgt")
    else:
        differs = ops.andi(ops.cmpi(r, zero, predicate="ne"), ops.cmpi(ops.xori(r, q), zero, predicate="slt"))
    return ops.select(differs, ops.addi(r, q), r)


def float_modulo(p: Value, q: Value) -> Value:
    """Python's ``%`` on floats: the sign of the divisor, on zeros too."""
    r = ops.remf(p, q)
    zero = const(0.0, r.type)
    known = constant_of(q)
    if known is not None and known > 0:
        return ops.select(ops.cmpf(r, zero, predicate="olt"), ops.addf(r, q), ops.addf(r, zero))
    negative = ops.cmpf(q, zero, predicate="olt")
    # Adding zero gives a zero remainder the divisor's sign, and leaves its derivative alone.
    signed = ops.select(negative, ops.negf(ops.addf(ops.negf(r), zero)), ops.addf(r, zero))
    return ops.select(_of_other_sign(r, q), ops.addf(r, q), signed)


def _of_other_sign(r: Value, q: Value) -> Value:
    """Whether a remainder is not zero, and of another sign than the divisor."""
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


def power_of_elements(x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """``x ** y`` of an array's elements: NumPy takes the root where the exponent is a half, here if that is known."""
    s = as_scalar(x)
    if s.dtype == i1 and kind(as_scalar(y).dtype) < 2:
        raise small_integers()
    if isinstance(y, Static) and is_number(y.value) and y.value == 0.5:
        dtype, _ = promote(s, as_scalar(y))
        return Scalar(ops.sqrt(convert(s, dtype)), dtype, weak=False)
    return binary("**", x, y)


_EXACT_POWERS = 16  # beyond this, pow() is more accurate than repeated multiplication


def _power(x: Scalar, y: Scalar, exponent: Any) -> Scalar:
    dtype, weak = promote(x, y)
    if dtype == i1:
        dtype = i64
    if kind(dtype) == 1:
        if exponent is not None and exponent < 0:
            if not weak:
                raise refuse(
                    current_loc(),
                    "integers to negative integer powers are not allowed",
                    "use a float base",
                    kind=kinds.INVALID_VALUE,
                )
            return _power(Scalar(convert(x, f64), f64, True), y, exponent)
        return _int_power(x, y, dtype, weak, exponent)
    whole = exponent is not None and float(exponent).is_integer() and abs(exponent) <= _EXACT_POWERS
    if whole and kind(x.dtype) == 2:
        return Scalar(_small_power(convert(x, dtype), int(exponent)), dtype, weak)
    return Scalar(ops.powf(convert(x, dtype), convert(y, dtype)), dtype, weak)


def _small_power(x: Value, n: int) -> Value:
    if n == 0:
        return const(1.0, x.type)
    if n == 1:
        return x
    if n == 2:
        return ops.mulf(x, x)
    return ops.fpowi(x, const(n, index))


def _int_power(x: Scalar, y: Scalar, dtype: Type, weak: bool, exponent: Any) -> Scalar:
    p, q = convert(x, dtype), convert(y, dtype)
    if exponent is None:
        trap_unless(
            ops.cmpi(q, const(0, index), predicate="sge"),
            "ValueError",
            "an integer to the negative integer power {} would be a float; make the base a float",
            q,
        )
    elif exponent == 2:
        return _ARITHMETIC["*"](x, x) if weak else Scalar(wrap(ops.muli(p, p), dtype), dtype, weak)
    if weak:
        check_fits("pow", p, q)
    return Scalar(wrap(ops.ipowi(p, q), dtype), dtype, weak)


def _bits(on_integers: Any, symbol: str) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(x: Scalar, y: Scalar) -> Scalar:
        dtype, weak = promote(x, y)
        if kind(dtype) == 2:
            raise _unsupported(symbol, x, y)
        return Scalar(on_integers(convert(x, dtype), convert(y, dtype)), dtype, weak)

    return apply


def _shift(left: bool) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(x: Scalar, y: Scalar) -> Scalar:
        p, q, dtype, weak = _meet(x, y, i64)
        if kind(dtype) == 2:
            raise _unsupported("<<" if left else ">>", x, y)
        zero, most = const(0, index), const(63, index)
        if (known := constant_of(q)) is None or known < 0:
            negative = ops.cmpi(q, zero, predicate="slt")
            if weak:
                trap_unless(logical_not(negative), "ValueError", "negative shift count")
            else:  # to NumPy, a negative count is a large one
                q = ops.select(negative, const(INT64.max, index), q)
        if left and weak:
            check_fits("shl", p, q)
        amount = ops.minsi(q, most)
        if not left:
            return Scalar(ops.shrsi(p, amount), dtype, weak)
        shifted = ops.select(ops.cmpi(q, most, predicate="sgt"), zero, ops.shli(p, amount))
        return Scalar(wrap(shifted, dtype), dtype, weak)

    return apply


_ARITHMETIC: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": _arithmetic(ops.addf, ops.addi, ops.ori, "+", "add"),
    "-": _arithmetic(ops.subf, ops.subi, None, "-", "sub"),
    "*": _arithmetic(ops.mulf, ops.muli, ops.andi, "*", "mul"),
    "/": _divide,
    "//": _floor_divide,
    "%": _modulo,
    "&": _bits(ops.andi, "&"),
    "|": _bits(ops.ori, "|"),
    "^": _bits(ops.xori, "^"),
    "<<": _shift(left=True),
    ">>": _shift(left=False),
}


def unary(symbol: str, v: AbstractValue) -> AbstractValue:
    """``-v``, ``+v``, ``~v`` of a number."""
    if is_static_number(v):
        x = v.value  # type: ignore[attr-defined]
        return Static(-x if symbol == "-" else +x if symbol == "+" else ~x)
    s = as_scalar(v)
    if s.dtype == i1:
        if not s.weak and symbol == "~":
            return Scalar(logical_not(s.value), i1, False)
        if not s.weak:
            raise refuse(current_loc(), f"{symbol} is not defined for NumPy's bool", kind=kinds.UNSUPPORTED_OPERAND)
        s = Scalar(convert(s, i64), i64, True)
    if symbol == "+":
        return s
    if symbol == "~":
        if kind(s.dtype) == 2:
            raise refuse(current_loc(), "~ is not defined for floats", kind=kinds.UNSUPPORTED_OPERAND)
        return Scalar(ops.xori(s.value, const(-1, index)), s.dtype, s.weak)
    if kind(s.dtype) == 2:
        return Scalar(ops.negf(s.value), s.dtype, s.weak)
    return negated(s)


def negated(s: Scalar) -> Scalar:
    """``-s`` of an integer."""
    _check_opposite(s, "-{}")
    return Scalar(wrap(ops.subi(const(0, index), s.value), s.dtype), s.dtype, s.weak)


def absolute(s: Scalar) -> Scalar:
    """``abs(s)`` of an integer."""
    _check_opposite(s, "abs({})")
    return Scalar(wrap(ops.absi(s.value), s.dtype), s.dtype, s.weak)


def rounded_integer(s: Scalar, places: int) -> Scalar:
    """``round(s, places)`` of a Python integer: to the nearest multiple of a power of ten, to the even one of two."""
    if places >= 0:
        return s
    power, n = 10**-places, s.value
    if power > INT64.max:  # zero, or a number that needs more than 64 bits
        half = power // 2
        if half <= INT64.max:
            ends = (ops.cmpi(n, const(v, index), predicate=p) for v, p in ((-half, "sge"), (half, "sle")))
            trap_unless(ops.andi(*ends), "OverflowError", TOO_LARGE.format(f"round({{}}, {places})"), n)
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
    trap_unless(ops.fits(below, added, kind="add"), "OverflowError", TOO_LARGE.format(f"round({{}}, {places})"), n)
    return Scalar(ops.addi(below, added), i64)


def _check_opposite(s: Scalar, shown: str) -> None:
    if s.weak:
        fits = ops.fits(const(0, index), s.value, kind="sub")
        trap_unless(fits, "OverflowError", TOO_LARGE.format(shown), s.value)


def logical_not(condition: Value) -> Value:
    return ops.xori(condition, const(True, i1))


def truth(v: AbstractValue) -> bool | Value:
    """Python's ``bool(v)`` of a number: known, or an i1."""
    if isinstance(v, Static):
        return bool(v.value)
    value = nonzero(as_scalar(v))
    known = constant_of(value)
    return value if known is None else bool(known)
