"""Margins of arrays that repeat their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adc.frontend.data.dims import dim_value
from adc.frontend.data.values import NONE, AbstractValue, Array, Tuple
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule, positional, static_of
from adc.frontend.numeric import division, nests, slices
from adc.frontend.numeric.convert import load_scalar, store_scalar
from adc.frontend.prelude import padding
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.core import Value


def _edge(i: Value, n: Value) -> Value:
    return ops.minsi(ops.maxsi(i, const_index(0)), ops.subi(n, const_index(1)))


def _mirrored(i: Value, n: Value, period: Value, last: Value) -> Value:
    """The subscript whose image ``i`` is. Where ``i`` is within the array, loops are cut, so the remainder is not
    computed there."""
    inside = ops.andi(ops.cmpi(i, const_index(0), predicate="sge"), ops.cmpi(i, n, predicate="slt"))
    r = division.int_modulo(i, period)
    return ops.select(inside, i, ops.minsi(r, ops.subi(last, r)))


def _reflect(i: Value, n: Value) -> Value:
    one = const_index(1)
    last = ops.muli(ops.subi(n, one), const_index(2))
    return _mirrored(i, n, ops.maxsi(last, one), last)


def _symmetric(i: Value, n: Value) -> Value:
    period = ops.muli(n, const_index(2))
    return _mirrored(i, n, period, ops.subi(period, const_index(1)))


_SOURCES: dict[str, Callable[[Value, Value], Value]] = {
    "edge": _edge,
    "wrap": division.int_modulo,
    "reflect": _reflect,
    "symmetric": _symmetric,
}


def _repeat_into(
    frame: Frame, out: AbstractValue, x: AbstractValue, widths: AbstractValue, mode: AbstractValue
) -> AbstractValue:
    """``padding.repeat_into``: subscripts are of the forms ``min(max(i, 0), n - 1)`` and ``i % n``, which the compiler
    splits into the interior and the rims, and which what reads the array can compute itself."""
    assert isinstance(out, Array) and isinstance(x, Array) and isinstance(widths, Tuple)
    source = _SOURCES[static_of(mode, "this argument")]
    before = [slices.integer(pair.items[0], current_loc()) for pair in widths.items if isinstance(pair, Tuple)]

    def body(subscripts: list[Value]) -> None:
        places = zip(subscripts, before, map(dim_value, x.dims), strict=True)
        element = load_scalar(x.memref, [source(ops.subi(i, b), n) for i, b, n in places], x.dtype)
        store_scalar(element, out.memref, subscripts, x.dtype)

    nests.nest(out.dims, body)
    return NONE


TABLE: dict[Any, Rule] = {padding.repeat_into: positional("repeat_into", 4, _repeat_into)}
