"""Stores into the arrays of objects that are kept in pools: ``b.pos += v``, ``b.pos[k] = x``, ``b.pos[k] += x``.

The array is a window on a column of the pool, for which the program has no name: it is made when the value has been
computed and dropped when that is stored, so that the pool may grow before and after. ``objects.owned`` handles other
names of the array.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeGuard, TypeVar

from adc.frontend import forms
from adc.frontend.arrays import arrays, places
from adc.frontend.containers import records
from adc.frontend.data.compounds import Handle
from adc.frontend.data.roots import overlap
from adc.frontend.data.values import AbstractValue, Array
from adc.frontend.errors import refuse
from adc.frontend.expressions.access import items_of
from adc.frontend.expressions.evaluation import evaluate
from adc.frontend.frame import Frame
from adc.frontend.numeric.slices import Item
from adc.frontend.objects import heap, owned, pools
from adc.ir import kinds
from adc.ir.builder import current_loc

T = TypeVar("T")


def has(owner: AbstractValue, frame: Frame, name: str) -> TypeGuard[Handle]:
    """Whether an attribute of an object in a pool is an array."""
    return isinstance(owner, Handle) and records.plain_field(frame, owner, name) and pools.has_array(frame, owner, name)


def store(frame: Frame, owner: Handle, target: ast.Subscript, name: str, value: AbstractValue) -> None:
    """``owner.name[...] = value``."""
    with frame.at(target):
        value = arrays.settled(frame, value)
    array = pools.array_of(frame, owner, name)
    items = _unchanged(frame, owner, array, lambda: items_of(frame, array, target.slice))
    with frame.at(target):
        array = pools.array_of(frame, owner, name)
        places.store(frame, places.locate(frame, array, items), value)
        owned.note_changed(frame, owner.form.cls, name)


def update(frame: Frame, owner: Handle, name: str, symbol: str, statement: ast.AugAssign) -> None:
    """``owner.name symbol= value``."""
    if forms.is_frozen(owner.form.cls):
        records.set_attribute(frame, owner, name, pools.field(frame, owner, name))  # is refused
    array = pools.array_of(frame, owner, name)
    value = _unchanged(frame, owner, array, lambda: arrays.settled(frame, evaluate(frame, statement.value)))
    with frame.at(statement):
        arrays.update(frame, pools.array_of(frame, owner, name), symbol, value)
        owned.note_changed(frame, owner.form.cls, name)


def update_items(
    frame: Frame, owner: Handle, target: ast.Subscript, name: str, symbol: str, statement: ast.AugAssign
) -> None:
    """``owner.name[...] symbol= value``."""
    array = pools.array_of(frame, owner, name)

    def operands() -> tuple[list[Item], AbstractValue]:
        items = items_of(frame, array, target.slice)
        return items, arrays.settled(frame, evaluate(frame, statement.value))

    items, value = _unchanged(frame, owner, array, operands)
    with frame.at(statement):
        array = pools.array_of(frame, owner, name)
        place = places.locate(frame, array, items)
        places.update(frame, place, symbol, places.current(place), value)
        owned.note_changed(frame, owner.form.cls, name)


def _unchanged(frame: Frame, owner: Handle, array: Array, operands: Callable[[], T]) -> T:
    """The result of ``operands``. Refused if it assigns another array, or makes objects, meanwhile."""
    before, held = set(frame.written), heap.contents(frame, owner.pool)
    frame.written.clear()
    found = operands()
    changed = overlap(frozenset(frame.written), array.roots) or heap.contents(frame, owner.pool) is not held
    frame.written |= before
    if changed:
        message = f"cannot store into this array: {heap.ITEM}, and the value on the right side may change it"
        raise refuse(current_loc(), message, "compute the value before, in a statement", kind=kinds.CAPTURED_WRITE)
    return found
