"""Structured arrays: their fields, elements and parts, read and stored to.

A structured array is a tuple of views, one for each field (``Structured``). A subscript of the array applies to each
field. An element is a view of the array, as in NumPy: stores to its fields change the array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.frontend.abstract import DTYPES
from adc.frontend.arrays import gathers, places, subscripts
from adc.frontend.arrays.subscripts import Element
from adc.frontend.containers import sequences
from adc.frontend.data.compounds import Structured, structured
from adc.frontend.data.dims import Dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.unusable import Unusable
from adc.frontend.data.values import AbstractValue, Array, Static, Tuple, is_array, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.forms import structured_form
from adc.frontend.frame import Frame
from adc.frontend.numeric import nests, views
from adc.frontend.numeric.slices import Item
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Loc, Value
from adc.ir.diagnostics import AdcError
from adc.ir.types import Type


def items_of(frame: Frame, value: AbstractValue, loc: Loc, *, alone: bool) -> list[Item]:
    """A value between the brackets of a structured array; names of fields are kept as they are."""
    if _names(frame, value) is not None:
        return [Item(loc, value)]
    return gathers.items_of(frame, value, loc, alone=alone)


def _names(frame: Frame, value: AbstractValue) -> str | list[str] | None:
    """The field or the list of fields that a subscript names."""
    if isinstance(value, Static) and isinstance(value.value, str):
        return value.value
    held = sequences.snapshot(frame, value)
    if isinstance(held, Tuple) and held.form.kind == "list" and held.items:
        found = [item.value for item in held.items if isinstance(item, Static) and isinstance(item.value, str)]
        return found if len(found) == len(held.items) else None
    return None


def read(frame: Frame, owner: Structured, items: list[Item]) -> AbstractValue:
    """``owner[items]``."""
    names = _names(frame, items[0].value) if len(items) == 1 and isinstance(items[0].value, AbstractValue) else None
    if isinstance(names, str):
        return field(owner, names)
    if names is not None:
        found = tuple(_member(owner, name) for name in names)
        return Structured(found, structured_form(owner.form.cls, owner.form.dtype[names]))
    if owner.rank is None:
        held = _position(owner, items)
        return field(owner, str(held))
    return _part(frame, owner, items)


def _position(owner: Structured, items: list[Item]) -> object:
    """The field that an integer names in the brackets of an element."""
    value = items[0].value
    names = owner.form.names
    known = value.value if len(items) == 1 and isinstance(value, Static) else None
    if isinstance(known, int) and -len(names) <= known < len(names):
        return names[known]
    message = "an element of a structured array is subscripted by the name of a field"
    raise refuse(current_loc(), message, f"it has {_listed(owner)}", kind=kinds.INVALID_SUBSCRIPT)


def _listed(owner: Structured) -> str:
    return ", ".join(map(repr, owner.form.names))


def _member(owner: Structured, name: str) -> AbstractValue:
    found = owner.field(name)
    if found is None:
        message = f"the structured array has no field {name!r}"
        raise refuse(current_loc(), message, f"it has {_listed(owner)}", kind=kinds.MISSING_KEY)
    check_usable(found, f"field {name!r}")
    return found


def check_usable(found: AbstractValue, name: str) -> None:
    """Refuse a field that compiled code cannot use."""
    if isinstance(found, Static) and isinstance(found.value, Unusable):
        message = f"{name} cannot be used here: {found.value.reason}"
        raise refuse(current_loc(), message, found.value.help, kind=kinds.UNSUPPORTED_VALUE)


def field(owner: Structured, name: str) -> AbstractValue:
    """``owner[name]``: a view; for an element, the number, unless the field is an array."""
    found = _member(owner, name)
    return Element(found, ()).load() if _is_number(owner, found) else found  # type: ignore[arg-type]


def _is_number(owner: Structured, found: AbstractValue) -> bool:
    return owner.rank is None and isinstance(found, Array) and not found.rank


def _part(frame: Frame, owner: Structured, items: list[Item]) -> Structured:
    """The part of each field that a subscript names: views, or new arrays if there are index arrays."""

    def part(item: Array) -> Array:
        place = places.locate(frame, item, items)
        if isinstance(place, Element):
            return view_of(place)
        return place if isinstance(place, Array) else nests.materialise(frame, nests.lazy_of(place.read()))

    return _mapped(owner, part)


def view_of(place: Element) -> Array:
    """An element of an array as an array without dimensions."""
    found = place.array
    for k in place.subscripts:
        found = views.row(found, k)
    return found


def _mapped(owner: Structured, part: Callable[[Array], Array]) -> Structured:
    """The same part of each field. If no dimension remains, it is an element."""

    def of(item: AbstractValue) -> AbstractValue:
        if isinstance(item, Structured):
            return item.of(map(of, item.items))
        return part(item) if isinstance(item, Array) else item  # an unusable field stays one

    found = structured(owner.form, tuple(map(of, owner.items)))
    return found if found.dims else _as_element(found)


def _as_element(owner: Structured) -> Structured:
    cls = np.record if owner.form.cls is np.recarray else np.void
    items = tuple(_as_element(item) if isinstance(item, Structured) else item for item in owner.items)
    return Structured(items, structured_form(cls, owner.form.dtype))


def element(owner: Structured, k: Value) -> Structured:
    """``owner[k]`` for a ``k`` that is in range."""
    return _mapped(owner, lambda item: views.row(item, k))


def transposed(owner: Structured) -> Structured:
    rank = len(owner.dims)
    return _mapped(owner, lambda a: _turned(a, rank))


def _turned(a: Array, rank: int) -> Array:
    found = subscripts.transpose(a, (*reversed(range(rank)), *range(rank, a.rank)))
    assert isinstance(found, Array)
    return found


def copy(frame: Frame, owner: Structured) -> Structured:
    """A new array with the same elements. For an element that is copied, the numbers are its own."""
    made = new(frame, owner.dims, owner.form.dtype, cls=owner.form.cls)
    store_all(frame, made, owner)
    return made


def new(frame: Frame, dims: Sequence[Dim], dtype: np.dtype[Any], *, cls: type = np.ndarray) -> Structured:
    """An array whose fields have memory of their own, which is not initialised."""
    form = structured_form(cls, dtype)
    items: list[AbstractValue] = []
    for name in form.names:
        own = dtype[str(name)]
        extents = (*dims, *own.shape)
        if own.base.names is not None:
            items.append(new(frame, extents, own.base, cls=cls))
        else:
            items.append(nests.allocate(frame, extents, element_type(own.base)))
    return structured(form, tuple(items))


def element_type(dtype: np.dtype[Any]) -> Type:
    """The type of the elements of a field."""
    if dtype not in DTYPES:
        raise refuse(
            current_loc(),
            f"a field of the dtype {dtype} is not supported",
            "fields are floats, complex numbers, integers of 8 to 64 bits and bools",
            kind=kinds.UNSUPPORTED_DTYPE,
        )
    return DTYPES[dtype]


# Stores ---------------------------------------------------------------------------------------------------------------


def store(frame: Frame, owner: Structured, items: list[Item], value: AbstractValue) -> None:
    """``owner[items] = value``."""
    target = read(frame, owner, items) if _is_view(frame, owner, items) else None
    if isinstance(target, Structured):
        store_all(frame, target, value)
    elif target is not None:
        store_field(frame, owner, items, value)
    else:
        _each(frame, owner, value, lambda item, part: places.store(frame, places.locate(frame, item, items), part))


def named(owner: Structured, name: str) -> list[Item]:
    """The subscript that an attribute of a record array stands for."""
    if not issubclass(owner.form.cls, np.recarray | np.record):
        message = f"attributes of {describe_type(owner)} cannot be assigned"
        raise refuse(current_loc(), message, f"write a[{name!r}]", kind=kinds.UNSUPPORTED_TARGET)
    return [Item(current_loc(), Static(name))]


def _is_view(frame: Frame, owner: Structured, items: list[Item]) -> bool:
    return not gathers.by_arrays(items)


def store_field(frame: Frame, owner: Structured, items: list[Item], value: AbstractValue) -> None:
    """``owner["name"] = value``."""
    places.store(frame, field_place(frame, owner, items), value)


def field_place(frame: Frame, owner: Structured, items: list[Item]) -> Element | Array:
    """The memory of a field that is not itself a structured array."""
    name = _names(frame, items[0].value) if isinstance(items[0].value, AbstractValue) else None
    found = _member(owner, name if isinstance(name, str) else str(_position(owner, items)))
    if not isinstance(found, Array):
        raise _passed()
    return Element(found, ()) if _is_number(owner, found) else found


def _passed() -> AdcError:
    return refuse(
        current_loc(),
        "an element of a structured array that was passed by itself cannot be written",
        "pass the array and the subscript, and write a[i][...]",
        kind=kinds.UNSUPPORTED_TARGET,
    )


def store_all(frame: Frame, target: Structured, value: AbstractValue) -> None:
    """Store all fields: those of another structured array or of a tuple in order, or one number for all."""

    def whole(item: Array, part: AbstractValue) -> None:
        places.store(frame, item if item.rank else Element(item, ()), part)

    _each(frame, target, value, whole)


def _each(
    frame: Frame, target: Structured, value: AbstractValue, into: Callable[[Array, AbstractValue], None]
) -> None:
    held = value if isinstance(value, Structured) else sequences.snapshot(frame, value)
    names = target.form.names
    parts: Sequence[AbstractValue]
    if isinstance(held, Structured):
        parts = [_loaded(held, item) for item in held.items]
    elif isinstance(held, Tuple) and held.form.kind != "list":
        parts = held.items
    elif is_numeric(held) or is_array(held):
        parts = [held] * len(names)
    else:
        message = f"cannot store {describe_type(value)} into a structured array"
        raise refuse(current_loc(), message, f"store to its fields: {_listed(target)}", kind=kinds.WRONG_TYPE)
    if len(parts) != len(names):
        message = f"a structured array with {len(names)} fields cannot take {len(parts)} values"
        raise refuse(current_loc(), message, f"it has {_listed(target)}", kind=kinds.WRONG_TYPE)
    for item, part in zip(target.items, parts, strict=True):
        if isinstance(item, Structured):
            _each(frame, item, part, into)
        elif isinstance(item, Array):
            into(item, part)
        else:
            check_usable(item, "a field")
            raise _passed()


def _loaded(owner: Structured, item: AbstractValue) -> AbstractValue:
    return Element(item, ()).load() if _is_number(owner, item) else item  # type: ignore[arg-type]
