"""Methods of lists in pools that are not programs."""

from __future__ import annotations

from typing import Any

from adc.frontend.containers import indexing, pooled_lists
from adc.frontend.data.compounds import Handle, slice_object
from adc.frontend.data.values import NONE, AbstractValue, Ref, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule, positional
from adc.frontend.objects import list_pools
from adc.frontend.prelude import python_rows
from adc.frontend.prelude.python_rows import PooledList
from adc.ir import kinds
from adc.ir.builder import current_loc


def _getitem(frame: Frame, v: AbstractValue, index: AbstractValue) -> AbstractValue:
    assert isinstance(v, Handle)
    if slice_object(index) is not None:
        return frame.tracer.call(frame, Static(python_rows.part), [list_pools.items(frame, v), index], {})
    return pooled_lists.read(frame, v, indexing.subscript(index))


def _setitem(frame: Frame, v: AbstractValue, index: AbstractValue, value: AbstractValue) -> AbstractValue:
    assert isinstance(v, Handle)
    part = slice_object(index)
    if part is not None:
        start, stop, step = part.items
        if not isinstance(step, Static) or step.value not in (None, 1):
            message = "slices of a list with a step cannot be assigned"
            raise refuse(current_loc(), message, "write a loop", kind=kinds.UNSUPPORTED_TARGET)
        return frame.tracer.call(frame, Static(python_rows.store_part), [v, start, stop, value], {})
    pooled_lists.write(frame, v, indexing.subscript(index), value)
    return NONE


def _append(frame: Frame, v: AbstractValue, value: AbstractValue) -> AbstractValue:
    assert isinstance(v, Handle)
    pooled_lists.append(frame, v, value)
    return NONE


def _become(frame: Frame, v: AbstractValue, items: AbstractValue) -> AbstractValue:
    assert isinstance(v, Handle) and isinstance(items, Ref)
    pooled_lists.become(frame, v, items)
    return NONE


TABLE: dict[Any, Rule] = {
    PooledList.__getitem__: positional("list.__getitem__", 2, _getitem),
    PooledList.__setitem__: positional("list.__setitem__", 3, _setitem),
    PooledList.append: positional("list.append", 2, _append),
    PooledList.copy: positional("list.copy", 1, list_pools.items),
    PooledList.become: positional("list", 2, _become),
}

BY_IDENTITY = frozenset(TABLE)
