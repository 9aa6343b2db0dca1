"""The meaning of a name: a local variable, a captured one, a global, a builtin."""

from __future__ import annotations

import builtins
import enum
import functools
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.frontend import abstract, forms
from adc.frontend.control import options
from adc.frontend.data.callables import bound
from adc.frontend.data.compounds import Contents, compound
from adc.frontend.data.pins import marked
from adc.frontend.data.unusable import WITH_UNUSABLE, unusable
from adc.frontend.data.values import AbstractValue, Poison, Ref, Scalar, Static, Unbound
from adc.frontend.errors import refuse, shown
from adc.frontend.forms import Form
from adc.frontend.frame import Capture, Frame, PathEnds
from adc.frontend.looks import (
    ABSENT,
    Attribute,
    CellVariable,
    ClassVariable,
    Found,
    Item,
    Sameness,
    Structure,
    Variable,
    attribute_place,
)
from adc.frontend.objects import heap
from adc.frontend.suggestions import for_attribute, for_name
from adc.frontend.traps import trap_unless
from adc.ir import kinds
from adc.ir.arith import const
from adc.ir.builder import current_block, current_loc
from adc.ir.diagnostics import Note
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import Schedule
from adc.ir.types import i1

_MODULE = types.ModuleType
_NO_VALUE = "cannot access local variable '{}' where it is not associated with a value"


def lookup(frame: Frame, name: str) -> AbstractValue:
    """The value of the variable ``name`` at the insertion point."""
    value = frame.env.get(name)
    if value is not None:
        return _local(frame, name, value)
    if name in frame.liveness.local:
        if frame.parallel:
            loop = frame.parallel[-1]
            raise refuse(
                current_loc(),
                f"'{name}' has no value here: iterations of a parallel loop do not see each other's variables",
                notes=[Note("the parallel loop", frame.loc(loop))],
                kind=kinds.PRIVATE_VARIABLE,
            )
        if current_block() is frame.statement_block is not frame.func.body:
            # A run-time error on this path, which may not be taken, as in Python.
            trap_unless(const(False, i1), "UnboundLocalError", _NO_VALUE.format(shown(name)))
            raise PathEnds
        raise refuse(
            current_loc(),
            f"'{name}' is read before it is assigned",
            f"assign '{name}' first",
            kind=kinds.UNBOUND_VARIABLE,
        )
    if name in frame.cells:
        cell = frame.cells[name]
        try:
            content = cell.cell_contents
        except ValueError:
            raise refuse(
                current_loc(), f"'{name}' of the enclosing function is not set yet", kind=kinds.UNBOUND_VARIABLE
            ) from None
        return external(frame, content, ("cell", id(cell)), name, CellVariable(cell))
    if name in frame.module_globals:
        space = frame.module_globals
        return external(frame, space[name], ("global", id(space), name), name, Variable(space, name))
    if hasattr(builtins, name):
        if frame.source.placed is not None:
            return Static(getattr(builtins, name))
        return Static(frame.tracer.looks.builtin(frame.module_globals, name))
    known = [*frame.liveness.local, *frame.env, *frame.cells, *frame.module_globals, *vars(builtins)]
    own = frame.env.get("self")
    if isinstance(own, Ref) and (name in heap.contents(frame, own).form.names or hasattr(own.cls, name)):
        help = f"did you mean 'self.{name}'?"
    else:
        help = for_name(name, known)
    raise refuse(current_loc(), f"the name '{name}' is not defined", help, kind=kinds.UNKNOWN_NAME)


def _local(frame: Frame, name: str, value: AbstractValue) -> AbstractValue:
    if isinstance(value, Poison):
        raise heap.unreadable(frame, value)
    if isinstance(value, Unbound):
        where = " in this iteration of a parallel loop" if frame.parallel else ""
        trap_unless(value.flag, "UnboundLocalError", _NO_VALUE.format(shown(name)) + where)
        value = frame.env[name] = value.value
    if isinstance(value, Ref) and value.cls is types.CellType:
        (value,) = heap.contents(frame, value).items
    return value


_KERNELS = "adc.frontend.kernels."


def external(frame: Frame, value: Any, key: tuple[Any, ...], name: str, fetch: Callable[[], Any]) -> AbstractValue:
    """A value from outside: numbers and arrays become arguments read at each call, all else is static and guarded."""
    own = frame.source.placed is not None or str(frame.module_globals.get("__name__")).startswith(_KERNELS)
    if own and not isinstance(value, np.ndarray | tuple | list | dict):
        return Static(value)  # values that adc's own functions read do not change
    number = isinstance(value, int | float | np.generic) and type(value) not in forms.COMPLEX
    fields = getattr(getattr(value, "dtype", None), "names", None) is not None
    if (number or isinstance(value, np.ndarray)) and not fields and not isinstance(value, bool | enum.Enum):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            message = f"'{name}' cannot be used here: {value} does not fit into 64 bits"
            raise refuse(current_loc(), message, "make it a float", kind=kinds.UNSUPPORTED_VALUE)
        if isinstance(value, np.ndarray) and not value.flags.aligned:
            message = f"'{name}' cannot be used here: the array is not aligned in memory"
            raise refuse(current_loc(), message, "pass it as an argument, or a copy", kind=kinds.UNSUPPORTED_VALUE)
        try:
            capture = Capture(key, name, fetch, abstract.abstract_of(value))
        except TypeError as error:
            raise refuse(
                current_loc(),
                f"'{name}' cannot be used here: {error}",
                getattr(error, "help", ""),
                kind=kinds.UNSUPPORTED_VALUE,
            ) from None
        result = frame.capture(capture)
        if isinstance(result, Scalar) and isinstance(capture.abstract, abstract.Scalar):
            marked(result.value, functools.partial(_pin, frame, name, fetch), capture.abstract)
        return result
    try:
        form = None if isinstance(value, Schedule) else forms.form_of(value)
    except forms.Unsuitable as error:
        message = f"'{name}' cannot be used here: {error}"
        raise refuse(current_loc(), message, error.help, kind=kinds.UNSUPPORTED_VALUE) from None
    if form is not None:
        return _external_container(frame, value, key, name, fetch, form)
    frame.tracer.looks.at(name, fetch, value, key)
    return Static(value)


def _external_container(
    frame: Frame, value: Any, key: tuple[Any, ...], name: str, fetch: Callable[[], Any], form: Form
) -> AbstractValue:
    """A container from outside, item by item. The code depends on its form, and on the integers in tuples.

    A tuple is a table, for instance of offsets or indices: with its integers known, loops over it can be unrolled and
    subscripts analysed.
    """
    known, place, first = frame.heap.outer.get(id(value), (None, key, fetch))
    if place != key:
        frame.tracer.looks.at(f"{name}, which is another name of an object", Sameness(first, fetch, key), True)
    if known is not None and known.key in frame.env:
        return known
    structure = _StructureOf(fetch)
    frame.tracer.looks.at(f"the structure of {name}", structure, structure(), (*key, "structure"))
    ref = known
    if form.mutable and ref is None:
        ref = heap.reference(frame, form, f"'{name}' comes from outside the function")
        frame.heap.outer[id(value)] = ref, key, fetch
        frame.tracer.read_outer(key, name, fetch)
    items: list[AbstractValue] = []
    for k, item in enumerate(forms.items_of(value, form)):
        if not form.mutable and type(item) is int:
            items.append(Static(item))
            continue
        label = form.label(k)
        shown = f"{name}.{k}" if form.kind in ("tuple", "list") else f"{name}{label}"
        if form.kind in WITH_UNUSABLE and (instead := unusable(item)) is not None:
            frame.tracer.looks.at(shown, Found(_item_of(fetch, form, k), unusable), instead, (*key, label, "unusable"))
            items.append(Static(instead))
            continue
        items.append(external(frame, item, (*key, label), shown, _item_of(fetch, form, k)))
    if ref is None:
        return compound(form, tuple(items))
    frame.env[ref.key] = Contents(tuple(items), form)
    return ref


@functools.lru_cache(maxsize=4096)
def _interned(value: Structure) -> Structure:
    """One object for all equal ones: looks compare by identity first."""
    return value


class _StructureOf:
    """What the code depends on in a container: its form, the number of its items, and in a tuple its integers."""

    __slots__ = ("fetch", "known", "of")

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self.fetch = fetch
        self.of: Any = None
        self.known: Any = None

    def __call__(self) -> Any:
        value = self.fetch()
        of: Any = value
        if type(value) is tuple:  # the same tuple has the same items
            if of is self.of:
                return self.known
        else:
            of = forms.shape_of(value)
            if of is not None and of == self.of:
                return self.known
        self.of, self.known = of, _structure(value)
        return self.known

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fetch,)


def _structure(value: Any) -> Structure | None:
    form = forms.form_of(value)
    if form is None:
        return None
    items = forms.items_of(value, form)
    integers = None if form.mutable else tuple(item if type(item) is int else None for item in items)
    return _interned(Structure((form, len(items), integers)))


def _item_of(fetch: Callable[[], Any], form: Form, k: int) -> Callable[[], Any]:
    if form.kind in ("tuple", "namedtuple", "list"):
        return Item(fetch, k)
    return Item(fetch, form.names[k]) if form.kind in ("dict", "structured") else Attribute(fetch, form.names[k])


def _pin(frame: Frame, name: str, fetch: Callable[[], Any]) -> Any:
    value = fetch()
    frame.tracer.looks.at(name, fetch, value, ("pin", name, id(fetch)))
    return value


@dataclass(frozen=True)
class StandardStream:
    """``sys.stdout`` or ``sys.stderr`` in compiled code: the stream that it is when something is printed."""

    name: str


def attribute_of(frame: Frame, owner: Any, name: str) -> AbstractValue:
    """An attribute of a static object, usually a module."""
    if owner is sys and name in ("stdout", "stderr"):
        return Static(StandardStream(name))
    try:
        value = getattr(owner, name)
    except AttributeError:
        kind = "module" if isinstance(owner, types.ModuleType) else type(owner).__name__
        shown = "None" if owner is None else f"{kind} '{getattr(owner, '__name__', kind)}'"
        refusal = refuse(
            current_loc(),
            f"{shown} has no attribute '{name}'",
            for_attribute(owner, name),
            kind=kinds.UNKNOWN_ATTRIBUTE,
        )
        raise options.of_none(frame, refusal, Static(owner)) from None
    if isinstance(owner, str | np.dtype | np.finfo) or owner is object:
        return Static(value)
    shown = f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"
    place = attribute_place(owner, name)
    if isinstance(owner, enum.Enum):
        found, where = frame.tracer.looks.member(type(owner), name)
        if found is not ABSENT:
            frame.tracer.looks.at(shown, ClassVariable(where, name), found)
        if isinstance(found, types.FunctionType):
            return bound(Static(owner), Static(found))
        return Static(value)
    if isinstance(value, types.BuiltinMethodType) and value.__self__ is owner and not isinstance(owner, _MODULE):
        return Static(value)  # a new object at each look, but its method cannot be replaced
    key = ("attribute", id(owner), name)
    if owner in (np, math) and isinstance(value, float):  # such as pi: a constant, which an axis or an order may be
        frame.tracer.looks.at(shown, place, value, key)
        return Static(value)
    return external(frame, value, key, shown, place)


def symbol(name: str) -> str:
    """A name for the IR function of a Python function."""
    return "".join(c if c.isalnum() or c == "_" else "" for c in name) or "lambda"
