"""The results of ``str``, ``repr`` and ``format``: templates (``adc.ir.raising``) for texts with numbers."""

from __future__ import annotations

import dataclasses
import string
from collections.abc import Callable, Sequence
from typing import TypeGuard

from adc.frontend.abstract import numpy_dtype
from adc.frontend.containers import records, sequences
from adc.frontend.data.compounds import OneOf, SliceObject, Text
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Ref, Scalar, Static, Tuple, is_dict, is_list
from adc.frontend.errors import refuse
from adc.frontend.forms import Form
from adc.frontend.frame import Frame
from adc.frontend.numeric.convert import unboxed
from adc.frontend.objects import rows
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.raising import escape, one_of_texts
from adc.ir.types import Type, f64, i1, i64

_TYPES: dict[Type, str] = {f64: "float", i64: "int", i1: "bool"}


def type_of(v: Scalar) -> str:
    """The name of a number's type in templates."""
    return _TYPES[v.dtype] if v.weak else "bool_" if v.dtype == i1 else numpy_dtype(v.dtype).name


def text(template: str, values: Sequence[Scalar]) -> AbstractValue:
    """A template with its numbers; without numbers, the string."""
    if values:
        return Text(tuple(values), Form("text", str, (template,)))
    return Static("".join(literal for literal, *_ in string.Formatter().parse(template)))


def is_one_of_texts(v: AbstractValue) -> TypeGuard[OneOf]:
    """Whether this is one of several constants, each of which is shown as a text that is known."""
    return isinstance(v, OneOf) and all(isinstance(one, Static) for one in v.options)


def formatted(frame: Frame, v: AbstractValue, conversion: str, spec: str, values: list[Scalar]) -> str:
    """The template for a value formatted as in an f-string; ``spec`` is itself a template. The numbers shown are
    appended to ``values``."""
    v = v if conversion in ("r", "a") else unboxed(v)
    frame.tracer.attempt.ask(v)
    if isinstance(v, Scalar):
        values.append(v)
        return "{" + type_of(v) + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"
    known = spec.replace("{{", "{").replace("}}", "}")
    if isinstance(v, Static):
        if "{" in known:
            message = "a format that depends on run-time values needs a run-time number to show"
            raise refuse(current_loc(), message, kind=kinds.NOT_CONSTANT)
        functions: dict[str, Callable[[object], str]] = {"r": repr, "s": str, "a": ascii}
        try:
            return escape(format(functions[conversion](v.value) if conversion else v.value, known))
        except (ValueError, TypeError) as error:
            raise refuse(current_loc(), str(error), kind=kinds.INVALID_VALUE) from None
    if is_one_of_texts(v):
        values.append(Scalar(v.position, i64))
        each = [text(formatted(frame, one, conversion, spec, values), ()) for one in v.options]
        return one_of_texts([str(one.value) for one in each if isinstance(one, Static)])
    own = None if conversion else records.method(frame, v, "__format__")
    if own is not None and "{" not in known:
        made = frame.tracer.call(frame, own, [Static(known)], {})
        return formatted(frame, made, "s", "", values)
    if spec or conversion == "a":
        raise _refused(v)
    return converted(frame, v, conversion or "s", values)


def converted(
    frame: Frame, v: AbstractValue, conversion: str, values: list[Scalar], within: tuple[AbstractValue, ...] = ()
) -> str:
    """The template for the result of ``str`` or ``repr``; ``within``: the containers around the value."""
    if isinstance(v, Scalar | Static) or is_one_of_texts(v):
        return formatted(frame, v, conversion, "", values)
    if isinstance(v, Text) and conversion == "s":
        values += v.values
        return v.template
    for name in ("__str__", "__repr__") if conversion == "s" else ("__repr__",):
        own = records.method(frame, v, name)
        if own is not None:
            return converted(frame, frame.tracer.call(frame, own, [], {}), "s", values, (*within, v))
    if rows.grows(frame, v):
        raise _refused(v, "show its items in a loop, or np.asarray(x)")
    again = any(outer is v for outer in within)

    def items(shown: Sequence[AbstractValue]) -> list[str]:
        return [converted(frame, item, "r", values, (*within, v)) for item in shown]

    if is_dict(v):
        assert isinstance(v, Ref)
        held = sequences.dict_items(frame, v)
        pairs = zip(held, [] if again else items(list(held.values())), strict=not again)
        return f"{{{{{'...' if again else ', '.join(f'{escape(repr(n))}: {x}' for n, x in pairs)}}}}}"
    if is_list(v) or (isinstance(v, Tuple) and v.form.kind == "list"):
        return f"[{'...' if again else ', '.join(items(sequences.known_items(frame, v) or []))}]"
    if isinstance(v, Tuple) and v.form.kind == "namedtuple":
        named = zip(v.form.names, items(v.items), strict=True)
        return f"{v.form.cls.__name__}({', '.join(f'{n}={x}' for n, x in named)})"
    if isinstance(v, Tuple):
        return f"({', '.join(items(v.items))}{',' * (len(v.items) == 1)})"
    if isinstance(v, SliceObject):
        return f"slice({', '.join(items(v.items))})"
    by = records.generated(frame, v, "__repr__")
    if by is None:
        raise _refused(v)
    names = [f.name for f in dataclasses.fields(by) if f.repr]
    if again:
        return "..."
    fields = zip(names, items([records.attribute(frame, v, name) for name in names]), strict=True)
    return f"{records.class_of(v).__qualname__}({', '.join(f'{n}={x}' for n, x in fields)})"


def _refused(v: AbstractValue, help: str = "show numbers: elements, extents, sums") -> Exception:
    if isinstance(v, Array | Lazy):
        help += "; or give the array to print() by itself: print('x =', x)"
    message = f"{describe_type(v)} cannot be shown in a text here"
    return refuse(current_loc(), message, help, kind=kinds.WRONG_TYPE)
