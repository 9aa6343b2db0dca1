"""Lists, tuples and dicts: their contents, and how they are created."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from adc.frontend import abstract
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.dims import static_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Range, Ref, Scalar, Static, Stream, Tuple, View, known_int
from adc.frontend.errors import refuse
from adc.frontend.forms import LIST, Form
from adc.frontend.frame import Frame, NeedsConstant
from adc.frontend.numeric.nests import lazy_of
from adc.frontend.objects import growing, heap, list_pools, rows
from adc.frontend.prelude.python_collections import Deque, FrozenSet, Held, LongTuple
from adc.frontend.prelude.python_dicts import Dict, Pairs, is_of_dict
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Loc
from adc.ir.diagnostics import AdcError


def inside(frame: Frame, v: AbstractValue, ordered: bool = True) -> AbstractValue:
    """The list inside a container that is built on one. ``ordered``: the order of the items matters; that of a set is
    not defined."""
    if list_pools.is_row(v):
        return list_pools.items(frame, v)
    if not isinstance(v, Ref) or v.kind != "object" or not issubclass(v.cls, Held):
        return v
    if ordered and issubclass(v.cls, FrozenSet) and frame.source.placed is None:
        raise refuse(
            current_loc(),
            "the order of what is in a set is not known",
            "give it one: sorted(s)",
            kind=kinds.NOT_ITERABLE,
        )
    held = heap.contents(frame, v)
    if issubclass(v.cls, Pairs):
        return v
    return inside(frame, held.items[held.form.names.index(v.cls.within)])


def are_integers(frame: Frame, v: AbstractValue) -> bool:
    """Whether these are the items of a set of Python's integers, whose sum does not depend on their order."""
    if not isinstance(v, Ref) or v.kind != "object" or not issubclass(v.cls, FrozenSet):
        return False
    held = heap.contents(frame, inside(frame, v, ordered=False))  # type: ignore[arg-type]
    if rows.is_growing(held):
        item = rows.row_of(held)
        return isinstance(item, abstract.Scalar) and item.weak and not item.type.is_float
    return all(known_int(i) is not None or (isinstance(i, Scalar) and not i.dtype.is_float) for i in held.items)


def plain(frame: Frame, v: AbstractValue) -> AbstractValue:
    """The dict in a ``defaultdict`` or ``Counter``; other values as they are."""
    return heap.contents(frame, v).items[0] if isinstance(v, Ref) and is_of_dict(v.cls) else v


def known_items(frame: Frame, v: AbstractValue) -> list[AbstractValue] | None:
    """The items of ``v``, if their number is known while tracing; else None."""
    v = inside(frame, v)
    if isinstance(v, View):
        return list(v.now())
    if isinstance(v, Tuple):
        return list(v.items)
    if isinstance(v, Stream):
        found: list[AbstractValue] | None = v.items.all()
        return found
    if isinstance(v, Ref) and v.kind == "list":
        held = heap.contents(frame, v)
        return None if rows.is_growing(held) else list(held.items)
    if isinstance(v, Ref) and v.kind == "dict":
        return [as_value(name) for name in heap.contents(frame, v).form.names]
    if isinstance(v, Ref) and issubclass(v.cls, Pairs):
        both = [items for part in heap.contents(frame, v).items if (items := known_items(frame, part)) is not None]
        if len(both) < 2:
            return None
        return [Tuple(two) for two in zip(*both, strict=True)]
    if isinstance(v, Range):
        bounds = [known_int(b) for b in (v.start, v.stop, v.step)]
        if not v.parallel and None not in bounds and bounds[2] != 0:
            return [Static(k) for k in range(*bounds)]  # type: ignore[arg-type]
    if isinstance(v, Static) and (isinstance(v.value, str | tuple | range) or _is_enum(v.value)):
        return [Static(item) for item in v.value]
    return None


MOST = 64
"""The most items of an array that are taken apart, as in ``f(*x)``."""


def not_known(v: AbstractValue, at: Loc, instead: str) -> AdcError:
    """The refusal to take apart what has a number of items that is not known, or an array of many."""
    if isinstance(v, Array) and v.rank and (count := static_dim(v.dims[0])) is not None:
        message = f"an array of {count} items is not taken apart: at most {MOST} are"
        return refuse(at, message, "use the array as a whole, or loop over it", kind=kinds.UNSUPPORTED_CALL)
    message = f"how many items {describe_type(v)} has is not known when the function is compiled"
    error = refuse(at, message, instead, kind=kinds.UNSUPPORTED_CALL)
    error.of_unknown_size = True
    return error


def _is_enum(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, enum.Enum)


def snapshot(frame: Frame, v: AbstractValue) -> AbstractValue:
    """Lists as tuples of their contents, at every depth: for library functions, which only read them."""
    if isinstance(v, View):
        v = Tuple(v.now())
    if list_pools.is_row(v) or (isinstance(v, Ref) and v.cls in (Deque, LongTuple)):
        v = inside(frame, v)
    if rows.grows(frame, v):
        assert isinstance(v, Ref)
        held = heap.contents(frame, v)
        numbers = growing.as_array(held) or growing.without_none(frame, held) or list_pools.as_table(frame, held)
        return v if numbers is None else lazy_of(numbers)
    if isinstance(v, Ref) and v.kind == "list":
        return Tuple(tuple(snapshot(frame, item) for item in heap.contents(frame, v).items), LIST)
    if isinstance(v, Tuple):
        return v.of(snapshot(frame, item) for item in v.items)
    return v


def as_tuples(v: AbstractValue) -> AbstractValue:
    """The result of ``snapshot`` with tuples instead of lists, to be passed on."""
    if not isinstance(v, Tuple):
        return v
    items = tuple(as_tuples(item) for item in v.items)
    return Tuple(items) if v.form is LIST else v.of(items)


def new_list(frame: Frame, items: Sequence[AbstractValue]) -> Ref:
    return heap.new(frame, LIST, items)


def new_dict(frame: Frame, items: dict[object, AbstractValue]) -> Ref:
    """A dict, which gets keys at run time if the program turned out to compute them."""
    if frame.pools.has_keyed(current_loc()):
        both = (new_list(frame, [as_value(name) for name in items]), new_list(frame, list(items.values())))
        return heap.new(frame, Form("object", Dict, ("names", "held")), both)
    return plain_dict(frame, items)


def plain_dict(frame: Frame, items: dict[object, AbstractValue]) -> Ref:
    """A dict whose keys are known."""
    return heap.new(frame, Form("dict", dict, tuple(items)), items.values())


def as_value(name: object) -> AbstractValue:
    """The key of a dict as a value; tuples of numbers have items."""
    return Tuple(tuple(map(as_value, name))) if type(name) is tuple else Static(name)


def dict_items(frame: Frame, ref: Ref) -> dict[object, AbstractValue]:
    """A dict's items by key, in order."""
    held = heap.contents(frame, ref)
    return dict(zip(held.form.names, held.items, strict=True))


def assign_dict(frame: Frame, ref: Ref, items: dict[object, AbstractValue]) -> None:
    heap.assign(frame, ref, items.values(), Form("dict", dict, tuple(items)))


def is_computed(v: AbstractValue) -> bool:
    """Whether a key depends on the run, and on no parameter that the code can be compiled for."""
    if isinstance(v, Tuple):
        return any(map(is_computed, v.items))
    if isinstance(v, OneOf):
        return all(isinstance(one, Static) for one in v.options)
    return isinstance(v, Scalar) and v.pin is None


def computed_key(frame: Frame, ref: Ref, v: AbstractValue) -> object:
    """As ``constant_key``; a dict that the program made here gets its keys at run time where they are not known."""
    number = frame.given_number(ref)
    if is_computed(v) or (not frame.entry and number is None and _has_pin(v)):
        frame.want_keyed(ref)
    try:
        return constant_key(v)
    except NeedsConstant as need:
        need.keyed = number
        raise


def _has_pin(v: AbstractValue) -> bool:
    return any(map(_has_pin, v.items)) if isinstance(v, Tuple) else isinstance(v, Scalar)


def constant_key(v: AbstractValue) -> object:
    """A key of a dict: it must be known while tracing."""
    if isinstance(v, Tuple):
        return tuple(constant_key(item) for item in v.items)
    if isinstance(v, Static):
        try:
            hash(v.value)
        except TypeError:
            raise refuse(current_loc(), f"{describe_type(v)} cannot be a key", kind=kinds.WRONG_TYPE) from None
        return v.value
    if isinstance(v, Scalar) and (pin := v.pin) is not None:
        return pin()
    raise refuse(
        current_loc(),
        f"the key of a dict must be known when the function is compiled; this is {describe_type(v)}",
        "use a constant, or a list or array with a run-time index",
        kind=kinds.NOT_CONSTANT,
    )
