"""Operators on bits: ``&``, ``|``, ``^``, ``<<`` and ``>>`` of two run-time integers, and ``not`` of a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adc.frontend.data.values import Scalar
from adc.frontend.numeric.convert import INT64, check_fits, convert, kind, promote, wrap
from adc.frontend.numeric.operands import meet, unsupported
from adc.frontend.traps import trap_unless
from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.core import Value
from adc.ir.types import i1, i64, index, ui64


def bitwise(on_integers: Any, symbol: str) -> Callable[[Scalar, Scalar], Scalar]:
    """The operator ``&``, ``|`` or ``^``, computed by ``on_integers``."""

    def apply(x: Scalar, y: Scalar) -> Scalar:
        dtype, weak = promote(x, y)
        if kind(dtype) == 2:
            raise unsupported(symbol, x, y)
        return Scalar(on_integers(convert(x, dtype), convert(y, dtype)), dtype, weak)

    return apply


def shift(left: bool) -> Callable[[Scalar, Scalar], Scalar]:
    """The operator ``<<`` or ``>>``."""

    def apply(x: Scalar, y: Scalar) -> Scalar:
        p, q, dtype, weak = meet(x, y, i64)
        if kind(dtype) == 2:
            raise unsupported("<<" if left else ">>", x, y)
        zero, most = const(0, index), const(63, index)
        if (known := constant_of(q)) is None or known < 0:
            negative = ops.cmpi(q, zero, predicate="slt")
            if weak:
                trap_unless(logical_not(negative), "ValueError", "negative shift count")
            else:  # for NumPy, a negative count is a large one
                q = ops.select(negative, const(INT64.max, index), q)
        if left and weak:
            check_fits("shl", p, q)
        amount = ops.minsi(q, most)
        if not left and dtype == ui64:
            shifted = ops.select(ops.cmpi(q, most, predicate="sgt"), zero, ops.shrui(p, amount))
            return Scalar(shifted, dtype, weak)
        if not left:
            return Scalar(ops.shrsi(p, amount), dtype, weak)
        shifted = ops.select(ops.cmpi(q, most, predicate="sgt"), zero, ops.shli(p, amount))
        return Scalar(wrap(shifted, dtype), dtype, weak)

    return apply


def logical_not(condition: Value) -> Value:
    """The negation of a condition (i1)."""
    return ops.xori(condition, const(True, i1))
