"""Whether a value counts as true."""

from __future__ import annotations

from adc.frontend.arrays import arrays
from adc.frontend.containers import records
from adc.frontend.data.values import AbstractValue, Ref
from adc.frontend.frame import Frame
from adc.frontend.objects import heap, rows
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.core import Value


def as_condition(frame: Frame, value: AbstractValue) -> bool | Value:
    """The truth of a value."""
    if rows.grows(frame, value):
        assert isinstance(value, Ref)
        return ops.cmpi(rows.length(heap.contents(frame, value)), const_index(0), predicate="sgt")
    if isinstance(value, Ref) and value.kind in ("list", "dict"):
        return bool(heap.contents(frame, value).items)
    for name in ("__bool__", "__len__"):
        own = records.method(frame, value, name)
        if own is not None:
            return arrays.truth(frame.tracer.call(frame, own, [], {}))
    return arrays.truth(value)
