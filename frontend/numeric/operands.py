"""The operands of an operator: converted to their common dtype, or refused."""

from __future__ import annotations

import numpy as np

from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Scalar, Static, Tuple, is_array, is_list
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import convert, promote
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import Type, i1, i8, i64


def unsupported(symbol: str, a: AbstractValue, b: AbstractValue) -> Exception:
    """The refusal of an operator that is not defined for these operands."""
    return refuse(
        current_loc(),
        f"{symbol} is not defined for {describe_type(a)} and {describe_type(b)}",
        kind=kinds.UNSUPPORTED_OPERAND,
    )


def meet(x: Scalar, y: Scalar, at_least: Type = i1) -> tuple[Value, Value, Type, bool]:
    """Both operands in their common dtype; Python's bools count as integers, and NumPy's as integers of 8 bits if there
    is no operation on bools."""
    dtype, weak = promote(x, y)
    if dtype == i1 and (weak or at_least != i1):
        dtype = i64 if weak else i8
    return convert(x, dtype), convert(y, dtype), dtype, weak


def beside_array(
    frame: Frame, a: AbstractValue, b: AbstractValue, symbol: str = ""
) -> tuple[AbstractValue, AbstractValue]:
    """The operands of an operator: beside an array, or a float of NumPy's, lists and tuples become arrays."""
    if is_array(a) == is_array(b) and (symbol == "*" or _is_float_of_numpy(a) == _is_float_of_numpy(b)):
        return a, b

    def as_array(v: AbstractValue) -> AbstractValue:
        if not is_list(v) and not (isinstance(v, Tuple) and v.form.kind in ("tuple", "namedtuple", "list")):
            return v
        return frame.tracer.call(frame, Static(np.asarray), [v], {})

    return as_array(a), as_array(b)


def _is_float_of_numpy(v: AbstractValue) -> bool:
    """Whether operators with ``v`` are NumPy's, other than ``*``, which repeats lists."""
    return isinstance(v, Scalar) and not v.weak and v.dtype.is_float
