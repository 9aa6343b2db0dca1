"""Products of vectors and matrices, along any leading axes."""

from __future__ import annotations

from adc.frontend.data.values import AbstractValue
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.contractions import Labelled, contract, in_memory
from adc.ir import kinds
from adc.ir.builder import current_loc


def matmul(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """``a @ b``: leading axes of more than two are stretched as in elementwise operations."""
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
