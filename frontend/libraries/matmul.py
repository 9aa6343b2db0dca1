"""Products of vectors and matrices, as loop nests over sums."""

from __future__ import annotations

from adc.frontend.data.dims import SHAPE_ERROR, Dim, dim_value, equal_dims, same_dim
from adc.frontend.data.type_names import describe_type, for_array
from adc.frontend.data.values import AbstractValue, Array, Lazy, Scalar
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.reductions import SUM, nested
from adc.frontend.numeric import scalars
from adc.frontend.numeric.convert import convert, kind, promote_types, to_element, trap_unless
from adc.frontend.numeric.nests import allocate, lazy_of, materialise, nest
from adc.ir import kinds, ops
from adc.ir.builder import build, contractible, current_loc
from adc.ir.core import Value
from adc.ir.types import Type, i1


def matmul(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """``a @ b`` for ranks one and two."""
    x, y = (_in_memory(frame, v) for v in (a, b))
    if not (1 <= x.rank <= 2 and 1 <= y.rank <= 2):
        raise refuse(
            current_loc(), "@ takes vectors and matrices", "loop over the outer dimensions", kind=kinds.WRONG_TYPE
        )
    inner = x.dims[-1]
    other = y.dims[0]
    if not same_dim(inner, other):
        message = "matmul: the inner extents differ, {} and {}"
        trap_unless(equal_dims(inner, other), SHAPE_ERROR, message, dim_value(inner), dim_value(other))
    dtype = _dtype(x, y)
    outer: list[Dim] = [*x.dims[:-1], *y.dims[1:]]

    def total(i: list[Value]) -> Value:
        row, column = i[: x.rank - 1], i[x.rank - 1 :]

        def term(k: list[Value]) -> Value:
            return convert(product(x.element([*row, *k], False), y.element([*k, *column], False)), dtype)

        return nested([inner], [], term, SUM, dtype)

    if not outer:
        return Scalar(total([]), dtype, weak=False)
    result = allocate(frame, outer, dtype)
    nest(outer, lambda i: _assign(total(i), result, i, dtype))
    return result


def product(a: AbstractValue, b: AbstractValue) -> Scalar:
    """A product in a sum that is the library's: the two may be rounded once."""
    with contractible():
        found = scalars.binary("*", a, b)
    assert isinstance(found, Scalar)
    return found


def _assign(value: Value, result: Array, i: list[Value], dtype: Type) -> None:
    build(ops.store, [to_element(value, dtype), result.memref, *i])


def _in_memory(frame: Frame, v: AbstractValue) -> Lazy:
    if not isinstance(v, Array | Lazy):
        raise refuse(current_loc(), f"@ takes arrays, not {describe_type(v)}", for_array(v), kind=kinds.WRONG_TYPE)
    return lazy_of(materialise(frame, v) if isinstance(v, Lazy) else v)


def _dtype(x: Lazy, y: Lazy) -> Type:
    dtype = promote_types(x.dtype, False, y.dtype, False)
    if dtype == i1:
        raise refuse(
            current_loc(), "@ of bool arrays is not supported", "convert to int first", kind=kinds.UNSUPPORTED_OPTION
        )
    assert kind(dtype) >= 1
    return dtype
