"""The argument of ``np.block``, to which an array is not the same as a list of arrays."""

from __future__ import annotations

from adc.frontend import abstract
from adc.frontend.containers import sequences
from adc.frontend.data.values import AbstractValue, Ref, Static, Tuple, is_list
from adc.frontend.forms import LIST
from adc.frontend.frame import Frame
from adc.frontend.objects import growing, heap, list_pools, rows
from adc.frontend.prelude import joining


def joined(frame: Frame, v: AbstractValue) -> AbstractValue:
    """``v`` with one block in place of the blocks in each list of run-time length."""
    if list_pools.is_row(v):
        v = list_pools.items(frame, v)
    if rows.grows(frame, v):
        assert isinstance(v, Ref)
        return _of_any_length(frame, v)
    items = sequences.known_items(frame, v) if is_list(v) or isinstance(v, Tuple) else None
    return v if items is None else Tuple(tuple(joined(frame, item) for item in items), LIST)


def _of_any_length(frame: Frame, v: Ref) -> AbstractValue:
    held = heap.contents(frame, v)
    item = rows.row_of(held)
    table = list_pools.as_table(frame, held)
    if table is not None:
        return Tuple((Tuple((frame.tracer.call(frame, Static(joining.joined_table), [table], {}),), LIST),), LIST)
    if isinstance(item, abstract.Tuple) and item.form == LIST and all(map(_is_block, item.items)):
        found = [frame.tracer.call(frame, Static(joining.joined_column), [w], {}) for w in growing.windows(held)]
        return Tuple((Tuple(tuple(found), LIST),), LIST)
    array = growing.as_array(held) or growing.without_none(frame, held)
    if array is None:
        return v
    return Tuple((frame.tracer.call(frame, Static(joining.joined_row), [array], {}),), LIST)


def _is_block(item: abstract.Abstract) -> bool:
    return isinstance(item, abstract.Scalar | abstract.Array)
