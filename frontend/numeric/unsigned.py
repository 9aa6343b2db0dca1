"""Unsigned integers of 64 bits. They are computed with as ``index``, which is signed, so operations that depend on the
sign are distinguished here. Unsigned integers of fewer bits are just not negative, and need nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable

from adc.frontend.data.values import Scalar
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.types import Type, index, ui64

_SIGN = -(1 << 63)
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}


def ordered(x: Value, dtype: Type) -> Value:
    """An integer of ``dtype`` mapped to one that has the same order as a signed integer; applied again, it is
    restored."""
    return ops.xori(x, const(_SIGN, index)) if dtype == ui64 else x


def compared(predicate: str, x: Scalar, y: Scalar) -> Value:
    """A comparison of two integers, at least one of which is unsigned: exact, whatever the other is."""
    p, q = (ops.xori(s.value, const(_SIGN, index)) for s in (x, y))
    found = ops.cmpi(p, q, predicate=predicate)
    for s, other in ((x, (1, 0)), (y, (0, 1))):
        if s.dtype != ui64:  # a negative one is below
            negative = ops.cmpi(s.value, const(0, index), predicate="slt")
            below = const(_ORDER[predicate](*reversed(other)), found.type)
            found = ops.select(negative, below, found)
    return found


def extreme(larger: bool) -> Callable[[Value, Value], Value]:
    """The larger or the smaller of two unsigned integers of 64 bits."""
    emit = ops.maxsi if larger else ops.minsi
    return lambda x, y: ordered(emit(ordered(x, ui64), ordered(y, ui64)), ui64)
