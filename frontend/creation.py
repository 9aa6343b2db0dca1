"""The arguments ``dtype`` and ``shape`` of functions that make arrays."""

from __future__ import annotations

import numpy as np

from adc.frontend import abstract
from adc.frontend.convert import as_scalar, convert, kind, trap_unless
from adc.frontend.errors import refuse
from adc.frontend.rules import static_of
from adc.frontend.values import AbstractValue, Dim, Static, Tuple, describe_type, is_numeric
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.types import Type, i64


def dtype_argument(v: AbstractValue | None, default: Type) -> Type:
    """The argument ``dtype``."""
    wanted = static_of(v, "the dtype")
    if wanted is None:
        return default
    try:
        dtype = np.dtype(wanted)
    except TypeError:
        raise refuse(current_loc(), f"{wanted} is not a dtype") from None
    if dtype not in abstract.DTYPES:
        names = "float64, float32, int64, int32 and bool"
        raise refuse(current_loc(), f"the dtype {dtype} is not supported", f"supported are {names}")
    return abstract.DTYPES[dtype]


def shape_argument(v: AbstractValue) -> list[Dim]:
    """The argument ``shape``: an integer or a tuple of them."""
    items = v.items if isinstance(v, Tuple) else (v,)
    if isinstance(v, Static) and isinstance(v.value, tuple):
        items = tuple(Static(x) for x in v.value)
    result: list[Dim] = []
    for item in items:
        if not is_numeric(item) or kind(as_scalar(item).dtype) == 2:
            raise refuse(current_loc(), f"a shape is made of integers, not {describe_type(item)}")
        if isinstance(item, Static):
            if item.value < 0:
                raise refuse(current_loc(), "negative dimensions are not allowed")
            result.append(int(item.value))
            continue
        value = convert(as_scalar(item), i64)
        op = value.op
        if op is None or op.opdef is not ops.dim:
            good = ops.cmpi(value, const_index(0), predicate="sge")
            trap_unless(good, "ValueError", "negative dimensions are not allowed")
        result.append(value)
    return result
