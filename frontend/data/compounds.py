"""Values held together under forms: records, contents of objects, texts, slices, constants that are chosen at run
time."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from adc.frontend.data.callables import Bound, Closure, Partial, Started
from adc.frontend.data.described import describe, key_of
from adc.frontend.data.dims import Dim
from adc.frontend.data.values import AbstractValue, Array, Complex, Compound, Ref, Scalar, Static, Tuple
from adc.frontend.forms import BOUND, SLICE, Form
from adc.ir.core import Value


class Record(Compound):
    """An instance of a frozen dataclass."""

    def field(self, name: Hashable) -> AbstractValue | None:
        """The field or item of this name, if it is set."""
        names = self.form.names
        return self.items[names.index(name)] if name in names else None


class OneOf(Compound):
    """One of several constants (texts, None, functions, ...), chosen at run time: its items are the number of the
    chosen one and all of them. A function comes with the values that it captured, which are undefined if it is not the
    chosen one. A use of it is built for each, under a condition, as for a ``Choice``."""

    @property
    def position(self) -> Value:
        item = self.items[0]
        assert isinstance(item, Scalar)
        return item.value

    @property
    def options(self) -> tuple[AbstractValue, ...]:
        return self.items[1:]

    def of(self, items: Iterable[AbstractValue]) -> OneOf:
        position, *options = items
        return one_of(position, options)


def one_of(position: AbstractValue, options: Sequence[AbstractValue]) -> OneOf:
    """The option whose number is ``position``."""
    form = Form("choice", object, tuple(key_of(describe(v)) for v in options))
    return OneOf((position, *options), form)


class Structured(Record):
    """A structured array, or an element of one: the arrays of its fields. Those of an element have only the dimensions
    in the dtype; without any, they are numbers if the caller passed the element."""

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None for an element, which is not an array."""
        return None if issubclass(self.form.cls, np.void) else len(self.dims)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The extents that all fields share."""
        return _common(self, self.form.dtype, 0) or ()


def _common(v: Structured, dtype: np.dtype[Any], inner: int) -> tuple[Dim, ...] | None:
    """The extents of the first field, without its last ``inner`` ones and those in the field's own dtype."""
    for name, item in zip(v.form.names, v.items, strict=True):
        own = inner + dtype[str(name)].ndim
        if isinstance(item, Array):
            return item.dims[: item.rank - own]
        found = _common(item, dtype[str(name)].base, own) if isinstance(item, Structured) else None
        if found is not None:
            return found
    return None


def structured(form: Form, items: tuple[AbstractValue, ...]) -> Structured:
    """The structured array with these fields, which get the same extents."""
    found = Structured(items, form)
    return found if found.rank is None else _of_one_shape(found, found.dims)


def _of_one_shape(v: Structured, dims: tuple[Dim, ...]) -> Structured:
    items: list[AbstractValue] = []
    for item in v.items:
        if isinstance(item, Array):
            item = replace(item, dims=(*dims, *item.dims[len(dims) :]))
        items.append(_of_one_shape(item, dims) if isinstance(item, Structured) else item)
    return Structured(tuple(items), v.form)


class Contents(Record):
    """The contents of a mutable object at some point. Within a function, objects are referred to by ``Ref``; where
    values are passed between functions, this stands for the object itself, numbered in its form."""


_FUNCTIONS: dict[type, type[Compound]] = {FunctionType: Closure, GeneratorType: Started, functools.partial: Partial}


def compound(form: Form, items: tuple[AbstractValue, ...]) -> Compound:
    """The value of a form with these items."""
    if form.kind in ("tuple", "namedtuple"):
        return Tuple(items, form)
    if form.kind == "choice":
        return OneOf(items, form)
    if form.kind == "complex":
        return Complex(items, form)
    if form.kind == "text":
        return Text(items, form)
    if form.kind == "handle":
        return Handle(items, form)
    if form == SLICE:
        return SliceObject(items, form)
    if form.kind == "structured":
        return structured(form, items)
    if form == BOUND:
        return Bound(items, form)
    if form.kind == "function":
        return _FUNCTIONS[form.cls](items, form)
    return (Record if form.kind == "record" else Contents)(items, form)


class Handle(Compound):
    """An object in a pool (see ``objects.pools``): the pool, and the object's number there."""

    @property
    def pool(self) -> Ref:
        pool = self.items[0]
        assert isinstance(pool, Ref)
        return pool

    @property
    def number(self) -> Value:
        number = self.items[1]
        assert isinstance(number, Scalar)
        return number.value


class Text(Compound):
    """A string with run-time numbers in it: a template of ``adc.ir.raising``, which is in the form, and the numbers."""

    @property
    def template(self) -> str:
        return str(self.form.names[0])

    @property
    def values(self) -> tuple[Scalar, ...]:
        return self.items  # type: ignore[return-value]


class SliceObject(Compound):
    """A ``slice``: its start, stop and step."""


def slice_object(v: AbstractValue) -> SliceObject | None:
    """A slice as a value, with its parts; None if ``v`` is something else."""
    if isinstance(v, Static) and isinstance(v.value, slice):
        return SliceObject(tuple(map(Static, (v.value.start, v.value.stop, v.value.step))), SLICE)
    return v if isinstance(v, SliceObject) else None


WHOLE = (Closure, Partial, OneOf)
"""Functions, except bound ones, and constants chosen at run time: they have no cotangent and no axis of their own."""
