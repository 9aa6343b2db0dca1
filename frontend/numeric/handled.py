"""Exceptions of Python's float operations, where the program handles them. Elsewhere results are infinite or NaN,
without a check."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import reduce

from adc.frontend.numeric.bits import logical_not
from adc.frontend.numeric.float_tests import is_finite, is_inf, is_nan
from adc.frontend.traps import handled, trap_unless
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value

BY_ZERO = "division by zero" if sys.version_info >= (3, 14) else "float division by zero"


def check_divisor(divisor: Value, message: str = BY_ZERO) -> None:
    """Check the divisor of a float division."""
    if handled(ZeroDivisionError):
        trap_unless(ops.cmpf(divisor, const(0.0, divisor.type), predicate="une"), "ZeroDivisionError", (message,))


def check_power(base: Value, exponent: Value, result: Value) -> None:
    if handled(ZeroDivisionError):
        zero = const(0.0, base.type)
        negative = ops.andi(ops.cmpf(exponent, zero, predicate="olt"), is_finite(exponent))
        fine = ops.ori(ops.cmpf(base, zero, predicate="une"), logical_not(negative))
        message = "zero to a negative power" if sys.version_info >= (3, 14) else _OF_ZERO
        trap_unless(fine, "ZeroDivisionError", (message,))
    if handled(OverflowError):
        _finite([base, exponent], result, OverflowError, "(34, 'Numerical result out of range')")


_OF_ZERO = "0.0 cannot be raised to a negative power"


def in_domain(name: str, values: Sequence[Value], result: Value) -> Value:
    """The result of a function of ``math``, checked: it raises if it is NaN or infinite and its arguments are not."""
    if name in _NEVER:
        return result
    if handled(ValueError):
        fine = [ops.cmpf(result, result, predicate="oeq"), *map(is_nan, values)]
        trap_unless(reduce(ops.ori, fine), "ValueError", ("math domain error",))
    at_pole = _POLES.get(name)
    if handled(ValueError) and name not in _OF_RANGE:
        elsewhere = [] if at_pole is None else [logical_not(at_pole(values[0]))]
        _finite(values, result, ValueError, "math domain error", elsewhere)
    if handled(OverflowError) and (name in _OF_RANGE or at_pole is not None):
        _finite(values, result, OverflowError, "math range error", [] if at_pole is None else [at_pole(values[0])])
    return result


def _at_zero(x: Value) -> Value:
    return ops.cmpf(x, const(0.0, x.type), predicate="oeq")


def _not_positive(x: Value) -> Value:
    return ops.cmpf(x, const(0.0, x.type), predicate="ole")


_NEVER = frozenset({"degrees", "radians"})
_OF_RANGE = frozenset({"exp", "exp2", "expm1", "sinh", "cosh", "hypot", "ldexp"})
_POLES = {"pow": _at_zero, "gamma": _not_positive, "lgamma": _not_positive}
"""For functions that are infinite at poles and beyond the largest float: whether an infinite result is a pole."""


def _finite(
    values: Sequence[Value], result: Value, cls: type[Exception], said: str, otherwise: Sequence[Value] = ()
) -> None:
    """Raise if a result is infinite, no argument is infinite or NaN, and none of ``otherwise`` holds."""
    fine = [logical_not(is_inf(result)), *otherwise, *(logical_not(is_finite(v)) for v in values)]
    trap_unless(reduce(ops.ori, fine), cls.__name__, (said.replace("{", "{{"),))
