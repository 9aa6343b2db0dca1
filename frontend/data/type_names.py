"""Types of abstract values in a user's words, for messages."""

from __future__ import annotations

from adc.frontend import abstract
from adc.frontend.data.callables import Bound, Closure, Partial
from adc.frontend.data.compounds import Contents, OneOf, Structured, Text
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Compound,
    Error,
    Lazy,
    Method,
    Range,
    Ref,
    Scalar,
    Static,
    Stream,
    Tuple,
)
from adc.frontend.prelude.python_iterators import Iterator

_MOST_SHOWN = 8  # alternatives


def for_array(*values: AbstractValue | None) -> str:
    """The way out where a list, a tuple or a method without a call is given in place of an array."""
    for v in values:
        if isinstance(v, Method):
            return f"call the method: .{v.name}()"
        if isinstance(v, Tuple) or (isinstance(v, Ref) and v.kind == "list"):
            name = v.form.cls.__name__ if isinstance(v, Tuple) else "list"
            return f"a {name} is not an array: make one of it first, np.asarray(x)"
    return ""


def describe_type(v: AbstractValue) -> str:
    """The type of ``v`` in a user's words: a 2-D float64 array, float, tuple(float, int)."""
    name = _type_name(v)
    return f"a {name}" if isinstance(v, Array | Lazy) else name


def _shown(option: AbstractValue) -> str:
    return str(abstract.Static(option.value)) if isinstance(option, Static) else _type_name(option)


def is_iterator(v: AbstractValue) -> bool:
    """Whether ``iter()`` gave it."""
    return (isinstance(v, Compound) and v.form.cls is Iterator) or (isinstance(v, Ref) and v.cls is Iterator)


def _type_name(v: AbstractValue) -> str:
    if isinstance(v, Static):
        if v.value is None:
            return "None"
        if callable(v.value):
            return f"function {getattr(v.value, '__name__', v.value)}"
        return type(v.value).__name__
    if isinstance(v, Scalar):
        return str(abstract.Scalar(v.dtype, v.weak))
    if isinstance(v, Array | Lazy):
        return abstract.array_name(v.dtype, v.rank)
    if isinstance(v, Closure | Partial):
        return str(v.form)
    if isinstance(v, Tuple) and v.form.kind == "tuple":
        return f"tuple({', '.join(map(_type_name, v.items))})"
    if isinstance(v, Contents) and v.form.kind == "list" and v.form.names:
        return f"list of {v.form.names[0]} of run-time length"
    if isinstance(v, Contents) and v.form.kind == "list":
        return f"list({', '.join(map(_type_name, v.items))})"
    if isinstance(v, Contents) and v.form.kind == "dict":
        return f"dict with the keys {', '.join(map(repr, v.form.names)) or 'none'}"
    if isinstance(v, Text):
        return "str"
    if isinstance(v, OneOf):
        more = len(v.options) - _MOST_SHOWN
        shown = [*map(_shown, v.options[:_MOST_SHOWN]), *([f"{more} others"] if more > 0 else [])]
        return f"one of {', '.join(shown)}"
    if isinstance(v, Bound):
        return f"method {_type_name(v.function).removeprefix('function ')}"
    if isinstance(v, Structured):
        return "an element of a structured array" if v.rank is None else "a structured array"
    if is_iterator(v):
        return "an iterator"
    if isinstance(v, Compound):
        return v.form.cls.__name__
    if isinstance(v, Ref):
        return v.cls.__name__
    if isinstance(v, Method):
        return f"method {v.name}"
    if isinstance(v, Range):
        return "range"
    if isinstance(v, Stream):
        return v.name
    if isinstance(v, Error):
        return v.cls.__name__
    return type(v).__name__.lower()
