"""Texts with run-time numbers in them: f-strings, ``%``, ``str.format``, ``str``, ``repr``.

A text that is known is a ``Static`` string. One with numbers is a ``Text``: a template (``adc.ir.raising``) and its
numbers. It can be concatenated, assigned, and used in an exception; Python formats it when that is raised.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adc.frontend.containers.shown import formatted, is_one_of_texts, text, type_of
from adc.frontend.data.compounds import Text
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Scalar, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.raising import escape, one_of_texts
from adc.ir.types import i64


def template_of(v: AbstractValue, values: list[Scalar]) -> str:
    """The template of an exception's argument; its numbers are appended to ``values``."""
    if isinstance(v, Text):
        values += v.values
        return v.template
    if isinstance(v, Scalar):
        values.append(v)
        return f"{{{type_of(v)}!v}}"
    if isinstance(v, Static) and isinstance(v.value, str):
        return escape(v.value)
    if is_one_of_texts(v):
        constants = [one.value for one in v.options if isinstance(one, Static)]
        if all(isinstance(one, str) for one in constants):
            values.append(Scalar(v.position, i64))
            return one_of_texts(constants)
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


def joined(frame: Frame, node: ast.JoinedStr, evaluate: Callable[[ast.expr], AbstractValue]) -> AbstractValue:
    """An f-string."""
    values: list[Scalar] = []
    return text(_joined(frame, node, evaluate, values), values)


def _joined(
    frame: Frame, node: ast.JoinedStr, evaluate: Callable[[ast.expr], AbstractValue], values: list[Scalar]
) -> str:
    template = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            template += escape(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = evaluate(part.value)
        conversion = "" if part.conversion < 0 else chr(part.conversion)
        if not isinstance(part.format_spec, ast.JoinedStr):
            template += formatted(frame, value, conversion, "", values)
            continue
        # The number comes before those in its format.
        inner: list[Scalar] = []
        spec = _joined(frame, part.format_spec, evaluate, inner)
        template += formatted(frame, value, conversion, spec, values)
        values += inner
    return template


def concatenated(a: AbstractValue, b: AbstractValue) -> AbstractValue | None:
    """``a + b`` of two texts."""
    if not all(isinstance(v, Text) or (isinstance(v, Static) and isinstance(v.value, str)) for v in (a, b)):
        return None
    values: list[Scalar] = []
    return text(template_of(a, values) + template_of(b, values), values)


_PERCENT = re.compile(r"%(?:%|([-+ 0#]*)(\d*)((?:\.\d+)?)([a-zA-Z]))")


def percent(frame: Frame, form: str, operand: AbstractValue) -> AbstractValue:
    """``form % operand`` if the numbers are not known."""
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
        template += _percent(frame, match, items.pop(0), values)
    rest = form[position:]
    if "%" in rest:
        message = f"the format {rest[rest.index('%') :]!r} is not supported"
        raise refuse(current_loc(), message, "use an f-string", kind=kinds.UNSUPPORTED_OPTION)
    if items:
        raise refuse(current_loc(), "too many arguments for this format", kind=kinds.WRONG_CALL)
    return text(template + escape(rest), values)


def _percent(frame: Frame, match: re.Match[str], item: AbstractValue, values: list[Scalar]) -> str:
    spec = match[0][1:]
    if isinstance(item, Scalar):
        values.append(item)
        return f"{{{type_of(item)}!%:{spec}}}"
    if isinstance(item, Static):
        try:
            return escape(match[0] % (item.value,))
        except (TypeError, ValueError) as error:
            raise refuse(current_loc(), str(error), kind=kinds.INVALID_VALUE) from None
    if spec in ("s", "r"):
        return formatted(frame, item, spec, "", values)
    message = f"%{spec} is not defined for {describe_type(item)}"
    raise refuse(current_loc(), message, kind=kinds.UNSUPPORTED_OPERAND)


def is_format(obj: Any) -> bool:
    """Whether ``obj`` is the method ``format`` of a string."""
    return isinstance(getattr(obj, "__self__", None), str) and getattr(obj, "__name__", "") == "format"


def format_(
    frame: Frame, form: str, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
) -> AbstractValue:
    """``form.format(*args, **kwargs)``."""
    values: list[Scalar] = []
    counter = iter(range(len(args)))
    return text(_format(frame, form, args, kwargs, counter, values), values)


def _format(
    frame: Frame,
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
            shape = _format(frame, spec, args, kwargs, counter, inner) if spec else ""
            template += formatted(frame, value, conversion or "", shape, values)
            values += inner
    except (KeyError, IndexError, StopIteration) as error:
        message = f"this format has no argument for {error}"
        raise refuse(current_loc(), message, "use an f-string", kind=kinds.WRONG_CALL) from None
    except ValueError as error:
        raise refuse(current_loc(), str(error), kind=kinds.INVALID_VALUE) from None
    return template


def shown(conversion: str) -> Callable[..., AbstractValue]:
    """``str`` or ``repr`` of a value."""

    def rule(frame: Frame, v: AbstractValue | None = None) -> AbstractValue:
        values: list[Scalar] = []
        return Static("") if v is None else text(formatted(frame, v, conversion, "", values), values)

    return rule
