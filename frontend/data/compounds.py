"""Values held together under forms: records, contents of objects, texts, constants that the run chooses."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from types import FunctionType

from adc.frontend.data.callables import Bound, Closure, Partial
from adc.frontend.data.described import describe, key_of
from adc.frontend.data.values import AbstractValue, Complex, Compound, Scalar, Tuple
from adc.frontend.forms import BOUND, Form
from adc.ir.core import Value


class Record(Compound):
    """An instance of a frozen dataclass."""

    def field(self, name: Hashable) -> AbstractValue | None:
        """The field or item of this name, if it is set."""
        names = self.form.names
        return self.items[names.index(name)] if name in names else None


class OneOf(Compound):
    """One of several constants (texts, None, functions, ...), chosen at run time: its items are the number of the
    chosen one and all of them. A function has the values along that it captured, which are undefined if it is not the
    chosen one. What is done with it is done with each, under a condition, as with a ``Choice``."""

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
    """The one of the options whose number is ``position``."""
    form = Form("choice", object, tuple(key_of(describe(v)) for v in options))
    return OneOf((position, *options), form)


class Contents(Record):
    """What a mutable object holds at some point. A function's objects are referred to by ``Ref``; where values travel
    between functions, this stands for the object itself, numbered in its form."""


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
    if form == BOUND:
        return Bound(items, form)
    if form.kind == "function":
        return (Closure if form.cls is FunctionType else Partial)(items, form)
    return (Record if form.kind == "record" else Contents)(items, form)


class Text(Compound):
    """A string with run-time numbers in it: a template of ``adc.ir.raising``, which the form has, and the numbers."""

    @property
    def template(self) -> str:
        return str(self.form.names[0])

    @property
    def values(self) -> tuple[Scalar, ...]:
        return self.items  # type: ignore[return-value]


WHOLE = (Closure, Partial, OneOf)
"""Functions, bound ones aside, and constants that the run chooses: they have no cotangent and no axis of their own."""
