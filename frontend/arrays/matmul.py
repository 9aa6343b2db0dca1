"""Products of vectors and matrices, along any leading axes."""

from __future__ import annotations

from adc.frontend.arrays.contractions import Labelled, contract, in_memory
from adc.frontend.data.values import AbstractValue, Array, Lazy, is_array
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import layouts, views
from adc.frontend.numeric.nests import materialise
from adc.ir import kinds
from adc.ir.builder import current_loc


def matmul(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """``a @ b``: axes before the last two are broadcast as in elementwise operations."""
    flat = _rows_of(frame, a) if is_array(a) and is_array(b) and b.rank == 2 else None  # type: ignore[attr-defined]
    if flat is not None:
        result = matmul(frame, flat, b)
        assert isinstance(a, Array | Lazy) and isinstance(result, Array)
        return views.grouped_view(result, [*a.dims[:-1], result.dims[1]], ((1, a.rank - 1), (1, 1)))
    x, y = (in_memory(frame, "@", v) for v in (a, b))
    if not (x.rank and y.rank):
        raise refuse(current_loc(), "@ takes arrays with axes", "multiply by *", kind=kinds.WRONG_TYPE)
    count = max(x.rank, y.rank, 2) - 2
    leading = tuple(range(-count, 0))
    of_x = (*leading[count - max(0, x.rank - 2) :], *(("row",) if x.rank > 1 else ()), "inner")
    of_y = (*leading[count - max(0, y.rank - 2) :], "inner", *(("column",) if y.rank > 1 else ()))
    out = (*leading, *(label for label in (*of_x, *of_y) if label in ("row", "column")))
    message = "matmul: the inner extents differ, {} and {}"
    return contract(frame, "@", [Labelled(x, of_x), Labelled(y, of_y)], out, frozenset(leading), message)


def _rows_of(frame: Frame, a: AbstractValue) -> Array | None:
    """All rows of an array of more than two axes as a matrix: one large product is faster than many small ones. None if
    the rows are not contiguous."""
    array = materialise(frame, a) if isinstance(a, Lazy) and a.rank > 2 else a
    if not isinstance(array, Array) or array.rank <= 2 or array.type.strides is not None:
        return None
    rows = layouts.product(array.dims[:-1])
    return views.grouped_view(array, [rows, array.dims[-1]], ((array.rank - 1, 1), (1, 1)))
