"""``iter`` and ``next``."""

from __future__ import annotations

from typing import Any

from adc.frontend import iteration
from adc.frontend.containers import records
from adc.frontend.control.branches import branch
from adc.frontend.data.type_names import describe_type, is_iterator
from adc.frontend.data.values import AbstractValue, Generator, Scalar, Static, Stream
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.iteration import Known
from adc.frontend.libraries.rules import Rule, positional
from adc.frontend.prelude import python_iterators
from adc.ir import kinds
from adc.ir.arith import const_index
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
    if isinstance(source, Stream) and not source.ahead:
        return _first(frame, source, default)
    if records.method(frame, source, "__next__") is None:
        help = "go through it with a for statement, or take next(iter(list(...)))"
        raise refuse(current_loc(), f"next() of {describe_type(source)} is not supported", help, kind=kinds.WRONG_TYPE)
    if default is None:
        return frame.tracer.call(frame, Static(python_iterators.following), [source], {})
    return frame.tracer.call(frame, Static(python_iterators.following_or), [source, default], {})


def _first(frame: Frame, source: Stream, default: AbstractValue | None) -> AbstractValue:
    """The first item of what nothing else goes through."""

    def nothing() -> AbstractValue:
        return default or frame.tracer.call(frame, Static(python_iterators.exhausted), [], {})

    items = iteration.need(frame, source, "next")
    if isinstance(items, Known) and not (items.count and items.limits):
        return items.item(0) if items.count else nothing()
    first = (lambda: items.item(0)) if isinstance(items, Known) else (lambda: items.item(const_index(0)))
    found = branch(frame, items.has(0), first, nothing)
    assert found is not None
    return found


TABLE: dict[Any, Rule] = {
    iter: positional("iter", 1, _iter),
    next: positional("next", range(1, 3), _next),
}
