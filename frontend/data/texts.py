"""Texts with run-time numbers in them: f-strings, ``%``, ``str.format``, ``str``, ``repr``.

A text that is known is a ``Static`` string. One with numbers is a ``Text``: a template (``adc.ir.raising``) and its
numbers. It can be put together, named, and end in an exception; Python formats it when that is raised.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adc.frontend.data.compounds import Text
from adc.frontend.data.forms import Form
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Scalar, Static, Tuple
from adc.frontend.errors import refuse
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.raising import escape
from adc.ir.types import Type, f32, f64, i1, i32, i64

_TYPES: dict[tuple[Type, bool], str] = {
    (f64, True): "float",
    (i64, True): "int",
    (i1, True): "bool",
    (f64, False): "float64",
    (f32, False): "float32",
    (i64, False): "int64",
    (i1, False): "bool_",
}


def _type(v: Scalar) -> str:
    return _TYPES.get((v.dtype, v.weak), "int32" if v.dtype == i32 else "float32")


def text(template: str, values: Sequence[Scalar]) -> AbstractValue:
    """A template with its numbers; without any, the string."""
    if values:
        return Text(tuple(values), Form("text", str, (template,)))
    return Static("".join(literal for literal, *_ in string.Formatter().parse(template)))


def template_of(v: AbstractValue, values: list[Scalar]) -> str:
    """The template of an exception's argument; its numbers are appended to ``values``."""
    if isinstance(v, Text):
        values += v.values
        return v.template
    if isinstance(v, Scalar):
        values.append(v)
        return f"{{{_type(v)}!v}}"
    if isinstance(v, Static) and isinstance(v.value, str):
        return escape(v.value)
    if isinstance(v, Static) and v.value is None:
        return "{None!v}"
    if isinstance(v, Static) and isinstance(v.value, bool | int | float):
        from adc.frontend.numeric.convert import as_scalar

        return template_of(as_scalar(v), values)
    raise refuse(
        current_loc(),
        f"{describe_type(v)} cannot be an argument of an exception here",
        "give texts and numbers; an f-string shows other things",
        kind=kinds.UNSUPPORTED_VALUE,
    )


def formatted(v: AbstractValue, conversion: str, spec: str, values: list[Scalar]) -> str:
    """The template for a value formatted as in an f-string; ``spec`` is a template itself."""
    if isinstance(v, Scalar):
        values.append(v)
        return "{" + _type(v) + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"
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
    if not spec and conversion != "a":
        if isinstance(v, Text) and conversion != "r":
            values += v.values
            return v.template
        if isinstance(v, Tuple):
            return _tuple(v, values)
    raise refuse(
        current_loc(),
        f"{describe_type(v)} cannot be shown in a text here",
        "show numbers: elements, extents, sums",
        kind=kinds.WRONG_TYPE,
    )


def _tuple(v: Tuple, values: list[Scalar]) -> str:
    items = [formatted(item, "r", "", values) for item in v.items]
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def joined(node: ast.JoinedStr, evaluate: Callable[[ast.expr], AbstractValue]) -> AbstractValue:
    """An f-string."""
    values: list[Scalar] = []
    return text(_joined(node, evaluate, values), values)


def _joined(node: ast.JoinedStr, evaluate: Callable[[ast.expr], AbstractValue], values: list[Scalar]) -> str:
    template = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            template += escape(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = evaluate(part.value)
        conversion = "" if part.conversion < 0 else chr(part.conversion)
        if not isinstance(part.format_spec, ast.JoinedStr):
            template += formatted(value, conversion, "", values)
            continue
        # The number comes before those in its format.
        inner: list[Scalar] = []
        spec = _joined(part.format_spec, evaluate, inner)
        template += formatted(value, conversion, spec, values)
        values += inner
    return template


def concatenated(a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``a + b`` of two texts."""
    if not all(isinstance(v, Text) or (isinstance(v, Static) and isinstance(v.value, str)) for v in (a, b)):
        return None
    values: list[Scalar] = []
    return text(template_of(a, values) + template_of(b, values), values)


_PERCENT = re.compile(r"%(?:%|([-+ 0#]*)(\d*)((?:\.\d+)?)([a-zA-Z]))")


def percent(form: str, operand: AbstractValue) -> AbstractValue:
    """``form % operand`` where numbers are not known."""
    items = list(operand.items) if isinstance(operand, Tuple) else [operand]
    values: list[Scalar] = []
    template, position = "", 0
    for match in _PERCENT.finditer(form):
        template += escape(form[position : match.start()])
        position = match.end()
        if match[0] == "%%":
            template += "%"
            continue
        if not items:
            raise refuse(current_loc(), "not enough arguments for format string", kind=kinds.WRONG_CALL)
        template += _percent(match, items.pop(0), values)
    rest = form[position:]
    if "%" in rest:
        message = f"the format {rest[rest.index('%') :]!r} is not supported"
        raise refuse(current_loc(), message, "use an f-string", kind=kinds.UNSUPPORTED_OPTION)
    if items:
        raise refuse(current_loc(), "too many arguments for this format", kind=kinds.WRONG_CALL)
    return text(template + escape(rest), values)


def _percent(match: re.Match[str], item: AbstractValue, values: list[Scalar]) -> str:
    spec = match[0][1:]
    if isinstance(item, Scalar):
        values.append(item)
        return f"{{{_type(item)}!%:{spec}}}"
    if isinstance(item, Static):
        try:
            return escape(match[0] % (item.value,))
        except (TypeError, ValueError) as error:
            raise refuse(current_loc(), str(error), kind=kinds.INVALID_VALUE) from None
    if spec in ("s", "r"):
        return formatted(item, spec, "", values)
    message = f"%{spec} is not defined for {describe_type(item)}"
    raise refuse(current_loc(), message, kind=kinds.UNSUPPORTED_OPERAND)


def is_format(obj: Any) -> bool:
    """Whether ``obj`` is the method ``format`` of a string."""
    return isinstance(getattr(obj, "__self__", None), str) and getattr(obj, "__name__", "") == "format"


def format_(form: str, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``form.format(*args, **kwargs)``."""
    values: list[Scalar] = []
    counter = iter(range(len(args)))
    return text(_format(form, args, kwargs, counter, values), values)


def _format(
    form: str,
    args: Sequence[AbstractValue],
    kwargs: Mapping[str, AbstractValue],
    counter: Any,
    values: list[Scalar],
) -> str:
    template = ""
    try:
        for literal, field, spec, conversion in string.Formatter().parse(form):
            template += escape(literal)
            if field is None:
                continue
            position = next(counter) if not field else int(field) if field.isdigit() else field
            value = args[position] if isinstance(position, int) else kwargs[position]
            inner: list[Scalar] = []
            shape = _format(spec, args, kwargs, counter, inner) if spec else ""
            template += formatted(value, conversion or "", shape, values)
            values += inner
    except (KeyError, IndexError, StopIteration) as error:
        message = f"this format has no argument for {error}"
        raise refuse(current_loc(), message, "use an f-string", kind=kinds.WRONG_CALL) from None
    except ValueError as error:
        raise refuse(current_loc(), str(error), kind=kinds.INVALID_VALUE) from None
    return template


def shown(conversion: str) -> Callable[..., AbstractValue]:
    """``str`` or ``repr`` of a value."""

    def rule(frame: Any, v: AbstractValue | None = None) -> AbstractValue:
        values: list[Scalar] = []
        return Static("") if v is None else text(formatted(v, conversion, "", values), values)

    return rule
