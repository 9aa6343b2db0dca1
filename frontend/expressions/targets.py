"""The variables of comprehensions."""

from __future__ import annotations

import ast

from adc.frontend.arrays import places
from adc.frontend.containers import sequences
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Stream
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.iteration import unpacked
from adc.ir import kinds


def bind_target(frame: Frame, target: ast.expr, value: AbstractValue) -> None:
    """Set the variables of a comprehension."""
    if isinstance(target, ast.Name):
        frame.env[target.id] = value
        frame.assigned_at[target.id] = frame.loc(target)
        return
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    items = sequences.known_items(frame, value)
    if items is None and isinstance(value, Array):
        items = places.unpack(frame, value, len(parts))
    if items is None and isinstance(value, Stream):
        items = unpacked(frame, value, len(parts))
    if items is None or len(items) != len(parts):
        raise refuse(frame.loc(target), f"cannot unpack {describe_type(value)} here", kind=kinds.WRONG_UNPACKING)
    for part, item in zip(parts, items, strict=True):
        bind_target(frame, part, item)
