"""Instances of classes: attributes, methods, properties, operators."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Hashable, Sequence
from typing import Any

from adc.frontend import forms
from adc.frontend.data.callables import bound
from adc.frontend.data.compounds import Handle
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.unusable import Unusable
from adc.frontend.data.values import NONE, AbstractValue, Compound, Method, Ref, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.forms import Form
from adc.frontend.frame import Frame
from adc.frontend.looks import ABSENT, ClassVariable
from adc.frontend.names import attribute_of, external
from adc.frontend.objects import heap, pools
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.lazy_dataclass import dataclass

_NAMEDTUPLE_METHODS = ("_replace", "_asdict", "index", "count")


@dataclass(frozen=True, eq=False)
class Super(AbstractValue):
    """``super()``: attributes of ``owner`` are looked up in the classes after ``after``."""

    owner: AbstractValue
    after: type


@dataclass(frozen=True)
class GeneratedInit:
    """The ``__init__`` that ``dataclass`` made for a class: it has no source, but its effect is known."""

    cls: type

    def __call__(self) -> None:
        """Never called: the tracer knows what it does."""


def is_instance(v: AbstractValue) -> bool:
    """Whether ``v`` is an instance of a class of the user's (namedtuples included)."""
    if isinstance(v, Ref):
        return v.kind == "object"
    kinds_of = ("record", "namedtuple", "handle")
    return isinstance(v, Compound) and v.form.kind in kinds_of and v.form.cls is not types.MethodType


def used(cls: type, name: object, item: AbstractValue) -> AbstractValue:
    """A field's value for a use; refused if it is not usable."""
    if isinstance(item, Static) and isinstance(item.value, Unusable):
        message = f"the attribute '{name}' of {cls.__name__} cannot be used here: {item.value.reason}"
        raise refuse(current_loc(), message, item.value.help, kind=kinds.UNSUPPORTED_VALUE)
    return item


def held_by(frame: Frame, v: AbstractValue) -> Compound:
    """The fields of an instance as they are now, for a use of all of them."""
    held = fields_of(frame, v)
    for name, item in zip(held.form.names, held.items, strict=True):
        used(class_of(v), name, item)
    return held


def fields_of(frame: Frame, v: AbstractValue) -> Compound:
    """The fields of an instance as they are now; some may be unusable."""
    if isinstance(v, Ref):
        return heap.contents(frame, v)
    assert isinstance(v, Compound)
    return pools.fields(frame, v) if isinstance(v, Handle) else v


def names_of(frame: Frame, v: AbstractValue) -> tuple[Hashable, ...]:
    """The names of the fields that an instance has now."""
    return pools.names(frame, v) if isinstance(v, Handle) else fields_of(frame, v).form.names


def _field(frame: Frame, v: AbstractValue, name: str) -> AbstractValue:
    if isinstance(v, Handle):
        return pools.field(frame, v, name)
    held = fields_of(frame, v)
    return held.items[held.form.names.index(name)]


def class_of(v: AbstractValue) -> type:
    return v.cls if isinstance(v, Ref) else v.form.cls  # type: ignore[attr-defined]


# Attributes -----------------------------------------------------------------------------------------------------------


def _member(frame: Frame, cls: type, name: str) -> tuple[Any, type]:
    """What instances of a class find under a name in the class. The code then depends on the class having no methods
    that change this lookup."""
    for special in forms.SPECIAL:
        frame.tracer.looks.member(cls, special)
    return frame.tracer.looks.member(cls, name)


def attribute(frame: Frame, owner: AbstractValue, name: str) -> AbstractValue:
    """``owner.name`` of an instance: a field, a property's value, a bound method or a class attribute."""
    if isinstance(owner, Super):
        return _of_class(frame, owner.owner, name, *frame.tracer.looks.member(class_of(owner.owner), name, owner.after))
    cls = class_of(owner)
    found, where = _member(frame, cls, name)
    if isinstance(found, property):
        return _of_class(frame, owner, name, found, where)
    if name in names_of(frame, owner):
        return used(cls, name, _field(frame, owner, name))
    if isinstance(owner, Tuple) and name in _NAMEDTUPLE_METHODS:
        return Method(owner, name)
    if name == "__class__":
        return Static(cls)
    return _of_class(frame, owner, name, found, where)


def plain_field(frame: Frame, owner: AbstractValue, name: str) -> bool:
    """Whether ``owner.name`` is a field of an instance that is not hidden by a property."""
    found, _ = _member(frame, class_of(owner), name)
    return not isinstance(found, property) and name in names_of(frame, owner)


def has_attribute(frame: Frame, owner: AbstractValue, name: str) -> bool:
    found, where = _member(frame, class_of(owner), name)
    if found is not ABSENT:
        frame.tracer.looks.at(f"{where.__name__}.{name}", ClassVariable(where, name), found)
    if name in names_of(frame, owner):
        return True
    return found is not ABSENT and not isinstance(found, types.MemberDescriptorType)


def _of_class(frame: Frame, owner: AbstractValue, name: str, found: Any, where: type) -> AbstractValue:
    cls = class_of(owner)
    if found is ABSENT or isinstance(found, types.MemberDescriptorType):
        own = getattr(cls, "stands_for", None)  # of Python's containers, not what stands for them
        there = dir(cls) if own is None else sorted({*dir(cls)} & {*dir(own)})
        known = (*(names_of(frame, owner) if own is None else ()), *(n for n in there if not n.startswith("_")))
        declared = name in forms.field_names(cls) or found is not ABSENT
        what = f"the field '{name}' of {cls.__name__} is not set" if declared else f"{cls.__name__} has no '{name}'"
        raise refuse(
            current_loc(), what, f"it has {', '.join(map(str, known))}" if known else "", kind=kinds.UNKNOWN_ATTRIBUTE
        )
    if isinstance(found, property):
        if found.fget is None:
            raise refuse(
                current_loc(), f"the property '{name}' of {cls.__name__} cannot be read", kind=kinds.UNKNOWN_ATTRIBUTE
            )
        return frame.tracer.call(frame, class_function(frame, where, name, found, found.fget), [owner], {})
    if isinstance(found, functools.cached_property):
        return _cached(frame, owner, name, class_function(frame, where, name, found, found.func))
    shared = _shared(frame, cls, name, found, where)
    if shared is not None:
        return shared
    if name == "__init__" and generated_init(where):
        return bound(owner, class_function(frame, where, name, found, GeneratedInit(where)))
    routine = isinstance(found, types.FunctionType) or hasattr(found, "__wrapped__") or inspect.isroutine(found)
    if routine and not isinstance(found, functools.partial):
        return bound(owner, class_function(frame, where, name, found, found))
    variable = ClassVariable(where, name)
    return external(frame, found, ("class", id(where), name), f"{where.__name__}.{name}", variable)


def _cached(frame: Frame, owner: AbstractValue, name: str, function: Static) -> AbstractValue:
    """A ``cached_property`` that is read for the first time: its value becomes an attribute of the object, as in
    Python."""
    if isinstance(owner, Handle):
        raise refuse(
            current_loc(),
            f"the cached_property '{name}' of an object in a list whose length depends on the run is not supported",
            "make it a property",
            kind=kinds.UNSUPPORTED_TARGET,
        )
    if not isinstance(owner, Ref):
        return frame.tracer.call(frame, function, [owner], {})
    if owner.protected:
        raise refuse(
            current_loc(),
            f"the cached_property '{name}' has not been computed yet, and would be kept in an object from outside",
            f"read .{name} once before the call, or pass the object as an argument",
            kind=kinds.UNSUPPORTED_TARGET,
        )
    value = frame.tracer.call(frame, function, [owner], {})
    store_field(frame, owner, name, value)
    return value


def class_attribute(frame: Frame, cls: type, name: str) -> AbstractValue:
    """``cls.name``."""
    shared = _shared(frame, cls, name, *frame.tracer.looks.member(cls, name))
    return attribute_of(frame, cls, name) if shared is None else shared


def _shared(frame: Frame, cls: type, name: str, found: Any, where: type) -> AbstractValue | None:
    """A static method or a class method, inside ``jit_grad`` or around it; None for anything else."""
    binding = getattr(found, "__adc_binding__", "") if type(found).__module__.split(".")[0] == "adc" else ""
    function = found
    if isinstance(found, staticmethod | classmethod):
        function, binding = found.__func__, type(found).__name__
    if not binding:
        return None
    made = class_function(frame, where, name, found, function)
    return made if binding == "staticmethod" else bound(Static(cls), made)


def class_function(frame: Frame, where: type, name: str, found: Any, function: Any) -> Static:
    if where.__module__ != "builtins":
        frame.tracer.looks.at(f"{where.__name__}.{name}", ClassVariable(where, name), found)
    return Static(function)


def method(frame: Frame, owner: AbstractValue, name: str) -> AbstractValue | None:
    """A special method of an instance, if its class defines it."""
    if not is_instance(owner):
        return None
    found, where = frame.tracer.looks.member(class_of(owner), name)
    if found is ABSENT or where in (object, tuple) or not inspect.isroutine(found):
        return None
    if _is_generated(found):
        return None
    shared = _shared(frame, class_of(owner), name, found, where)
    if shared is not None:
        return shared
    return bound(owner, class_function(frame, where, name, found, found))


def _is_generated(found: object) -> bool:
    """Whether a method was generated by dataclass or namedtuple."""
    found = getattr(found, "__wrapped__", found)
    return isinstance(found, types.FunctionType) and found.__code__.co_filename == "<string>"


def generated(frame: Frame, v: AbstractValue, name: str) -> type | None:
    """The dataclass for which the special method ``name`` was generated, if instances like ``v`` use that method."""
    if not is_instance(v) or isinstance(v, Tuple):
        return None
    found, where = frame.tracer.looks.member(class_of(v), name)
    if "__dataclass_fields__" not in vars(where) or not _is_generated(found):
        return None
    class_function(frame, where, name, found, found)
    return where


def set_attribute(frame: Frame, owner: AbstractValue, name: str, value: AbstractValue) -> AbstractValue:
    """``owner.name = value``."""
    if not is_instance(owner):
        raise refuse(
            current_loc(),
            f"attributes of {describe_type(owner)} cannot be assigned",
            "use a local variable",
            kind=kinds.UNSUPPORTED_TARGET,
        )
    cls = class_of(owner)
    found, where = _member(frame, cls, name)
    if isinstance(found, property):
        if found.fset is None:
            raise refuse(
                current_loc(), f"the property '{name}' of {cls.__name__} has no setter", kind=kinds.UNKNOWN_ATTRIBUTE
            )
        frame.tracer.call(frame, class_function(frame, where, name, found, found.fset), [owner, value], {})
        return NONE
    if not isinstance(owner, Ref | Handle) or forms.is_frozen(cls):
        what = "a frozen dataclass" if forms.is_frozen(cls) else "a namedtuple"
        help = "make a new one with dataclasses.replace()" if forms.is_frozen(cls) else "make a new one with _replace()"
        raise refuse(
            current_loc(),
            f"cannot assign to field '{name}' of {cls.__name__}, {what}",
            help,
            kind=kinds.UNSUPPORTED_TARGET,
        )
    store_field(frame, owner, name, value)
    return NONE


def store_field(frame: Frame, owner: Ref | Handle, name: str, value: AbstractValue) -> None:
    """Set a field, as ``object.__setattr__`` does."""
    if isinstance(owner, Handle):
        pools.store(frame, owner, name, value)
        return
    held = heap.contents(frame, owner)
    names = held.form.names
    if name in names:
        at = names.index(name)
        heap.assign(frame, owner, (*held.items[:at], value, *held.items[at + 1 :]))
        return
    if not forms.may_have(owner.cls, name):
        raise refuse(
            current_loc(), f"{owner.cls.__name__} has __slots__ and no attribute '{name}'", kind=kinds.UNKNOWN_ATTRIBUTE
        )
    heap.assign(frame, owner, (*held.items, value), Form("object", owner.cls, (*names, name)))


def generated_init(cls: type) -> bool:
    """Whether the ``__init__`` in a class was made by ``dataclass``."""
    init = vars(cls).get("__init__")
    return (
        "__dataclass_fields__" in vars(cls)
        and getattr(init, "__code__", None) is not None
        and (
            init.__code__.co_filename == "<string>"  # type: ignore[union-attr]
        )
    )


def super_of(frame: Frame, args: Sequence[AbstractValue]) -> Super:
    """``super()`` within a method, or ``super(C, owner)``."""
    if len(args) == 2 and isinstance(args[0], Static) and is_instance(args[1]):
        cls = args[0].value
        if isinstance(cls, type) and issubclass(class_of(args[1]), cls):
            return Super(args[1], cls)
    cell = frame.cells.get("__class__")
    node = frame.source.node
    first = [*node.args.posonlyargs, *node.args.args][:1]
    if args or cell is None or not first:
        message = "super() is supported without arguments in a method, or with a class and an object of it"
        raise refuse(current_loc(), message, kind=kinds.WRONG_CALL)
    owner = frame.env.get(first[0].arg)
    if owner is None or not is_instance(owner):
        raise refuse(current_loc(), "super() needs the method's object", kind=kinds.WRONG_TYPE)
    return Super(owner, cell.cell_contents)


# Operators ------------------------------------------------------------------------------------------------------------

_SPECIAL = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
    "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


def operate(frame: Frame, symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``a symbol b`` by a special method of either; None if there is none."""
    own = method(frame, a, f"__{_SPECIAL[symbol]}__")
    if own is not None:
        return frame.tracer.call(frame, own, [b], {})
    if symbol in _SWAPPED:
        other = method(frame, b, f"__{_SPECIAL[_SWAPPED[symbol]]}__")
    else:
        other = method(frame, b, f"__r{_SPECIAL[symbol]}__")
    return None if other is None else frame.tracer.call(frame, other, [a], {})


def operate_in_place(frame: Frame, symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``a symbol= b`` by its special method."""
    own = method(frame, a, f"__i{_SPECIAL[symbol]}__")
    return None if own is None else frame.tracer.call(frame, own, [b], {})


def operate_unary(frame: Frame, symbol: str, a: AbstractValue) -> AbstractValue | None:
    own = method(frame, a, _UNARY[symbol])
    return None if own is None else frame.tracer.call(frame, own, [], {})
