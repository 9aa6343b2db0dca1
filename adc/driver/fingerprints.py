"""Fingerprints, which tell whether an object that tracing looked at is the same in another process.

Within one process, objects are the same if they are identical. Between processes, they are the same if they have the
same fingerprint, which is made of texts, numbers and tuples of these. That of code has its instructions and its place
in the source, which error messages show; that of a class has its methods, that of a module its version. Everything else
that code depends on has looks of its own.
"""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import functools
import hashlib
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.border.pickling import parts_of
from adc.frontend.functions.mapped import MAPPED
from adc.frontend.looks import Structure
from adc.frontend.marker import same_parameters
from adc.frontend.rules.registry import Rule
from adc.frontend.syntax import texts
from adc.ir.types import Type

PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, type(...), range, slice})
INSIDE: dict[type, tuple[str, ...]] = {
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    functools.cached_property: ("func", "attrname"),
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__func__", "__self__"),
}
_LIBRARIES = frozenset({"adc", "numpy", *sys.stdlib_module_names})
_MEMOS = ("__adc__", "__adc_vmaps__")  # objects that adc made from a function
_EVERYWHERE = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl"})  # in all classes


# The file names that Jupyter's kernel gives to cells; the number is that of the process.
_NOTEBOOK = re.compile(r"([\\/]ipykernel_)\d+(?=[\\/])")


def file_of_cell(file: str, like: str) -> str | None:
    """The name of a cell's file in the process that has the file ``like``; None for files that are not cells."""
    found, here = _NOTEBOOK.search(file), _NOTEBOOK.search(like)
    return None if found is None or here is None else file.replace(found[0], here[0], 1)


class UnknownThing(Exception):
    """An object that cannot be identified in another process."""


def fingerprint(obj: Any) -> object:
    """Nested tuples of texts and numbers. Raises ``UnknownThing``."""
    cls = type(obj)
    if cls in PLAIN:
        return cls.__name__, repr(obj)
    if isinstance(obj, Type):
        return "type", str(obj)
    if cls is tuple or cls is Structure or cls is list:
        return cls.__name__, tuple(map(fingerprint, obj))
    if cls is dict:
        return "dict", tuple((fingerprint(key), fingerprint(value)) for key, value in obj.items())
    if cls is frozenset:
        return "frozenset", tuple(sorted(map(repr, map(fingerprint, obj))))
    if (kind := next((kind for kind in _KINDS if isinstance(obj, kind)), None)) is not None:
        return _KINDS[kind](obj)
    if cls in INSIDE:
        return cls.__name__, tuple(fingerprint(getattr(obj, name)) for name in INSIDE[cls])
    if (parts := parts_of(obj)) is not None:
        return cls.__qualname__, tuple(map(fingerprint, parts))
    if dataclasses.is_dataclass(obj) and cls.__module__.startswith("adc."):
        return cls.__qualname__, tuple(fingerprint(getattr(obj, f.name)) for f in dataclasses.fields(obj))
    return _by_name(obj)


def is_of_library(obj: Any) -> bool:
    """Whether a function or class belongs to adc, NumPy or Python, and so changes only with their version."""
    return str(getattr(obj, "__module__", None)).split(".")[0] in _LIBRARIES


def digest(obj: Any) -> str:
    """A digest of the fingerprint, 64 letters."""
    return hashlib.sha256(repr(fingerprint(obj)).encode()).hexdigest()


def of_rules(rules: list[Rule]) -> object:
    """The fingerprint of derivative rules."""
    made = [(r.kind, r.types, r.rest, r.implementation, r.partials, r.name, r.file, r.line) for r in rules]
    return fingerprint(tuple(made))


def _code(code: types.CodeType) -> object:
    """The instructions of code and of its inner functions, with their places in the source."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    placed = _NOTEBOOK.sub(r"\1", code.co_filename), code.co_firstlineno, code.co_qualname, code.co_linetable
    whole = texts.facts(code), placed, [_code(c) for c in inner]
    return "code", hashlib.sha256(repr(whole).encode()).hexdigest()


def _function(fn: types.FunctionType) -> object:
    """The code of a function, and information from its annotations and ``adc.vmap``. Captured variables have looks of
    their own, made by tracing."""
    named = "function", fn.__module__, fn.__qualname__, _code(fn.__code__), same_parameters(fn)
    marks = [name for name in vars(fn) if name.startswith("__adc_") and name not in _MEMOS]
    if not marks:
        return named
    if marks != [MAPPED]:
        raise UnknownThing(f"{fn.__qualname__}, which is {', '.join(marks)}")
    return *named, tuple(map(fingerprint, vars(fn)[MAPPED][1:]))


def _class(cls: type) -> object:
    """The name of a class, and the definitions in it and its base classes, as far as they are the user's."""
    named = "class", cls.__module__, cls.__qualname__
    if is_of_library(cls):
        return named
    return *named, tuple((c.__module__, c.__qualname__, () if is_of_library(c) else _defined(c)) for c in cls.__mro__)


def _defined(cls: type) -> object:
    own = tuple((name, _member(value)) for name, value in vars(cls).items() if name not in _EVERYWHERE)
    fields = vars(cls).get("__dataclass_fields__", {})
    facts = ("name", "init", "repr", "hash", "compare", "kw_only", "default")
    of_fields = tuple(tuple(_member(getattr(f, fact)) for fact in facts) for f in fields.values())
    return own, of_fields, repr(vars(cls).get("__dataclass_params__"))


def _member(value: Any) -> object:
    """A member of a class: methods by their code, constants by their values, others by their type."""
    inside = [getattr(value, name) for name in INSIDE.get(type(value), ())]
    if inside:
        return type(value).__name__, tuple(_member(part) for part in inside)
    if isinstance(value, enum.Enum):
        return value.name, _member(value.value)
    if type(value) is tuple:
        return tuple(_member(item) for item in value)
    try:
        if type(value) in PLAIN or isinstance(value, types.FunctionType):
            return fingerprint(value)
    except UnknownThing:
        pass
    return type(value).__qualname__


def _by_name(obj: Any) -> object:
    """Objects that pickle by name: functions and constants of libraries, and methods of these."""
    reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(type(obj))
    try:
        found = reduce(obj) if reduce is not None else obj.__reduce_ex__(4)
    except Exception as error:
        raise UnknownThing(repr(type(obj))) from error
    if isinstance(found, str):
        return "global", type(obj).__qualname__, getattr(obj, "__module__", None), found
    if isinstance(found, tuple) and found[0] is getattr:
        owner, name = found[1]
        return "attribute", fingerprint(owner), name
    raise UnknownThing(repr(type(obj)))


_KINDS: dict[type, Callable[[Any], object]] = {
    enum.Enum: lambda obj: ("enum", _class(type(obj)), obj.name),  # the class contains its value
    np.dtype: lambda obj: ("dtype", repr(obj)),
    np.generic: lambda obj: ("number", type(obj).__name__, repr(obj)),
    types.CodeType: _code,
    types.FunctionType: _function,
    type: _class,
    types.ModuleType: lambda obj: ("module", obj.__name__, str(getattr(obj, "__version__", ""))),
}
