"""Exceptions that compiled code raises: their messages as templates, filled in when they are raised.

``adc.assert`` has its message in one of two forms. A string is one of adc's own, with ``{}`` for each value; the place
is added to it. A tuple of strings are the arguments of an exception that the program raises, each a template in the
grammar of ``str.format``: ``{T}``, ``{T!r:>8}`` stand for a value of Python type T, formatted so; ``{T!%:5.2f}`` for
``"%5.2f" % value``; ``{int!o:...}`` for the text that has that number (``one_of_texts``); an argument that is ``{T!v}``
alone for the value itself, and ``{None!v}`` for None. An argument may begin with ``{name!=}``, if it is a keyword's,
and then with ``{None!l}``, if it is a constant as Python writes it, such as a list of texts. The class of such an
exception is a built-in one, or one of the program's, which has a dotted name (``class_name``). ``KEPT`` alone stands
for an exception raised by Python code that compiled code called: the value is its number.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import re
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from adc.ir import diagnostics
from adc.ir.core import UNKNOWN, Loc
from adc.ir.diagnostics import format_message, place, runtime_error

Message = str | tuple[str, ...]
KEPT = ("{int!k}",)
MOST = 16  # values in one message
TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    **{f"int{n}": np.dtype(f"int{n}").type for n in (8, 16, 32, 64)},
    **{f"uint{n}": np.dtype(f"uint{n}").type for n in (8, 16, 32)},
    "uint64": lambda n: np.uint64(n & (1 << 64) - 1),  # given as the signed integer of the same bits
    "bool_": np.bool_,
}
_CONVERSIONS: dict[str, Callable[[object], str]] = {"r": repr, "s": str, "a": ascii}
Piece = tuple[str, str | None, str, str | None]  # literal text, then a hole: type, format, conversion


def class_name(cls: type[Exception]) -> str:
    """The name by which code raises exceptions of a class. If it is not built in: its module and name, with a number if
    several classes share these."""
    if getattr(builtins, cls.__name__, None) is cls:
        return str(cls.__name__)
    plain = f"{cls.__module__}.{cls.__qualname__}"
    name = plain
    for number in itertools.count(2):
        if _classes.setdefault(name, cls) is cls:
            break
        name = f"{plain}#{number}"
    return name


_classes: dict[str, type[Exception]] = {}


def give_name(name: str, cls: type[Exception]) -> bool:
    """Let ``name``, which is not a built-in class's, be that of a class in this process too; returns whether it was
    free."""
    return _classes.setdefault(name, cls) is cls


def class_of(name: str) -> type[Exception] | None:
    """The class of exceptions that a name stands for, or None. For a class of a program that runs elsewhere, whose IR
    was read as text, it is ``Exception``."""
    if "." in name:
        return _classes.get(name, Exception)
    cls = getattr(builtins, name, None)
    return cls if isinstance(cls, type) and issubclass(cls, Exception) else None


def beginning(template: str) -> tuple[str, bool, str]:
    """The keyword of an argument, if it has one; whether it is a constant as Python writes it; and the rest of it."""
    found = _BEGINNING.match(template)
    assert found is not None
    return found[1] or "", found[2] is not None, template[found.end() :]


_BEGINNING = re.compile(r"(?:\{(\w+)!=\})?(\{None!l\})?")


def pieces(template: str) -> Iterator[Piece]:
    """The pieces of a template without its beginning. Raises ``ValueError`` if it is malformed."""
    for literal, field, spec, conversion in string.Formatter().parse(beginning(template)[2]):
        if field is not None and field not in TYPES and not (field == "None" and conversion == "v"):
            raise ValueError(f"no type {field!r} in a message")
        yield literal, field, spec or "", conversion


def escape(text: str) -> str:
    """Plain text as a template."""
    return text.replace("{", "{{").replace("}", "}}")


def one_of_texts(texts: Sequence[str]) -> str:
    """The template of one of several texts: the value is the number of the one to show."""
    return f"{{int!o:{'.'.join(text.encode().hex() for text in texts)}}}"


def texts_of(spec: str) -> list[str]:
    """The texts of a ``{int!o:...}``."""
    return [bytes.fromhex(part).decode() for part in spec.split(".")]


def places(message: Message) -> int:
    """How many values a message shows. Raises ``ValueError`` for malformed templates."""
    if isinstance(message, str):
        return message.count("{}")
    return sum(map(_holes, message))


def _holes(template: str) -> int:
    return sum(
        (field != "None") + (_holes(spec) if "{" in spec else 0)
        for _, field, spec, _ in pieces(template)
        if field is not None
    )


def exception(error: str, message: Message, values: Sequence[object], loc: Loc = UNKNOWN) -> BaseException:
    """The exception for ``adc.assert``: of class ``error``, about ``values``, from the source range ``loc``."""
    if isinstance(message, str):
        return runtime_error(error, format_message(message, values), loc)
    made: BaseException
    if message == KEPT:
        made = _kept.pop(int(values[0]))  # type: ignore[call-overload]
    else:
        made = _raised(error, message, iter(values))
    if isinstance(made, diagnostics.AdcError) and made.loc == UNKNOWN:
        return made.placed(loc)
    if loc != UNKNOWN:
        made.add_note("\n".join(place(loc)))
    return diagnostics.made(made)


def _raised(error: str, message: tuple[str, ...], values: Iterator[object]) -> Exception:
    try:
        given = [(beginning(template)[0], _argument(template, values)) for template in message]
        positional, named = [v for name, v in given if not name], {name: v for name, v in given if name}
        made: Exception = (class_of(error) or Exception)(*positional, **named)
    except Exception as problem:  # what Python raises instead, for instance for a wrong format
        made = problem.with_traceback(None)
        made.__context__ = None
    return made


def kept(error: BaseException) -> int:
    """Keep an exception until compiled code has returned. Returns its number, which is not zero."""
    number = next(_numbers)
    _kept[number] = error.with_traceback(None)
    return number


_numbers = itertools.count(1)
_kept: dict[int, BaseException] = {}


def _argument(template: str, values: Iterator[object]) -> object:
    only = list(pieces(template))
    if len(only) == 1 and only[0][0] == "" and only[0][3] == "v":
        field = only[0][1]
        return None if field in (None, "None") else TYPES[field](next(values))
    text = _text(template, values)
    return ast.literal_eval(text) if beginning(template)[1] else text


def filled(template: str, values: Sequence[object]) -> str:
    """A template with its values."""
    return _text(template, iter(values))


def _text(template: str, values: Iterator[object]) -> str:
    shown = []
    for literal, field, spec, conversion in pieces(template):
        shown.append(literal)
        if field is None:
            continue
        value = TYPES[field](next(values))
        if conversion == "o":
            shown.append(texts_of(spec)[value])
            continue
        if conversion == "%":
            shown.append(f"%{spec}" % value)
            continue
        if conversion:
            value = _CONVERSIONS[conversion](value)
        shown.append(format(value, _text(spec, values) if "{" in spec else spec))
    return "".join(shown)
