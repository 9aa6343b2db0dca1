"""Creating instances of classes: dataclasses, namedtuples, other classes."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import Any

from adc.frontend import forms
from adc.frontend.containers.records import class_function, class_of, fields_of, generated_init, store_field
from adc.frontend.data.compounds import Record
from adc.frontend.data.values import NONE, AbstractValue, Ref, Static, Stream, Tuple, needed_int
from adc.frontend.errors import refuse
from adc.frontend.forms import Form
from adc.frontend.frame import Frame
from adc.frontend.looks import ABSENT, Object
from adc.frontend.names import external
from adc.frontend.objects import heap
from adc.frontend.prelude.python_collections import Deque, FrozenSet, Held, LongTuple, Set
from adc.frontend.prelude.python_dicts import Counter, DefaultDict, Dict, Keys, Pairs, Values
from adc.frontend.prelude.python_iterators import Iterator
from adc.ir import kinds
from adc.ir.builder import current_loc

_HELD: tuple[type[Held], ...] = (Deque, FrozenSet, Set, DefaultDict, Counter)
_PARTS = (Dict, Keys, LongTuple, Pairs, Values, Iterator)  # which programs do not make by name
STAND_INS: dict[type, type] = {key: cls for cls in _HELD for key in (cls, cls.stands_for)}


def takes_items(value: object) -> bool:
    """Whether ``value`` is a class of containers that are made of any number of items."""
    return isinstance(value, type) and value in STAND_INS and not issubclass(STAND_INS[value], DefaultDict)


def is_class(value: object) -> bool:
    """Whether calling ``value`` makes an instance that the tracer can follow."""
    if isinstance(value, type) and (value in STAND_INS or value in _PARTS):
        return True
    try:
        return isinstance(value, type) and forms.kind_of_class(value) in ("namedtuple", "record", "object")
    except forms.Unsuitable as reason:
        help = "make it outside, as an array of NumPy's" if reason.help else "use a dataclass, a list or a dict"
        raise refuse(current_loc(), str(reason), help, kind=kinds.WRONG_TYPE) from None


def has_own_init(value: object) -> bool:
    """Whether this is a class of the program with an ``__init__`` that it has written."""
    if not isinstance(value, type) or value in STAND_INS or issubclass(value, tuple) or not is_class(value):
        return False
    return isinstance(value.__init__, types.FunctionType) and not dataclasses.is_dataclass(value)


def construct(
    frame: Frame, cls: type, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue:
    """``cls(*args, **kwargs)``."""
    if cls in STAND_INS:
        cls = STAND_INS[cls]
        if issubclass(cls, DefaultDict):
            held = frame.tracer.call(frame, Static(dict), args[1:], kwargs)
            args, kwargs = [held, *args[:1]], {}
        elif issubclass(cls, Counter):
            listed = [frame.tracer.call(frame, Static(list), [a], {}) if isinstance(a, Stream) else a for a in args]
            args = [frame.tracer.call(frame, Static(dict), [], {}), *listed]
        else:
            args = [frame.tracer.call(frame, Static(list), args[:1], {}), *args[1:]]
        if cls is Deque and "room" not in kwargs and len(args) < 3:
            most = needed_int(kwargs.get("maxlen", args[1] if len(args) > 1 else NONE))
            kwargs = kwargs if most is None else {**kwargs, "room": Tuple((NONE,) * most)}
    made, where = frame.tracer.looks.member(cls, "__new__")
    if issubclass(cls, tuple):
        return _named_tuple(frame, cls, args, kwargs)
    if cls is types.SimpleNamespace and not args:
        return heap.new(frame, Form("object", cls, tuple(kwargs)), tuple(kwargs.values()))
    if where is not object and made is not ABSENT and where.__module__ not in ("typing", "abc"):
        raise refuse(
            current_loc(), f"{cls.__name__} has a __new__ of its own, which is not supported", kind=kinds.WRONG_TYPE
        )
    if inspect.isabstract(cls):
        raise refuse(current_loc(), f"{cls.__name__} is abstract and cannot be instantiated", kind=kinds.INVALID_VALUE)
    ref = heap.new(frame, Form("object", cls, ()), ())
    found, where = frame.tracer.looks.member(cls, "__init__")
    if where is object:
        if args or kwargs:
            raise refuse(current_loc(), f"{cls.__name__}() takes no arguments", kind=kinds.WRONG_CALL)
    elif generated_init(where):
        class_function(frame, where, "__init__", found, found)
        generated(frame, where, [ref, *args], kwargs)
    else:
        frame.tracer.call(frame, class_function(frame, where, "__init__", found, found), [ref, *args], kwargs)
    if forms.kind_of_class(cls) == "record":
        held = heap.contents(frame, ref)
        return Record(held.items, Form("record", cls, held.form.names))
    return ref


def generated(frame: Frame, cls: type, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> Static:
    """The effect of the generated ``__init__`` of a dataclass."""
    ref = args[0]
    assert isinstance(ref, Ref)
    every = [f for f in vars(cls)["__dataclass_fields__"].values() if f._field_type is not dataclasses._FIELD_CLASSVAR]  # type: ignore[attr-defined]
    taken = [f for f in every if f.init]
    positional = [f.name for f in taken if not f.kw_only]
    given = _given(cls, positional, [f.name for f in taken], args[1:], kwargs)
    only_init: list[AbstractValue] = []
    for f in every:
        initial_only = f._field_type is dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]
        if f.name in given:
            value = given[f.name]
        elif f.default is not dataclasses.MISSING:
            value = _default(frame, cls, f)
        elif f.default_factory is not dataclasses.MISSING:
            value = frame.tracer.call(frame, Static(f.default_factory), [], {})
        elif f.init:
            raise refuse(current_loc(), f"{cls.__name__}() is missing the argument '{f.name}'", kind=kinds.WRONG_CALL)
        else:
            continue
        if initial_only:
            only_init.append(value)
        else:
            store_field(frame, ref, f.name, value)
    found, where = frame.tracer.looks.member(ref.cls, "__post_init__")
    if found is not ABSENT:
        frame.tracer.call(frame, class_function(frame, where, "__post_init__", found, found), [ref, *only_init], {})
    return NONE


def _default(frame: Frame, cls: type, f: dataclasses.Field[Any]) -> AbstractValue:
    # The default of the parameter counts, which may have been replaced.
    value = defaults_of(frame, vars(cls)["__init__"]).get(f.name, f.default) if f.init else f.default
    if value is None or isinstance(value, bool | int | float | str):
        return Static(value)
    return external(frame, value, ("default", id(cls), f.name), f.name, Object(value))


def defaults_of(frame: Frame, function: Any) -> dict[str, Any]:
    """The defaults of a function's parameters."""
    frame.tracer.looks.function(function)
    code, given = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return dict(zip(names[len(names) - len(given) :], given, strict=True)) | (function.__kwdefaults__ or {})


def _given(
    cls: type,
    positional: Sequence[str],
    known: Sequence[str],
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
) -> dict[str, AbstractValue]:
    name = cls.__name__
    if len(args) > len(positional):
        raise refuse(
            current_loc(),
            f"{name}() takes {len(positional)} arguments but {len(args)} were given",
            kind=kinds.WRONG_CALL,
        )
    given = dict(zip(positional, args, strict=False))
    for key, value in kwargs.items():
        if key not in known:
            raise refuse(
                current_loc(),
                f"{name}() has no parameter '{key}'",
                f"it takes {', '.join(known)}",
                kind=kinds.WRONG_CALL,
            )
        if key in given:
            raise refuse(current_loc(), f"{name}() got two values for '{key}'", kind=kinds.WRONG_CALL)
        given[key] = value
    return given


def _named_tuple(
    frame: Frame, cls: Any, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue:
    fields: tuple[str, ...] = cls._fields
    given = _given(cls, fields, fields, args, kwargs)
    made, _ = frame.tracer.looks.member(cls, "__new__")
    # NumPy's change only with its version. Besides, another process could not find their functions by name.
    noted = isinstance(made, staticmethod) and cls.__module__.split(".")[0] != "numpy"
    defaults = defaults_of(frame, made.__func__) if noted else cls._field_defaults
    items = []
    for name in fields:
        if name not in given and name not in defaults:
            raise refuse(current_loc(), f"{cls.__name__}() is missing the argument '{name}'", kind=kinds.WRONG_CALL)
        if name in given:
            items.append(given[name])
        else:
            default = defaults[name]
            items.append(external(frame, default, ("default", id(cls), name), name, Object(default)))
    return Tuple(tuple(items), Form("namedtuple", cls, fields))


def replaced(frame: Frame, owner: AbstractValue, changes: Mapping[str, AbstractValue]) -> AbstractValue:
    """``dataclasses.replace(owner, **changes)`` or ``owner._replace(**changes)``."""
    held, cls = fields_of(frame, owner), class_of(owner)
    own = dict(zip(map(str, held.form.names), held.items, strict=True))
    if issubclass(cls, tuple):
        fields = list(own)
    else:
        every: tuple[dataclasses.Field[Any], ...] = cls.__dataclass_fields__.values()  # type: ignore[attr-defined]
        fields = [f.name for f in every if f.init]
    for name in changes:
        if name not in fields:
            raise refuse(
                current_loc(),
                f"{cls.__name__} has no field '{name}'",
                f"it has {', '.join(fields)}",
                kind=kinds.WRONG_TYPE,
            )
    return construct(frame, cls, [], {n: own[n] for n in fields if n in own} | dict(changes))
