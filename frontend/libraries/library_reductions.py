"""NumPy's functions that combine the elements of arrays: sums and their kin, products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.data.values import AbstractValue, Array, Lazy
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries import reducing, reductions
from adc.frontend.libraries.contractions import squared
from adc.frontend.libraries.creation import astype, need_array
from adc.frontend.libraries.reducing import root
from adc.frontend.numeric import arrays, views
from adc.frontend.numeric.convert import kind
from adc.frontend.numeric.rules import Rule, positional
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.types import f64

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _norm(frame: Frame, x: AbstractValue) -> AbstractValue:
    """The Euclidean norm of all elements."""
    value = need_array("np.linalg.norm", x)
    value = value if kind(value.dtype) >= 2 else astype(value, f64)
    square = arrays.elementwise(squared, value)
    assert isinstance(square, Lazy)
    return root(reductions.reduce(frame, reductions.SUM, square))


def _outer(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    columns, rows = (arrays.settled(frame, need_array("np.outer", v)) for v in (a, b))
    assert isinstance(columns, Array) and isinstance(rows, Array)
    if columns.rank != 1 or rows.rank != 1:
        raise refuse(
            current_loc(), "np.outer() takes two vectors", "multiply a[:, None] by b[None, :]", kind=kinds.WRONG_TYPE
        )
    column = views.with_new_axes(columns, [False, True])
    return arrays.operate(frame, "*", column, rows)


TABLE: dict[Any, Rule] = {
    **reducing.TABLE,
    np.linalg.norm: positional("np.linalg.norm", 1, _norm),
    np.outer: positional("np.outer", 2, _outer),
}
