"""The alternatives of a value that is one of several constants, functions or other values, by distinguishing keys."""

from __future__ import annotations

from collections.abc import Hashable

from adc.frontend import abstract
from adc.frontend.data.compounds import OneOf
from adc.frontend.data.described import Maybe, Same, describe, is_member, is_slice, key_of, widen
from adc.frontend.data.values import AbstractValue, Ref, is_number
from adc.frontend.forms import BOUND, COMPLEX


def is_complex_type(a: abstract.Abstract) -> bool:
    if isinstance(a, abstract.Static):
        return type(a.value) in COMPLEX
    return isinstance(a, abstract.Tuple) and a.form.kind == "complex"


Alternatives = dict[Hashable, abstract.Abstract]
MOST_NESTED = 8  # functions in functions among alternatives, as made by a loop that wraps a function in each iteration


def alternatives(a: abstract.Abstract) -> Alternatives:
    """The constants and functions that a value of type ``a`` may be, by key; empty if it is another kind of value.
    Numbers have types of their own and do not count, except members of enums, and True and False beside other
    constants."""
    if isinstance(a, abstract.Static):
        return {} if is_complex_type(a) or (is_number(a.value) and not is_bool(a) and not is_member(a)) else {a: a}
    if isinstance(a, abstract.Tuple) and a.form.kind == "choice":
        return dict(zip(a.form.names, a.items[1:], strict=True))
    return {key_of(a): a} if is_slice(a) or (is_function(a) and can_move(a)) else {}


NONE_TYPE = abstract.Static(None)


def beside_none(a: abstract.Abstract) -> Alternatives:
    """A number, an array, or a tuple of these as an alternative to None, and to nothing else: ``best = None`` before a
    loop that sets it."""
    a = widen(a)
    leaf = isinstance(a, abstract.Scalar | abstract.Array)
    whole = isinstance(a, abstract.Tuple) and a.form.kind in ("tuple", "namedtuple", "complex", "handle")
    return {key_of(a): a} if leaf or (whole and can_move(a)) else {}


def options_of(v: AbstractValue) -> dict[Hashable, AbstractValue]:
    """The constants and functions that a value may be, by key."""
    return dict(zip(v.form.names, v.options, strict=True)) if isinstance(v, OneOf) else {key_of(describe(v)): v}


def is_function(a: abstract.Abstract) -> bool:
    """Whether values of type ``a`` are functions, or objects that can be called."""
    bound = isinstance(a, abstract.Tuple) and (a.form.kind == "function" or a.form == BOUND)
    return bound or hasattr(class_of(a), "__call__")  # noqa: B004


def class_of(a: abstract.Abstract) -> type | None:
    """The class of an object, which may be a frozen dataclass; None for other values."""
    if isinstance(a, Same) and isinstance(a.value, Ref) and a.value.kind == "object":
        return a.value.cls
    return a.form.cls if isinstance(a, abstract.Tuple) and a.form.kind == "record" and a.form != BOUND else None


def of_one_class(a: abstract.Abstract, b: abstract.Abstract) -> bool:
    """Whether two objects are joined field by field: those of one class, and slices with None in the same parts."""
    if is_slice(a) and is_slice(b):
        return key_of(a) == key_of(b)
    return class_of(a) is not None and class_of(a) is class_of(b)


def can_move(a: abstract.Abstract) -> bool:
    """Whether a value can be taken apart and rebuilt anywhere: not one that is tied to its place."""
    if isinstance(a, Same):
        return isinstance(a.value, Ref)
    if isinstance(a, Maybe):
        return can_move(a.item)
    return not isinstance(a, abstract.Tuple) or all(map(can_move, a.items))


def nesting(a: abstract.Abstract) -> int:
    if not isinstance(a, abstract.Tuple):
        return 0
    return (a.form.kind == "function") + max(map(nesting, a.items), default=0)


def is_bool(a: abstract.Abstract) -> bool:
    return isinstance(a, abstract.Static) and isinstance(a.value, bool)
