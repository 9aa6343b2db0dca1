"""``+``, ``-`` and ``*`` of two run-time numbers; for NumPy's bools, ``or`` and ``and`` where defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adc.frontend.data.values import Scalar
from adc.frontend.numeric.convert import check_fits, kind, wrap
from adc.frontend.numeric.operands import meet, unsupported
from adc.ir import ops
from adc.ir.types import i1


def _arithmetic(
    on_floats: Any, on_integers: Any, on_bools: Any, symbol: str, fits: str
) -> Callable[[Scalar, Scalar], Scalar]:
    def apply(x: Scalar, y: Scalar) -> Scalar:
        p, q, dtype, weak = meet(x, y)
        if kind(dtype) == 2:
            return Scalar(on_floats(p, q), dtype, weak)
        if dtype == i1:
            if on_bools is None:
                raise unsupported(symbol, x, y)
            return Scalar(on_bools(p, q), dtype, weak)
        if weak:
            check_fits(fits, p, q)
        return Scalar(wrap(on_integers(p, q), dtype), dtype, weak)

    return apply


add = _arithmetic(ops.addf, ops.addi, ops.ori, "+", "add")
subtract = _arithmetic(ops.subf, ops.subi, None, "-", "sub")
multiply = _arithmetic(ops.mulf, ops.muli, ops.andi, "*", "mul")
