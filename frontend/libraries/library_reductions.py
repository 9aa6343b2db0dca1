"""NumPy's functions that combine the elements of arrays: sums and similar reductions, products of vectors and
matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend.arrays import arrays, reductions
from adc.frontend.arrays.contractions import squared
from adc.frontend.data.values import AbstractValue, Lazy
from adc.frontend.frame import Frame
from adc.frontend.libraries import reducing
from adc.frontend.libraries.creation import astype, need_array
from adc.frontend.libraries.reducing import part_of, root
from adc.frontend.libraries.rules import Rule, positional
from adc.frontend.numeric.convert import accumulator, kind
from adc.frontend.prelude import norms
from adc.ir.types import f64

Args = Sequence[AbstractValue]
Keywords = Mapping[str, AbstractValue]


def _norm(frame: Frame, x: AbstractValue) -> AbstractValue:
    """The Euclidean norm of all elements."""
    value = need_array("np.linalg.norm", x)
    value = value if kind(value.dtype) >= 2 else astype(value, f64)
    square = arrays.elementwise(squared, astype(value, accumulator(value.dtype)))
    assert isinstance(square, Lazy)
    return root(reductions.reduce(frame, reductions.SUM, square, dtype=part_of(value.dtype)))


TABLE: dict[Any, Rule] = {
    **reducing.TABLE,
    norms.euclidean: positional("np.linalg.norm", 1, _norm),
}
