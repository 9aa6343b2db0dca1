"""``+`` and ``*`` of lists and tuples, ``|`` of dicts."""

from __future__ import annotations

from adc.frontend.containers.indexing import subscript
from adc.frontend.containers.sequences import dict_items, known_items, new_dict, new_list
from adc.frontend.data.values import AbstractValue, Ref, Scalar, Tuple, is_dict, is_list, is_numeric, needed_int
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import as_scalar, kind
from adc.frontend.objects import heap, list_changes, rows
from adc.frontend.objects.merge import Clash
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.builder import current_loc


def operate(frame: Frame, symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``+`` and ``*`` of lists and tuples; None for others."""
    if symbol == "+" and is_list(a) and is_list(b):
        if rows.grows(frame, a) or rows.grows(frame, b):
            assert isinstance(a, Ref) and isinstance(b, Ref)
            return list_changes.joined(frame, a, b)
        return new_list(frame, [*_items(frame, a), *_items(frame, b)])
    if symbol == "+" and isinstance(a, Tuple) and isinstance(b, Tuple):
        return Tuple(a.items + b.items)
    if symbol == "|" and is_dict(a) and is_dict(b):
        assert isinstance(a, Ref) and isinstance(b, Ref)
        return new_dict(frame, dict_items(frame, a) | dict_items(frame, b))
    if symbol == "*":
        for v, n in ((a, b), (b, a)):
            if (is_list(v) or isinstance(v, Tuple)) and is_numeric(n) and kind(as_scalar(n).dtype) < 2:
                numbers = [n.value] if isinstance(n, Scalar) else []
                unknown = bool(numbers) and not frame.tracer.attempt.decides(current_loc(), numbers)
                many = is_list(v) and (unknown or rows.grows(frame, v))
                repeated = _repeated(frame, v, n) if many else None
                if repeated is not None:
                    return repeated
                times = needed_int(n)
                if times is None:
                    raise refuse(
                        current_loc(),
                        "how often a list or tuple is repeated must be known when the function is compiled",
                        "make an array with np.full() or np.zeros()",
                        kind=kinds.NOT_CONSTANT,
                    )
                items = _items(frame, v) * times
                return new_list(frame, items) if is_list(v) else Tuple(tuple(items))
    return None


def _repeated(frame: Frame, v: AbstractValue, n: AbstractValue) -> AbstractValue | None:
    """A list repeated a run-time number of times; None if its items must be known one by one."""
    assert isinstance(v, Ref)
    held = heap.contents(frame, v)
    try:
        item = rows.type_of_items(frame, held)
    except Clash:
        return None
    if item is None:
        return None
    return list_changes.repeated(frame, held, item, ops.maxsi(subscript(n), const_index(0)))


def _items(frame: Frame, v: AbstractValue) -> list[AbstractValue]:
    items = known_items(frame, v)
    assert items is not None
    return items
