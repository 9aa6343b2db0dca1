"""What Python's floats raise, where the program handles it. Elsewhere results are infinite or NaN, without a check."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import reduce

from adc.frontend.numeric.bits import logical_not
from adc.frontend.traps import handled, trap_unless
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value

BY_ZERO = "division by zero" if sys.version_info >= (3, 14) else "float division by zero"
_OF_RANGE = frozenset({"exp", "exp2", "expm1", "sinh", "cosh", "hypot", "gamma", "lgamma", "ldexp"})


def check_divisor(divisor: Value, message: str = BY_ZERO) -> None:
    """A float that another one is divided by."""
    if handled(ZeroDivisionError):
        trap_unless(ops.cmpf(divisor, const(0.0, divisor.type), predicate="une"), "ZeroDivisionError", (message,))


def check_power(base: Value, exponent: Value, result: Value) -> None:
    if handled(ZeroDivisionError):
        zero = const(0.0, base.type)
        negative = ops.cmpf(exponent, zero, predicate="olt")
        fine = ops.ori(ops.cmpf(base, zero, predicate="une"), logical_not(negative))
        message = "zero to a negative power" if sys.version_info >= (3, 14) else _OF_ZERO
        trap_unless(fine, "ZeroDivisionError", (message,))
    if handled(OverflowError):
        _finite([base, exponent], result, OverflowError, "(34, 'Numerical result out of range')")


_OF_ZERO = "0.0 cannot be raised to a negative power"


def in_domain(name: str, values: Sequence[Value], result: Value) -> Value:
    """The result of a function of ``math``, which raises where it is NaN or infinite and its arguments are not."""
    if handled(ValueError):
        fine = [ops.cmpf(result, result, predicate="oeq"), *(ops.cmpf(v, v, predicate="uno") for v in values)]
        trap_unless(reduce(ops.ori, fine), "ValueError", ("math domain error",))
    cls, said = (OverflowError, "math range error") if name in _OF_RANGE else (ValueError, "math domain error")
    if handled(cls):
        _finite(values, result, cls, said)
    return result


def _finite(values: Sequence[Value], result: Value, cls: type[Exception], said: str) -> None:
    """Raise if a result is infinite and no argument is infinite or NaN."""
    infinite = const(math.inf, result.type)
    fine = [logical_not(ops.cmpf(ops.absf(result), infinite, predicate="oeq"))]
    fine += [logical_not(ops.cmpf(ops.absf(v), infinite, predicate="olt")) for v in values]
    trap_unless(reduce(ops.ori, fine), cls.__name__, (said.replace("{", "{{"),))
