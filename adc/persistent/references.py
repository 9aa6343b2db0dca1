"""Pickles compiled functions, with references to Python objects that another process finds in the same way.

A function, a class or an object on which code depends is not written: it is *referred to*, by a path that leads to it
from the compiled function, or by its name in a module. Objects that no path leads to are refused with ``UnknownThing``,
so that a copy never replaces an object.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.driver.fingerprints import INSIDE, PLAIN, UnknownThing, file_of_cell, is_of_library
from adc.frontend.functions.mapped import MAPPED
from adc.frontend.looks import Object, Structure, Variable
from adc.ir import core

Reference = tuple[Any, ...]
_BY_VALUE = frozenset({tuple, list, dict, set, frozenset, *PLAIN})
_BY_NAME = (types.BuiltinFunctionType, type(np.sum), np.ufunc, np.dtype, np.generic)
_NEVER = (core.Op, core.Value, core.Block, core.Func, types.CodeType, types.CellType, types.MethodType)


class Writer(pickle.Pickler):
    """A pickler to ``out`` that replaces known objects by references."""

    def __init__(self, out: io.BytesIO) -> None:
        super().__init__(out, pickle.HIGHEST_PROTOCOL)
        self._known: dict[int, Reference] = {}
        self._alive: list[object] = []
        self._modules = {id(vars(m)): name for name, m in list(sys.modules.items()) if type(m) is types.ModuleType}

    def know(self, obj: Any, reference: Reference) -> None:
        """From now on write ``reference`` in place of the object, and extended references in place of its parts."""
        if type(obj) in PLAIN or id(obj) in self._known:
            return
        self._known[id(obj)] = reference
        self._alive.append(obj)
        if isinstance(obj, types.FunctionType):
            self._know_function(obj, reference)
        elif isinstance(obj, type) and not is_of_library(obj):
            self._know_class(obj, reference)
        elif type(obj) is Structure:
            self.know(obj[0].cls, ("part", ("item", reference, 0), "cls"))
        names = INSIDE.get(type(obj), ())
        if type(obj).__module__.split(".")[0] == "adc":
            names = tuple(name for name in ("__wrapped__", "_differentiated") if hasattr(obj, name))
        for name in names:
            self.know(getattr(obj, name), ("part", reference, name))

    def _know_function(self, fn: types.FunctionType, reference: Reference) -> None:
        self._known.setdefault(id(fn.__globals__), ("part", reference, "__globals__"))
        for k, cell in enumerate(fn.__closure__ or ()):
            self._known.setdefault(id(cell), ("item", ("part", reference, "__closure__"), k))
        for k, part in enumerate(vars(fn).get(MAPPED, ())):
            self.know(part, ("item", ("part", reference, MAPPED), k))

    def _know_class(self, cls: type, reference: Reference) -> None:
        for k, base in enumerate(cls.__mro__):
            self.know(base, ("item", ("part", reference, "__mro__"), k))
        for name, value in vars(cls).items():
            if isinstance(value, types.FunctionType) or type(value) in INSIDE:
                self.know(value, ("item", ("part", reference, "__dict__"), name))

    def persistent_id(self, obj: Any) -> Reference | None:
        found = self._known.get(id(obj))
        if found is not None:
            return found
        cls = type(obj)
        if cls in _BY_VALUE:
            return ("globals", self._modules[id(obj)]) if cls is dict and id(obj) in self._modules else None
        if cls is core.Loc and file_of_cell(obj.file, obj.file) is not None:
            return "cell", *dataclasses.astuple(obj)
        if cls is core.Module:
            return ("module",)
        if cls is types.MethodType and obj.__name__ == "_miss":  # a method of the dispatcher that owns the code
            return ("miss",)
        if isinstance(obj, types.ModuleType) and sys.modules.get(obj.__name__) is obj:
            return "imported", obj.__name__
        if cls is Variable and not {id(obj.namespace)} & (self._known.keys() | self._modules.keys()):
            raise UnknownThing(f"where the variable {obj.name} is")
        if cls is Object and type(obj.value) not in PLAIN and id(obj.value) not in self._known:
            raise UnknownThing(repr(type(obj.value)))
        if isinstance(obj, _NEVER) or not self._has_value(obj):
            raise UnknownThing(repr(cls))
        return None

    def _has_value(self, obj: Any) -> bool:
        """Whether a copy is as good as the object, or its name leads to the same object."""
        if isinstance(obj, type | types.FunctionType):
            return is_of_library(obj)  # the user's must be found in the same way as in tracing
        if isinstance(obj, _BY_NAME) or type(obj).__module__.split(".")[0] == "adc":
            return True
        if type(obj) is functools.partial:
            return str(getattr(obj.func, "__module__", "")).startswith("adc.")
        return type(obj) is pickle.PickleBuffer or (type(obj) is np.ndarray and obj.size == 0)


class Reader(pickle.Unpickler):
    """Reads what a ``Writer`` wrote, given the objects of the root references (those that are not parts of others)."""

    def __init__(self, data: io.BytesIO) -> None:
        super().__init__(data)
        self.known: dict[Reference, Any] = {}

    def file_of_cell(self, file: str) -> str:
        """This process's name for the file of a notebook cell, given the name in another process."""
        found = file_of_cell(file, self.known["fn",].__code__.co_filename)
        return file if found is None else found

    def persistent_load(self, reference: Reference) -> Any:
        if reference in self.known:
            return self.known[reference]
        return _FOLLOW[reference[0]](self, *reference[1:])


_FOLLOW: dict[str, Callable[..., Any]] = {
    "cell": lambda reader, file, *place: core.Loc(reader.file_of_cell(file), *place),
    "globals": lambda reader, name: vars(sys.modules[name]),
    "item": lambda reader, owner, k: reader.persistent_load(owner)[k],
    "part": lambda reader, owner, name: getattr(reader.persistent_load(owner), name),
    "imported": lambda reader, name: sys.modules[name],
    "module": lambda reader: core.Module({}),
}
