"""Operators on numbers by their symbols, as Python and NumPy define them; comparisons and truth.

Two numbers known at trace time are computed at once. Floats follow IEEE (division by zero gives an infinity, as in
NumPy); integers have 64 bits (32 for NumPy's int32) and raise ZeroDivisionError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Lazy,
    Scalar,
    Static,
    is_complex,
    is_number,
    is_static_number,
    number_dtype,
)
from adc.frontend.errors import refuse
from adc.frontend.numeric import arithmetic, complex_functions, complexes, large_integers, unsigned
from adc.frontend.numeric.bits import bitwise, logical_not, shift
from adc.frontend.numeric.convert import as_number, as_scalar, beyond, convert, kind, meeting, nonzero, promote, wrap
from adc.frontend.numeric.division import divide, floor_divide, modulo
from adc.frontend.numeric.integers import negated
from adc.frontend.numeric.operands import unsupported
from adc.frontend.numeric.powers import power
from adc.ir import kinds, ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import Type, i1, i64, index, ui64

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
    if is_complex(a) or is_complex(b):
        return _fold_complex(symbol, a, b) or complexes.binary(symbol, a, b)
    if beyond(a) or beyond(b):
        a, b = meeting(a, _dtype_of(b)), meeting(b, _dtype_of(a))
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
        return power(x, y, b.value if is_static_number(b) else None)  # type: ignore[attr-defined]
    return _ARITHMETIC[symbol](x, y)


def _dtype_of(v: AbstractValue) -> Type:
    return v.dtype if isinstance(v, Scalar) else number_dtype(v.value)[0] if isinstance(v, Static) else i64


def _whole_bound(symbol: str, a: AbstractValue, b: AbstractValue) -> tuple[Any, Any] | Static | None:
    """A comparison of a Python int with a known float, as one with an integer: Python's is exact."""
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
    """An operation with an operand that is known and does not fit into 64 bits: with a float, it is converted to a
    float; a comparison with an integer is known. None for other operations."""
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


def _fold_complex(symbol: str, a: AbstractValue, b: AbstractValue) -> Static | None:
    """The result for two known numbers, at least one of which is complex."""
    if not (isinstance(a, Static) and isinstance(b, Static)):
        return None
    try:
        with np.errstate(all="ignore"):
            return Static(PYTHON[symbol](a.value, b.value))
    except (ZeroDivisionError, OverflowError):
        return None
    except TypeError:
        raise unsupported(symbol, a, b) from None


def _fold(symbol: str, a: Any, b: Any) -> Static | None:
    try:
        with np.errstate(all="ignore"):
            result = PYTHON[symbol](a, b)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    except TypeError:
        raise unsupported(symbol, Static(a), Static(b)) from None
    known = Static(result)
    return known if is_number(result) or is_complex(known) else None


def _compare(symbol: str, x: Scalar, y: Scalar) -> Scalar:
    dtype, weak = promote(x, y)
    if kind(x.dtype) < 2 and kind(y.dtype) < 2 and not x.dtype == y.dtype == i1:
        if ui64 in (x.dtype, y.dtype):
            pair = (s if s.dtype != i1 else Scalar(convert(s, i64), i64) for s in (x, y))
            return Scalar(unsigned.compared(_INT_PREDICATES[symbol], *pair), i1, weak)
        dtype = i64  # integers are compared even if the other's type does not contain them
    p, q = convert(x, dtype), convert(y, dtype)
    if kind(dtype) == 2:
        found = ops.cmpf(p, q, predicate=_FLOAT_PREDICATES[symbol])
        if weak:  # Python compares an int with a float exactly, NumPy converts it first
            if kind(x.dtype) == 1:
                found = large_integers.compared(found, _INT_PREDICATES[symbol], x.value, p, q)
            elif kind(y.dtype) == 1:
                found = large_integers.compared(found, _INT_PREDICATES[_SWAPPED[symbol]], y.value, q, p)
        return Scalar(found, i1, weak)
    if dtype == i1:  # i1 has no sign for comparisons
        p, q = ops.index_castui(p, type=index), ops.index_castui(q, type=index)
    return Scalar(ops.cmpi(p, q, predicate=_INT_PREDICATES[symbol]), i1, weak)


def power_of_elements(x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """``x ** y`` of an array's elements: NumPy takes the root for an exponent of one half; here only if that is
    known."""
    if is_complex(x) or is_complex(y):
        if isinstance(y, Static) and y.value == 0.5:
            return complex_functions.sqrt(x)
        return binary("**", x, y)
    s = as_scalar(x)
    if isinstance(y, Static) and is_number(y.value) and y.value == 0.5:
        dtype, _ = promote(s, as_scalar(y))
        return Scalar(ops.sqrt(convert(s, dtype)), dtype, weak=False)
    return binary("**", x, y)


def exponent(x: AbstractValue, y: AbstractValue) -> AbstractValue:
    """The exponent of the operator ``**``, which squares, so that bools become integers of 8 bits; ``np.power`` does
    not."""
    square = isinstance(y, Static) and type(y.value) is int and y.value == 2
    return Static(np.int8(2)) if square and isinstance(x, Array | Lazy) and x.dtype == i1 else y


_ARITHMETIC: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": divide,
    "//": floor_divide,
    "%": modulo,
    "&": bitwise(ops.andi, "&"),
    "|": bitwise(ops.ori, "|"),
    "^": bitwise(ops.xori, "^"),
    "<<": shift(left=True),
    ">>": shift(left=False),
}


def unary(symbol: str, v: AbstractValue) -> AbstractValue:
    """``-v``, ``+v``, ``~v`` of a number."""
    if is_static_number(v):
        x = v.value  # type: ignore[attr-defined]
        return Static(-x if symbol == "-" else +x if symbol == "+" else ~x)
    if is_complex(v):
        return complexes.unary(symbol, v)
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
        return Scalar(wrap(ops.xori(s.value, const(-1, index)), s.dtype), s.dtype, s.weak)
    if kind(s.dtype) == 2:
        return Scalar(ops.negf(s.value), s.dtype, s.weak)
    return negated(s)


def truth(v: AbstractValue) -> bool | Value:
    """Python's ``bool(v)`` of a number: known, or an i1."""
    if isinstance(v, Static):
        return bool(v.value)
    value = nonzero(as_number(v))
    known = constant_of(value)
    return value if known is None else bool(known)
