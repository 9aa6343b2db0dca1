"""Variables that a nested function assigns by ``nonlocal``: they live in an object, which functions share."""

from __future__ import annotations

import ast
from types import CellType

from adc.frontend.data.values import AbstractValue, Array, Ref, Scalar
from adc.frontend.forms import Form
from adc.frontend.frame import Frame
from adc.frontend.objects import heap

_FORM = Form("object", CellType, ("cell_contents",))


def cell_of(frame: Frame, name: str) -> Ref | None:
    """The cell that a variable lives in; None if it lives in none."""
    value = frame.env.get(name)
    return value if isinstance(value, Ref) and value.cls is CellType else None


def assign(frame: Frame, name: str, value: AbstractValue) -> bool:
    """Assign a variable if it lives in a cell, or must live in one. Whether it does."""
    cell = cell_of(frame, name)
    if cell is not None:
        heap.assign(frame, cell, [value])
        return True
    if name not in frame.liveness.shared:
        return False
    frame.env[name] = heap.new(frame, _FORM, [value])
    return True


def bind(frame: Frame, target: ast.Name, value: AbstractValue) -> None:
    """Assign a variable, in a cell or not."""
    frame.assigned_at[target.id] = frame.loc(target)
    if assign(frame, target.id, value):
        return
    frame.env[target.id] = value
    if isinstance(value, Scalar | Array):
        ir = value.value if isinstance(value, Scalar) else value.memref
        if not ir.hint and ir.op is not None:
            ir.hint = target.id


def enter(frame: Frame) -> None:
    """Move the parameters that nested functions assign into cells."""
    for name in sorted(frame.liveness.shared):
        value = frame.env.get(name)
        if value is not None and cell_of(frame, name) is None:
            frame.env[name] = heap.new(frame, _FORM, [value])
