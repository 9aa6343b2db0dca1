"""Built-in and library functions that create containers, or ask about the type or identity of objects."""

from __future__ import annotations

import collections
import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend import iteration
from adc.frontend.arrays import arrays
from adc.frontend.containers import keys, making, records, sequences
from adc.frontend.data.callables import Bound, Closure, Partial
from adc.frontend.data.compounds import Handle, SliceObject
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    NONE,
    AbstractValue,
    Array,
    Compound,
    Lazy,
    Method,
    Range,
    Ref,
    Scalar,
    Static,
    Stream,
    Tuple,
    is_dict,
)
from adc.frontend.errors import refuse
from adc.frontend.forms import SLICE
from adc.frontend.frame import Frame
from adc.frontend.libraries.attributes import attribute
from adc.frontend.libraries.container_methods import extend, pairs
from adc.frontend.libraries.rules import Rule, positional, static_of, take
from adc.frontend.numeric import scalars
from adc.frontend.objects import growing, heap, list_pools, pools, rows
from adc.frontend.prelude import python_dicts
from adc.frontend.prelude.python_collections import Held
from adc.frontend.prelude.python_dicts import Dict
from adc.ir import kinds, ops
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i1


def items_or_refuse(frame: Frame, name: str, v: AbstractValue) -> list[AbstractValue]:
    """The items of ``v``; refused if their number is not known."""
    items = sequences.known_items(frame, v)
    if items is None:
        raise refuse(
            current_loc(),
            f"{name}() of {describe_type(v)}: the number of items must be known when the function is compiled",
            "use an array, and a loop over its subscripts",
            kind=kinds.NOT_ITERABLE,
        )
    return items


def _list(frame: Frame, x: AbstractValue | None = None) -> AbstractValue:
    made = sequences.new_list(frame, [])
    if x is not None:
        extend(frame, made, x)
    return made


def stored(frame: Frame, x: AbstractValue) -> AbstractValue:
    """An iterable as a value that can be passed on."""
    return _list(frame, x) if isinstance(x, Stream | Range) else arrays.settled(frame, x)


def _has_keys_of_the_run(frame: Frame, v: AbstractValue) -> bool:
    """Whether a dict is made of something with keys, or a number of them, that the run computes."""
    if is_dict(v):
        return False
    if rows.grows(frame, v) or (isinstance(v, Ref) and issubclass(v.cls, Held)):
        return True
    if isinstance(v, Stream):
        return isinstance(v.items, iteration.Indexed) and v.items.known is None
    items = sequences.known_items(frame, v)
    two = [sequences.known_items(frame, item) for item in items or ()]
    return any(pair is not None and len(pair) == 2 and sequences.is_computed(pair[0]) for pair in two)


def _dict(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    args = [sequences.plain(frame, a) for a in args]
    if len(args) == 1 and _has_keys_of_the_run(frame, args[0]):
        made = keys.new(frame, [])
        frame.tracer.call(frame, Static(Dict.update), [made, stored(frame, args[0])], kwargs)
        return made
    items: dict[object, AbstractValue] = {}
    for x in args:
        items |= pairs(frame, x)
    return sequences.new_dict(frame, items | dict(kwargs))


def _fromkeys(frame: Frame, x: AbstractValue, value: AbstractValue = NONE) -> AbstractValue:
    """``dict.fromkeys(x, value)``."""
    items = iteration.all_of(frame, x)
    if items is not None and not any(map(sequences.is_computed, items)):
        return sequences.new_dict(frame, {sequences.constant_key(item): value for item in items})
    made = keys.new(frame, [])
    frame.tracer.call(frame, Static(python_dicts.fill_keys), [made, stored(frame, x), value], {})
    return made


_named: dict[tuple[object, ...], type] = {}  # classes that compiled functions make


def _namedtuple(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``collections.namedtuple(name, fields)``, made when the function is compiled."""
    name, fields, *more = (python_value(frame, v) for v in args)
    options = {key: python_value(frame, v) for key, v in kwargs.items()}
    fields = fields if isinstance(fields, str) else tuple(fields)
    key = (str(current_loc()), name, fields, *more, *(item for pair in options.items() for item in pair))
    if key not in _named:
        _named[key] = collections.namedtuple(name, fields, *more, **options)
        _named[key].__module__ = frame.module_globals.get("__name__", "__main__")
    return Static(_named[key])


def python_value(frame: Frame, v: AbstractValue) -> Any:
    """A value that is known when the function is compiled, with tuples for lists."""
    items = sequences.known_items(frame, v) if isinstance(v, Tuple | Ref) else None
    return static_of(v, "what a class is made of") if items is None else tuple(python_value(frame, i) for i in items)


def _slice(frame: Frame, *bounds: AbstractValue) -> AbstractValue:
    start, stop, step = (NONE, *bounds, NONE) if len(bounds) == 1 else (*bounds, *[NONE] * (3 - len(bounds)))
    if all(isinstance(part, Static) for part in (start, stop, step)):
        return Static(slice(*(part.value for part in (start, stop, step))))  # type: ignore[attr-defined]
    return SliceObject((start, stop, step), SLICE)


def _hasattr(frame: Frame, x: AbstractValue, name: AbstractValue) -> AbstractValue:
    wanted = str(static_of(name, "the name of an attribute"))
    if records.is_instance(x):
        return Static(records.has_attribute(frame, x, wanted))
    if isinstance(x, Static):
        return Static(frame.tracer.looks.has(x.value, wanted))
    from adc.frontend.libraries.library_builtins import asked_type

    return Static(hasattr(asked_type(frame, x), wanted))


def _callable(frame: Frame, x: AbstractValue) -> AbstractValue:
    if isinstance(x, Static):
        return Static(callable(x.value))
    known = isinstance(x, Bound | Closure | Method | Partial)
    return Static(known or records.method(frame, x, "__call__") is not None)


def _getattr(
    frame: Frame, x: AbstractValue, name: AbstractValue, default: AbstractValue | None = None
) -> AbstractValue:
    if default is not None:
        found = _hasattr(frame, x, name)
        assert isinstance(found, Static)
        if not found.value:
            return default
    return attribute(frame, x, str(static_of(name, "the name of an attribute")))


def _setattr(frame: Frame, x: AbstractValue, name: AbstractValue, value: AbstractValue) -> AbstractValue:
    records.set_attribute(frame, x, str(static_of(name, "the name of an attribute")), arrays.settled(frame, value))
    return NONE


def _object_setattr(frame: Frame, x: AbstractValue, name: AbstractValue, value: AbstractValue) -> AbstractValue:
    if not isinstance(x, Ref) or x.kind != "object":
        raise refuse(
            current_loc(),
            f"object.__setattr__ of {describe_type(x)} is supported while it is made only",
            kind=kinds.WRONG_TYPE,
        )
    records.store_field(frame, x, str(static_of(name, "the name of an attribute")), arrays.settled(frame, value))
    return NONE


def _replace(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    if len(args) != 1 or not records.is_instance(args[0]) or not dataclasses.is_dataclass(records.class_of(args[0])):
        raise refuse(current_loc(), "dataclasses.replace() takes a dataclass and keywords", kind=kinds.WRONG_TYPE)
    return making.replaced(frame, args[0], {n: arrays.settled(frame, v) for n, v in kwargs.items()})


def _astuple(frame: Frame, x: AbstractValue) -> AbstractValue:
    def deep(v: AbstractValue) -> AbstractValue:
        if records.is_instance(v) and not isinstance(v, Tuple):
            return Tuple(tuple(deep(item) for item in records.held_by(frame, v).items))
        return v

    return deep(x)


def _asdict(frame: Frame, x: AbstractValue) -> AbstractValue:
    def deep(v: AbstractValue) -> AbstractValue:
        if records.is_instance(v) and not isinstance(v, Tuple):
            held = records.held_by(frame, v)
            return sequences.new_dict(frame, dict(zip(held.form.names, map(deep, held.items), strict=True)))
        return v

    return deep(x)


def _copy(frame: Frame, x: AbstractValue) -> AbstractValue:
    if list_pools.is_row(x):
        return list_pools.items(frame, x)
    if isinstance(x, Ref):
        held = growing.copy(frame, heap.contents(frame, x))
        return heap.new(frame, held.form, held.items)
    if isinstance(x, Handle):
        fields = pools.fields(frame, x)
        return heap.new(frame, fields.form, fields.items)
    return _copied_array(frame, x)


def _deepcopy(frame: Frame, x: AbstractValue) -> AbstractValue:
    done: dict[str, Ref] = {}

    def deep(v: AbstractValue) -> AbstractValue:
        if isinstance(v, Ref):
            if v.key not in done:
                held = growing.copy(frame, heap.contents(frame, v))
                done[v.key] = heap.reference(frame, held.form)
                plain = Array if rows.is_growing(held) else ()  # the columns have been copied
                items = (item if isinstance(item, plain) else deep(item) for item in held.items)
                frame.env[done[v.key].key] = held.of(items)
            return done[v.key]
        if isinstance(v, Compound):
            return v.of(deep(item) for item in v.items)
        return _copied_array(frame, v)

    if list_pools.is_row(x):
        return deep(list_pools.items(frame, x))
    if isinstance(x, Handle):
        fields = pools.fields(frame, x)
        return heap.new(frame, fields.form, [deep(item) for item in fields.items])
    return deep(x)


def _copied_array(frame: Frame, v: AbstractValue) -> AbstractValue:
    from adc.frontend.libraries.memory_order import copy as copy_array

    return copy_array(frame, v) if isinstance(v, Array | Lazy) else v


def _enumerate(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    x, start = take("enumerate", ("iterable", "start"), args, kwargs)
    assert x is not None
    return iteration.enumerated(frame, x, start or Static(0))


def _zip(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    if set(kwargs) - {"strict"}:
        raise refuse(current_loc(), "zip() takes sequences and strict", kind=kinds.WRONG_CALL)
    return iteration.zipped(frame, args, "strict" in kwargs and bool(static_of(kwargs["strict"], "strict")))


def _every(stop: bool) -> Rule:
    """``any`` and ``all`` of known items."""

    def rule(frame: Frame, x: AbstractValue) -> AbstractValue:
        result: bool | Value = not stop
        for item in items_or_refuse(frame, "any" if stop else "all", x):
            known = scalars.truth(item) if isinstance(item, Scalar | Static) else arrays.truth(item)
            if known is stop:
                return Static(stop)
            if not isinstance(known, bool):
                result = known if isinstance(result, bool) else (ops.ori if stop else ops.andi)(result, known)
        return Static(result) if isinstance(result, bool) else Scalar(result, i1)

    return positional("any" if stop else "all", 1, rule)


def _super(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    return records.super_of(frame, args)


def _object_init(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    return NONE


def _fields(frame: Frame, x: AbstractValue) -> AbstractValue:
    cls = records.class_of(x) if records.is_instance(x) else static_of(x, "a dataclass")
    return Tuple(tuple(Static(f) for f in dataclasses.fields(cls)))


TABLE: dict[Any, Rule] = {
    list: positional("list", range(2), _list),
    dict: _dict,
    dict.fromkeys: positional("dict.fromkeys", range(1, 3), _fromkeys),
    collections.namedtuple: _namedtuple,
    slice: positional("slice", range(1, 4), _slice),
    callable: positional("callable", 1, _callable),
    hasattr: positional("hasattr", 2, _hasattr),
    getattr: positional("getattr", range(2, 4), _getattr),
    object.__getattribute__: positional("object.__getattribute__", 2, _getattr),
    setattr: positional("setattr", 3, _setattr),
    object.__setattr__: positional("object.__setattr__", 3, _object_setattr),
    object.__init__: _object_init,
    super: _super,
    dataclasses.replace: _replace,
    dataclasses.astuple: positional("dataclasses.astuple", 1, _astuple),
    dataclasses.asdict: positional("dataclasses.asdict", 1, _asdict),
    dataclasses.fields: positional("dataclasses.fields", 1, _fields),
    copy.copy: positional("copy.copy", 1, _copy),
    copy.deepcopy: positional("copy.deepcopy", 1, _deepcopy),
    enumerate: _enumerate,
    zip: _zip,
    reversed: positional("reversed", 1, iteration.backwards),
    any: _every(True),
    all: _every(False),
}
BY_IDENTITY = frozenset({*TABLE, isinstance, type, tuple, len})
