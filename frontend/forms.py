"""Python's containers: their kinds, and how objects of each kind are taken apart and put together.

Containers exist only while a function is traced, and where it is called from Python. A ``Form`` is what remains of one
without its items: the class, and the names of the items.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import sys
import types
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from adc.frontend.foreign import instead_of
from adc.ir.lazy_dataclass import dataclass

Sort = Literal[
    "tuple", "namedtuple", "record", "object", "list", "dict", "function", "choice", "text", "complex", "structured",
    "slice", "handle",
]  # fmt: skip
MUTABLE = frozenset({"object", "list", "dict"})


@dataclass(frozen=True)
class Form:
    """A container without its items. ``names`` are fields or keys; tuples and lists have none, except lists of run-time
    length: these have an ``abstract.Row``, and their items are the length and the columns.

    ``record`` is an instance of a frozen dataclass, ``object`` one of any other class. Where several values travel
    together, mutable objects are numbered; ``again`` stands for an object that has occurred before, without items;
    ``kin`` are the numbers of earlier objects that it may be. ``protected``, if not empty, says why it must not be
    mutated. A ``function`` was defined in a traced function, or is a partial. A ``choice`` is one of several constants
    or functions: ``names`` tell them apart; the items are the number of the chosen one, and all of them. A ``text`` has
    a template as its name, and numbers as items. A ``complex`` number has two parts, and a ``slice`` made by traced
    code has three; other slices are constants. A ``structured`` array of NumPy's, or an element of one (then ``cls`` is
    a ``np.void``), has one item for each field of its ``dtype``: the view of that field. A ``handle`` is an object of a
    pool (``objects.pools``): the pool, and the number of the object in it.
    """

    kind: Sort
    cls: type
    names: tuple[Hashable, ...] = ()
    number: int = -1
    again: bool = False
    kin: tuple[int, ...] = ()
    protected: str = ""
    dtype: Any = None

    @property
    def mutable(self) -> bool:
        return self.kind in MUTABLE

    @property
    def copied(self) -> bool:
        """Whether lists of run-time length have copies of such a container: of a list, or a dict, that is known."""
        return self == LIST or (self.kind == "dict" and self.cls is dict)

    @property
    def grows(self) -> bool:
        """Whether this is a list of run-time length."""
        return self.kind == "list" and bool(self.names)

    def label(self, position: int) -> str:
        """How the item at ``position`` is written after the container's own name."""
        if self.kind in ("tuple", "list"):
            return f"[{position}]"
        name = self.names[position]
        return f"[{name!r}]" if self.kind in ("dict", "structured") else f".{name}"

    def numbered(self, number: int, protected: str = "", kin: tuple[int, ...] = ()) -> Form:
        return Form(self.kind, self.cls, self.names, number, self.again, kin, protected)

    def plain(self) -> Form:
        """The form of what the object holds, without its identity."""
        return replace(self, number=-1, kin=(), protected="") if self.number >= 0 else self

    def __str__(self) -> str:
        return f"function {self.names[0]}" if self.kind == "function" else self.cls.__name__


_VALUES = (np.ndarray, np.generic, enum.Enum, type, BaseException, int, float, str, bytes, complex)  # taken as they are
SPECIAL = ("__getattr__", "__getattribute__", "__setattr__")  # refused: adc follows attributes itself
TUPLE = Form("tuple", tuple)
LIST = Form("list", list)
BOUND = Form("record", types.MethodType, ("__self__", "__func__"))
SLICE = Form("slice", slice, ("start", "stop", "step"))
COMPLEX: dict[type, Form] = {
    cls: Form("complex", cls, ("real", "imag")) for cls in (complex, np.complex128, np.complex64)
}


class Unsuitable(TypeError):
    """An object that cannot be taken apart, and why; ``help``: what to pass instead, if that is known."""

    def __init__(self, reason: str, help: str = "") -> None:
        super().__init__(reason)
        self.help = help


def kind_of_class(cls: type) -> Sort | None:
    """The kind of container that instances of ``cls`` are, or None. Raises ``Unsuitable``."""
    kind = _kind_of_class(cls)
    if kind == "object" or kind == "record":
        _refuse_special(cls)  # each time: classes can be changed
    return kind


def _refuse_special(cls: type) -> None:
    if cls is types.SimpleNamespace:  # its attributes are those of a plain object
        return
    for c in cls.__mro__:
        own = c.__dict__  # written inline, since each call with objects comes here
        if ("__setattr__" in own or "__getattribute__" in own or "__getattr__" in own) and c is not object:
            for special in SPECIAL:
                if special in own and not (special == "__setattr__" and is_frozen(cls)):
                    raise Unsuitable(f"{cls.__name__}, a class with {special}, is not supported")


@functools.lru_cache(maxsize=1024)
def _kind_of_class(cls: Any) -> Sort | None:
    if cls in (tuple, list, dict):
        return "tuple" if cls is tuple else "list" if cls is list else "dict"
    if issubclass(cls, tuple):
        if hasattr(cls, "_fields") and hasattr(cls, "_make"):
            return "namedtuple"
        if _builtin(cls):
            return None
        raise Unsuitable(f"{cls.__name__}, a subclass of tuple, is not supported")
    if issubclass(cls, list | dict | set | frozenset | bytearray):
        if cls is frozenset:
            return None
        raise Unsuitable(f"a {cls.__name__} is not supported")
    if _builtin(cls) or issubclass(cls, _VALUES) or issubclass(cls, types.ModuleType):
        return None
    if cls is types.SimpleNamespace:
        return "object"
    foreign = instead_of(cls)
    if foreign is not None:
        raise Unsuitable(f"{foreign[0]} is not supported", f"pass {foreign[1]}")
    if not (dataclasses.is_dataclass(cls) or "__dict__" in _members(cls) or _slots(cls)):
        return None
    return "record" if is_frozen(cls) else "object"


def _builtin(cls: type) -> bool:
    """Whether a class is not the user's: its instances are then not taken apart."""
    root = (cls.__module__ or "").split(".")[0]
    if root.startswith("_cython_"):  # functions compiled by Cython
        return True
    return (root in sys.stdlib_module_names and root not in ("__main__", "types")) or root in ("numpy", "adc", "scipy")


def _members(cls: type) -> set[str]:
    return {name for c in cls.__mro__ for name in vars(c)}


def is_frozen(cls: type) -> bool:
    """Whether a class is a frozen dataclass."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and bool(params.frozen)


@functools.lru_cache(maxsize=1024)
def _slots(cls: Any) -> tuple[str, ...]:
    found: list[str] = []
    for c in reversed(cls.__mro__):
        own = vars(c).get("__slots__", ())
        found += [own] if isinstance(own, str) else list(own)
    return tuple(name for name in found if name not in ("__dict__", "__weakref__"))


def may_have(cls: type, name: str) -> bool:
    """Whether instances may have an attribute of this name."""
    return "__dict__" in _members(cls) or name in _slots(cls)


def has_only_dict(cls: type) -> bool:
    """Whether all attributes of instances are in their ``__dict__``."""
    return "__dict__" in _members(cls) and not _slots(cls)


@functools.lru_cache(maxsize=1024)
def field_names(cls: type) -> tuple[str, ...]:
    """The fields that instances of a class are declared to have, in order."""
    if dataclasses.is_dataclass(cls):
        return tuple(f.name for f in dataclasses.fields(cls))
    return _slots(cls)


def form_of(value: Any) -> Form | None:
    """The form of an object; None if it is not a container. Raises ``Unsuitable``."""
    cls: type[Any] = type(value)
    if cls in COMPLEX:
        return COMPLEX[cls]
    if isinstance(value, np.ndarray | np.void):
        return structured_form(cls, value.dtype) if value.dtype.names else None
    if cls is types.MethodType:
        return BOUND
    if hasattr(value, "__wrapped__") and callable(value):
        return None  # a wrapped function
    kind = kind_of_class(cls)
    if kind is None:
        return None
    if kind == "tuple":
        return TUPLE
    if kind == "list":
        return LIST
    if kind == "dict":
        return Form(kind, cls, tuple(value))
    if kind == "namedtuple":
        return Form(kind, cls, tuple(cls._fields))
    return Form(kind, cls, tuple(_set_names(value, cls)))


def shape_of(value: Any) -> tuple[Any, ...] | None:
    """A cheap key for common containers: objects with equal keys have the same form. None for other objects."""
    cls: Any = type(value)
    if cls is list:
        return list, len(value)
    if cls is dict:
        return dict, *value
    own = getattr(value, "__dict__", None)
    return (cls, *own) if own is not None and kind_of_class(cls) == "object" and not _slots(cls) else None


def _set_names(value: Any, cls: type) -> Iterator[str]:
    """The attributes that an instance has; unset fields are left out."""
    own = getattr(value, "__dict__", {})
    declared = field_names(cls)
    slots = set(_slots(cls))
    for name in declared:
        if name in own or (name in slots and _has_slot(value, cls, name)):
            yield name
    for name in own:
        if name not in declared:
            yield name


def _has_slot(value: Any, cls: type, name: str) -> bool:
    try:
        getattr(value, name)
    except AttributeError:
        return False
    return True


def items_of(value: Any, form: Form) -> list[Any]:
    """The items of an object, in the order of its form."""
    if form.kind in ("tuple", "namedtuple", "list"):
        return list(value)
    if form.kind == "dict":
        return [value[name] for name in form.names]
    if form.kind == "structured":
        plain = value.view(np.ndarray) if isinstance(value, np.ndarray) else value
        return [plain[str(name)] for name in form.names]
    return [getattr(value, str(name)) for name in form.names]


def build(form: Form, items: Sequence[Any]) -> Any:
    """A new object of a form. Neither ``__init__`` nor ``__post_init__`` is called."""
    if form.kind == "tuple":
        return tuple(items)
    if form.kind == "list":
        return _listed(form, items)
    if form.kind == "dict":
        return dict(zip(form.names, items, strict=True))
    if form.kind == "namedtuple":
        return form.cls._make(items)  # type: ignore[attr-defined]
    if form.kind == "slice":
        return slice(*items)
    if form.kind == "choice":
        return items[1 + items[0]]
    if form.kind == "handle":
        return items[0][items[1]]
    if form.kind == "complex":
        return form.cls(complex(*items))
    if form.kind == "structured":
        return _structured(form, items)
    if form == BOUND:
        return items[0]  # for a gradient: that of the object
    made: Any = types.SimpleNamespace() if form.cls is types.SimpleNamespace else object.__new__(form.cls)
    for name, item in zip(form.names, items, strict=True):
        object.__setattr__(made, str(name), item)
    return made


def structured_form(cls: type, dtype: np.dtype[Any]) -> Form:
    """The form of a structured array. Raises ``Unsuitable`` for one whose fields share memory."""
    assert dtype.names is not None and dtype.fields is not None
    if issubclass(cls, np.ma.MaskedArray):
        raise Unsuitable(f"a {cls.__name__} is not supported", "pass a plain ndarray")
    parts = sorted((dtype.fields[name][1], dtype.fields[name][0].itemsize) for name in dtype.names)
    if any(start + size > after for (start, size), (after, _) in itertools.pairwise(parts)):
        raise Unsuitable("a structured array whose fields share memory is not supported", "pass the fields one by one")
    return Form("structured", cls, dtype.names, dtype=dtype)


def _structured(form: Form, items: Sequence[Any]) -> Any:
    """An array of the dtype with these fields; fields that are None are zero."""
    shape: tuple[int, ...] = ()
    for name, item in zip(form.names, items, strict=True):
        if item is not None:
            own = form.dtype[name].ndim
            shape = np.shape(item)[: np.ndim(item) - own]
            break
    made = np.zeros(shape, form.dtype)
    for name, item in zip(map(str, form.names), items, strict=True):
        if item is not None:
            made[name] = item
    if issubclass(form.cls, np.void):
        return made[()]
    return made if form.cls is np.ndarray else made.view(form.cls)


def _listed(form: Form, items: Sequence[Any]) -> list[Any]:
    return form.names[0].listed(items) if form.names else list(items)  # type: ignore[attr-defined]


def fill(value: Any, form: Form, items: Sequence[Any]) -> None:
    """Give an existing object the contents of a form. Items that have not changed are not assigned again."""
    if form.kind == "list":
        value[:] = _listed(form, items)
    elif form.kind == "dict":
        wanted = dict(zip(form.names, items, strict=True))
        if list(value) != list(wanted):
            value.clear()
        value.update(wanted)
    else:
        for name, item in zip(form.names, items, strict=True):
            if getattr(value, str(name), value) is not item:
                object.__setattr__(value, str(name), item)
