"""``**`` of two run-time numbers."""

from __future__ import annotations

from typing import Any

from adc.frontend.data.values import Scalar
from adc.frontend.errors import refuse
from adc.frontend.numeric.arithmetic import multiply
from adc.frontend.numeric.convert import check_fits, convert, in_single, kind, promote, wrap
from adc.frontend.numeric.handled import check_power
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import Type, f64, i1, i8, i64, index, ui64

_EXACT_POWERS = 16  # beyond this, pow() is more accurate than repeated multiplication


def power(x: Scalar, y: Scalar, exponent: Any) -> Scalar:
    """``x ** y``; ``exponent`` is the value of ``y`` if it is known."""
    dtype, weak = promote(x, y)
    if dtype == i1:
        dtype = i64 if weak else i8
    if kind(dtype) == 1:
        if exponent is not None and exponent < 0:
            if not weak:
                raise refuse(
                    current_loc(),
                    "integers to negative integer powers are not allowed",
                    "use a float base",
                    kind=kinds.INVALID_VALUE,
                )
            return power(Scalar(convert(x, f64), f64, True), y, exponent)
        return _int_power(x, y, dtype, weak, exponent)
    p = convert(x, dtype)
    q = convert(y, dtype)
    result = float_power(p, q, exponent if kind(x.dtype) == 2 else None)
    if weak:
        check_power(p, q, result)
    return Scalar(result, dtype, weak)


def float_power(x: Value, y: Value, exponent: Any) -> Value:
    """``x ** y``; ``exponent`` is the value of ``y`` if it is known."""
    if exponent is not None and float(exponent).is_integer() and abs(exponent) <= _EXACT_POWERS:
        return in_single(lambda v: _small_power(v, int(exponent)), [x])
    return in_single(ops.powf, [x, y])


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
    if exponent is None and dtype != ui64:
        trap_unless(
            ops.cmpi(q, const(0, index), predicate="sge"),
            "ComputedValueError",
            "an integer to the negative integer power {} would be a float; make the base a float",
            q,
        )
    elif exponent == 2:
        return multiply(x, x) if weak else Scalar(wrap(ops.muli(p, p), dtype), dtype, weak)
    if weak:
        check_fits("pow", p, q)
    if dtype == ui64:  # the exponent is unsigned, too: computed without its last bit
        half, last = ops.ipowi(p, ops.shrui(q, const(1, index))), ops.andi(q, const(1, index))
        odd = ops.cmpi(last, const(1, index), predicate="eq")
        return Scalar(ops.muli(ops.muli(half, half), ops.select(odd, p, const(1, index))), dtype, weak)
    return Scalar(wrap(ops.ipowi(p, q), dtype), dtype, weak)
