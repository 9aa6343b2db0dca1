"""What each scalar operation computes: constant folder, interpreter and test oracle in one.

Functions of Python's ``math`` become evaluations by the wrappers here, on an operation's card (``adc.ir.ops``). An
evaluation takes the attributes, the result type and the operands, and returns the result:

- f64 is a Python float, f32 a ``numpy.float32``, i1 a bool, the other integers are ints within their width;
- floats are IEEE: infinities and NaN, never an exception. f64 comes from C's math library by way of ``math``; f32
  is computed in f64 and rounded once;
- integers wrap around. What LLVM leaves undefined (division by zero, conversion of what does not fit, shifts by the
  width or more) raises ``Undefined``: the folder leaves such an operation alone; in the interpreter it is an error.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from adc.ir.core import Attr
from adc.ir.evaluate.special import polygamma as _polygamma
from adc.ir.types import FloatType, IntType, Type, f32, f64, index

Attrs = Mapping[str, Attr]
Evaluate = Callable[..., Any]


class Undefined(ArithmeticError):
    """The operation has no result for these operands."""


def bits(t: Type) -> int:
    """Width of an integer type; an index has 64."""
    return t.width if isinstance(t, IntType) else 64


def wrap(value: int, width: int) -> int:
    """``value`` as a signed integer of ``width`` bits (two's complement)."""
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def normal(value: Any, t: Type) -> Any:
    """``value`` as this module represents values of type ``t``."""
    if isinstance(t, FloatType):
        return _rounded(float(value), t)
    if isinstance(t, IntType) and t.width == 1:
        return bool(value)
    return integer(int(value), t) if t.is_integer else value


def _rounded(value: float, t: Type) -> Any:
    """The float of type ``t`` that is nearest to a double."""
    if t is f64 or t == f64:  # types compare field by field
        return value
    with np.errstate(all="ignore"):
        return (np.float32 if t == f32 else np.float16)(value)


def signed(value: int) -> int:
    """An operand as a signed integer: the set bit of an i1 is its sign."""
    return -int(value) if isinstance(value, bool) else value


def unsigned(value: int, width: int) -> int:
    return int(value) & ((1 << width) - 1)


def integer(value: int, t: Type) -> int:
    """``value`` wrapped to an integer of type ``t``; unsigned ones are not negative."""
    if t is index and -(1 << 63) <= value < 1 << 63:
        return value
    if isinstance(t, IntType) and t.unsigned:
        return unsigned(value, t.width)
    return bool(value & 1) if bits(t) == 1 else wrap(value, bits(t))


# Wrappers: how a function of floats or ints becomes an evaluation -----------------------------------------------------


def on_floats(compute: Callable[..., float]) -> Evaluate:
    """Evaluation by a function of Python floats, which the evaluation has as ``compute``."""

    @functools.wraps(compute)
    def evaluate(attrs: Attrs, t: Type, *values: float) -> Any:
        result = compute(*map(float, values))
        return _rounded(result, t)

    evaluate.compute = compute  # type: ignore[attr-defined]
    return evaluate


def total(compute: Callable[[float], float], outside: float = math.nan, odd: bool = False) -> Evaluate:
    """``math``'s function of one float, made total: NaN outside its domain, an infinity (``odd``: signed as x) on
    overflow.

    ``outside`` may be another value for a domain error.
    """

    def extended(x: float) -> float:
        try:
            return compute(x)
        except ValueError:
            return outside
        except OverflowError:
            return math.copysign(math.inf, x) if odd else math.inf

    return on_floats(extended)


def logarithm(compute: Callable[[float], float], pole: float = 0.0) -> Evaluate:
    """A logarithm: minus infinity at ``pole``, NaN below."""
    return on_floats(lambda x: compute(x) if x > pole else -math.inf if x == pole else math.nan)


def between_poles(compute: Callable[[float], float], pole: float) -> Evaluate:
    """A function with poles at ``pole`` and its negative, infinite there with their signs, NaN beyond."""
    return on_floats(
        lambda x: compute(x) if abs(x) < pole else math.copysign(math.inf, x) if abs(x) == pole else math.nan
    )


# Float arithmetic -----------------------------------------------------------------------------------------------------


def _divide(x: float, y: float) -> float:
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def _fmod(x: float, y: float) -> float:
    return math.nan if math.isinf(x) or y == 0.0 else math.fmod(x, y)


def _remainder(x: float, y: float) -> float:
    return math.nan if math.isinf(x) or y == 0.0 else math.remainder(x, y)


def _larger(x: float, y: float) -> float:
    """The larger of two numbers; -0 is below +0."""
    if x == y:
        return y if math.copysign(1.0, x) < 0 else x
    return x if x > y else y


def _maximum(x: float, y: float) -> float:
    return math.nan if x != x or y != y else _larger(x, y)


def _maxnum(x: float, y: float) -> float:
    return y if x != x else x if y != y else _larger(x, y)


def _minimum(x: float, y: float) -> float:
    return -_maximum(-x, -y)


def _minnum(x: float, y: float) -> float:
    return -_maxnum(-x, -y)


addf = on_floats(operator.add)
subf = on_floats(operator.sub)
mulf = on_floats(operator.mul)
divf = on_floats(_divide)
negf = on_floats(operator.neg)
strong_mulf = on_floats(lambda x, y, *marks: 0.0 if any(marks) else x * y)
strong_divf = on_floats(lambda x, y, mark: 0.0 if mark else _divide(x, y))
remf = on_floats(_fmod)
remainder = on_floats(_remainder)
maximumf = on_floats(_maximum)
minimumf = on_floats(_minimum)
maxnumf = on_floats(_maxnum)
minnumf = on_floats(_minnum)

FLOAT_PREDICATES: dict[str, Callable[[float, float], bool]] = {
    "oeq": operator.eq,
    "one": lambda x, y: x < y or x > y,
    "olt": operator.lt,
    "ole": operator.le,
    "ogt": operator.gt,
    "oge": operator.ge,
    "une": operator.ne,
    "uno": lambda x, y: x != x or y != y,
    "ord": lambda x, y: x == x and y == y,
}


def cmpf(attrs: Attrs, t: Type, x: float, y: float) -> bool:
    return FLOAT_PREDICATES[attrs["predicate"]](float(x), float(y))


def constant(attrs: Attrs, t: Type) -> Any:
    return normal(attrs["value"], t)


def select(attrs: Attrs, t: Type, condition: bool, x: Any, y: Any) -> Any:
    return x if condition else y


def fma(attrs: Attrs, t: Type, x: float, y: float, z: float) -> Any:
    """``x * y + z`` with one rounding."""
    x, y, z = float(x), float(y), float(z)
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        result = z if math.isinf(z) and math.isfinite(x) and math.isfinite(y) else x * y + z
        return normal(result, t)
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if not exact:
        # Cancellation gives +0; a sum of zeros has its IEEE sign.
        return normal(0.0 if x and y else x * y + z, t)
    return round_fraction(exact, t)


def round_fraction(exact: Fraction, t: Type) -> Any:
    """The float of type ``t`` nearest to an exact number other than zero."""
    try:
        result = float(exact)
    except OverflowError:
        result = math.inf if exact > 0 else -math.inf
    if t.width == 64:  # type: ignore[attr-defined]
        return result
    if math.isfinite(result) and (error := exact - Fraction(result)):
        # Round to odd first, so that rounding a second time cannot go wrong.
        mantissa = Fraction(result) / Fraction(math.ulp(result))
        if mantissa.numerator % 2 == 0:
            result = math.nextafter(result, math.inf if error > 0 else -math.inf)
    return _rounded(result, t)


# Rounding -------------------------------------------------------------------------------------------------------------


def rounding(to_int: Callable[[float], int]) -> Evaluate:
    """Rounding to an integral float, the sign of zero kept."""
    return on_floats(lambda x: math.copysign(float(to_int(x)), x) if abs(x) < 2.0**52 else x)


def half_away(x: float) -> int:
    whole = math.trunc(x)
    return whole + (0 if abs(x - whole) < 0.5 else 1 if x > 0 else -1)


# Functions ------------------------------------------------------------------------------------------------------------

rsqrt = on_floats(lambda x: math.nan if x < 0 else _divide(1.0, math.sqrt(x)))
twin = on_floats(lambda value, derivative: value)
stop_gradient = on_floats(lambda x: x)


def _power(x: float, y: float) -> float:
    """C's ``pow``."""
    odd = math.isfinite(y) and abs(y) < 2.0**53 and y == int(y) and int(y) % 2 == 1
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and odd else math.inf
    except ValueError:
        if x == 0.0:
            return math.copysign(math.inf, x) if odd else math.inf
        return math.nan


powf = on_floats(_power)


def fpowi(attrs: Attrs, t: Type, x: float, n: int) -> Any:
    n = signed(n)
    x = float(x)
    size = _power(abs(x), float(n))
    return normal(-size if n % 2 and math.copysign(1.0, x) < 0 else size, t)


def polygamma(attrs: Attrs, t: Type, x: float) -> Any:
    return normal(_polygamma(attrs["order"], float(x)), t)


# Integers -------------------------------------------------------------------------------------------------------------


# Casts ----------------------------------------------------------------------------------------------------------------


def cast_float(attrs: Attrs, t: Type, x: float) -> Any:
    return normal(float(x), t)
