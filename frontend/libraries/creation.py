"""Arguments of functions that create arrays: dtypes, shapes, nested tuples of numbers."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays.arrays import elementwise
from adc.frontend.data.dims import Dim
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import AbstractValue, Array, Lazy, Scalar, Static, Tuple, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.libraries.rules import static_of
from adc.frontend.numeric.convert import as_complex, as_number, as_scalar, convert, kind, nonzero, real_needed, unboxed
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc
from adc.ir.types import Type, i1, i64

Default = TypeVar("Default")


def dtype_argument(v: AbstractValue | None, default: Default) -> Type | Default:
    """The argument ``dtype``."""
    wanted = static_of(v, "the dtype")
    if wanted is None:
        return default
    try:
        dtype = np.dtype(wanted)
    except TypeError:
        raise refuse(current_loc(), f"{wanted} is not a dtype", kind=kinds.UNSUPPORTED_DTYPE) from None
    if dtype not in abstract.DTYPES:
        names = "float64, float32, float16, complex128, complex64, integers of 8 to 64 bits and bool"
        raise refuse(
            current_loc(), f"the dtype {dtype} is not supported", f"supported are {names}", kind=kinds.UNSUPPORTED_DTYPE
        )
    return abstract.DTYPES[dtype]


def casting_rule(v: AbstractValue | None, default: str) -> Any:
    """The argument ``casting``."""
    rule = default if v is None else static_of(v, "'casting'")
    if rule not in _CASTINGS:
        message = f"casting must be one of {', '.join(map(repr, _CASTINGS))}"
        raise refuse(current_loc(), message, kind=kinds.INVALID_VALUE)
    return rule


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def shape_argument(v: AbstractValue) -> list[Dim]:
    """The argument ``shape``: an integer or a tuple of them."""
    items = v.items if isinstance(v, Tuple) else (v,)
    if isinstance(v, Static) and isinstance(v.value, tuple):
        items = tuple(Static(x) for x in v.value)
    result: list[Dim] = []
    for item in map(unboxed, items):
        if not is_numeric(item) or kind(as_number(item).dtype) >= 2 or as_number(item).dtype == i1:
            help = "convert it, int(...)" if is_numeric(item) else ""
            message = f"a shape is made of integers, not {describe_type(item)}"
            raise refuse(current_loc(), message, help, kind=kinds.WRONG_TYPE)
        if isinstance(item, Static):
            if item.value < 0:
                raise refuse(current_loc(), "negative dimensions are not allowed", kind=kinds.INVALID_VALUE)
            result.append(int(item.value))
            continue
        value = convert(as_scalar(item), i64)
        op = value.op
        if op is None or op.opdef is not ops.dim:
            good = ops.cmpi(value, const_index(0), predicate="sge")
            trap_unless(good, "ValueError", "negative dimensions are not allowed")
        result.append(value)
    return result


def astype(value: Array | Lazy, dtype: Type) -> Array | Lazy:
    """The elements converted; the array itself if it has that dtype already."""
    if value.dtype == dtype:
        return value
    if kind(value.dtype) == 3 and kind(dtype) < 3 and dtype != i1:
        raise real_needed()
    if kind(dtype) == 3:
        return elementwise(lambda x: as_complex(x, dtype), value)
    if dtype == i1:
        return elementwise(lambda x: Scalar(nonzero(as_number(x)), i1, weak=False), value)
    return elementwise(lambda x: Scalar(convert(as_scalar(x), dtype), dtype, weak=False), value)


def need_array(name: str, v: AbstractValue | None) -> Array | Lazy:
    """An argument that must be an array."""
    if not isinstance(v, Array | Lazy):
        shown = "nothing" if v is None else describe_type(v)
        raise refuse(current_loc(), f"{name}() takes an array, not {shown}", for_array(v), kind=kinds.WRONG_TYPE)
    return v
