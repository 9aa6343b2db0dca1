"""``a.flat``: the elements of an array one after the other, subscripted like an array with one axis."""

from __future__ import annotations

from adc.frontend.arrays import gathers, subscripts
from adc.frontend.data.values import AbstractValue, Array, Flat
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric import views
from adc.frontend.numeric.nests import lazy_of, materialise
from adc.frontend.numeric.slices import Item
from adc.ir import kinds
from adc.ir.builder import current_loc


def read(frame: Frame, owner: Flat, items: list[Item]) -> AbstractValue:
    """``a.flat[items]``: an element, or a new array."""
    line = _in_line(frame, owner.array, items)
    if gathers.by_arrays(items):
        return gathers.locate(frame, line, items).read()
    found = subscripts.read(frame, line, items)
    return materialise(frame, lazy_of(found)) if isinstance(found, Array) else found


def written(frame: Frame, owner: Flat, items: list[Item]) -> Array:
    """The one-dimensional view whose ``items`` are stored to. There is none if elements have gaps between them."""
    array = owner.array
    if array.rank != 1 and array.type.strides is not None:
        raise refuse(
            current_loc(),
            "cannot store into flat of an array that may be a part of another one, with gaps between its elements",
            "store by a[np.unravel_index(k, a.shape)] = ..., or into a copy of the array",
            kind=kinds.UNSUPPORTED_TARGET,
        )
    return _in_line(frame, array, items)


def _in_line(frame: Frame, array: Array, items: list[Item]) -> Array:
    if len(items) != 1 or subscripts.is_newaxis(items[0]):
        raise refuse(current_loc(), "flat takes one subscript", "write a.flat[k]", kind=kinds.INVALID_SUBSCRIPT)
    return views.reshape(frame, array, [1], 0)
