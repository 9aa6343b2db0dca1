"""The abstract types of abstract values, including those that exist only while a function is traced; and the keys of
alternatives of a choice."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adc.frontend import abstract
from adc.frontend.data.dims import told_dims
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Compound,
    Lazy,
    Range,
    Scalar,
    Static,
    Unbound,
    is_number,
    number_dtype,
)
from adc.frontend.forms import COMPLEX, SLICE
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import f64


@dataclass(frozen=True)
class Maybe(abstract.Abstract):
    """A variable that may be unset: a flag, then the value."""

    item: abstract.Abstract


@dataclass(frozen=True)
class Span(abstract.Abstract):
    """A ``range``: the types of start, stop and step."""

    bounds: abstract.Tuple
    parallel: bool


@dataclass(frozen=True, eq=False)
class Same(abstract.Abstract):
    """A value that can only be passed on unchanged: the same object on every path."""

    value: AbstractValue

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def bounds_of(r: Range) -> tuple[AbstractValue, ...]:
    return r.start, r.stop, r.step


def describe(v: AbstractValue) -> abstract.Abstract:
    """The abstract type of a value; literals stay ``Static``."""
    if isinstance(v, Static):
        return abstract.Static(v.value)
    if isinstance(v, Scalar):
        return abstract.Scalar(v.dtype, v.weak)
    if isinstance(v, Array):
        return abstract.Array(v.dtype, v.rank, v.layout, dims=told_dims(v.dims))
    if isinstance(v, Compound):
        return abstract.Tuple(tuple(describe(item) for item in v.items), v.form)
    if isinstance(v, Unbound):
        return Maybe(describe(v.value))
    if isinstance(v, Range):
        return Span(abstract.Tuple(tuple(describe(item) for item in bounds_of(v))), v.parallel)
    assert not isinstance(v, Lazy)
    return Same(v)


def without_dims(a: abstract.Abstract, told: Callable[[Any], Any] = lambda dim: None) -> abstract.Abstract:
    """``a`` without extents that are values of the IR: these are replaced by ``told`` of them."""
    if isinstance(a, abstract.Array):
        return replace(a, dims=tuple(d if isinstance(d, int) else told(d) for d in a.dims))
    if isinstance(a, abstract.Tuple):
        return replace(a, items=tuple(without_dims(item, told) for item in a.items))
    if isinstance(a, Maybe):
        return Maybe(without_dims(a.item, told))
    return a


def widen(a: abstract.Abstract) -> abstract.Abstract:
    """``a`` with known numbers as run-time ones. A constant among alternatives is kept, and so is a member of an
    enum."""
    if isinstance(a, abstract.Static) and is_number(a.value) and not is_member(a):
        return abstract.Scalar(*number_dtype(a.value))
    if isinstance(a, abstract.Static) and type(a.value) in COMPLEX:
        return abstract.complex_number(type(a.value))
    if isinstance(a, abstract.Static) and isinstance(a.value, slice):
        return widen(opened(a))
    if isinstance(a, abstract.Tuple):
        kept = abstract.Static if a.form.kind == "choice" else ()
        return replace(a, items=tuple(item if isinstance(item, kept) else widen(item) for item in a.items))
    if isinstance(a, Maybe):
        return Maybe(widen(a.item))
    return a


def is_slice(a: abstract.Abstract) -> bool:
    """Whether ``a`` is a slice that traced code made."""
    return isinstance(a, abstract.Tuple) and a.form == SLICE


def opened(a: abstract.Abstract) -> abstract.Abstract:
    """The type of a constant slice as that of its constant parts; any other ``a`` unchanged."""
    if isinstance(a, abstract.Static) and isinstance(a.value, slice):
        return abstract.Tuple(tuple(map(abstract.Static, (a.value.start, a.value.stop, a.value.step))), SLICE)
    return a


def is_member(a: abstract.Abstract) -> bool:
    """Whether ``a`` is a member of an enum, which may be a number as well."""
    return isinstance(a, abstract.Static) and isinstance(a.value, enum.Enum)


def key_of(a: abstract.Abstract) -> abstract.Abstract:
    """The key that distinguishes an alternative of a choice: its type, without the parts in which values can be
    converted."""
    if isinstance(a, abstract.Tuple):
        return replace(a, items=tuple(map(_key_of_item, a.items)))
    return _key_of_item(a) if isinstance(a, abstract.Scalar | abstract.Array) else a


def _key_of_item(a: abstract.Abstract) -> abstract.Abstract:
    if is_member(a):
        return a
    if isinstance(a, abstract.Scalar) or (isinstance(a, abstract.Static) and is_number(a.value)):
        return abstract.Scalar(f64)
    if isinstance(a, abstract.Array):
        return abstract.Array(a.element, a.rank)
    if isinstance(a, Maybe):
        return Maybe(_key_of_item(a.item))
    return key_of(a)
