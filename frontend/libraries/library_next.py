"""``iter`` and ``next``."""

from __future__ import annotations

from typing import Any

from adc.frontend import iteration
from adc.frontend.containers import records
from adc.frontend.data.type_names import describe_type, is_iterator
from adc.frontend.data.values import AbstractValue, Generator, Scalar, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import Rule, positional
from adc.frontend.prelude import python_iterators
from adc.ir import kinds
from adc.ir.builder import current_loc


def _iter(frame: Frame, items: AbstractValue) -> AbstractValue:
    if isinstance(items, Generator) or iteration.is_ahead([items]):
        what = f"iter() of {describe_type(items)} is not supported"
        raise refuse(current_loc(), what, "make a list of it first, if nothing depends on when", kind=kinds.WRONG_TYPE)
    if is_iterator(items):
        return items
    if isinstance(items, Scalar) or (isinstance(items, Static) and not hasattr(items.value, "__iter__")):
        raise refuse(current_loc(), f"iter() cannot go through {describe_type(items)}", kind=kinds.NOT_ITERABLE)
    own = records.method(frame, items, "__iter__")
    if own is not None and records.method(frame, items, "__next__") is not None:
        return frame.tracer.call(frame, own, [], {})
    return frame.tracer.call(frame, Static(python_iterators.iterator), [items], {})


def _next(frame: Frame, source: AbstractValue, default: AbstractValue | None = None) -> AbstractValue:
    if records.method(frame, source, "__next__") is None:
        help = "go through it with a for statement, or take next(iter(list(...)))"
        raise refuse(current_loc(), f"next() of {describe_type(source)} is not supported", help, kind=kinds.WRONG_TYPE)
    if default is None:
        return frame.tracer.call(frame, Static(python_iterators.following), [source], {})
    return frame.tracer.call(frame, Static(python_iterators.following_or), [source, default], {})


TABLE: dict[Any, Rule] = {
    iter: positional("iter", 1, _iter),
    next: positional("next", range(1, 3), _next),
}
