"""The looks of a trace: everything outside a function that tracing read, how to read it again, and what was seen.

Compiled code is valid while each look still sees the same. Whatever in the frontend reads a Python object that can be
changed (a variable, an attribute, a function's code and defaults, a name that did not exist) does so by a look, and all
looks are in one ``Looks``. The way a look reads says where its object is, so that compiled code can check it without
Python.
"""

from __future__ import annotations

import builtins
import gc
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Absent:
    """What a look sees if there is nothing."""

    def __repr__(self) -> str:
        return "nothing"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


# How a look reads. The arguments of each class say where, so that a look can be written down and found again.


class Variable:
    """An entry of a namespace: a module's variable."""

    __slots__ = ("name", "namespace")
    has_version = True  # its namespace has a version, where dictionaries have one

    def __init__(self, namespace: dict[str, Any], name: str) -> None:
        self.namespace = namespace
        self.name = name

    def __call__(self) -> Any:
        return self.namespace[self.name]

    @property
    def place(self) -> tuple[Any, ...]:
        return "variable", id(self.namespace), self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.namespace, self.name)


class _Owned(Variable):
    """An entry of a namespace that belongs to an object."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any, name: str) -> None:
        super().__init__(self._of(owner), name)
        self.owner = owner

    @staticmethod
    def _of(owner: Any) -> dict[str, Any]:
        """The namespace."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.owner, self.name)


class ClassVariable(_Owned):
    """What a class itself defines."""

    __slots__ = ()

    @staticmethod
    def _of(owner: type) -> dict[str, Any]:
        return namespace_of(owner)


class KeywordDefault(_Owned):
    """The default of a keyword-only parameter of a function."""

    __slots__ = ()

    @staticmethod
    def _of(owner: types.FunctionType) -> dict[str, Any]:
        return owner.__kwdefaults__ or {}


class Field(_Owned):
    """An entry of the dictionary of an object other than a module. Some interpreters (3.13) store to an attribute
    without giving the dictionary another version."""

    __slots__ = ()
    has_version = False

    @staticmethod
    def _of(owner: Any) -> dict[str, Any]:
        space: dict[str, Any] = owner.__dict__
        return space


class CellVariable:
    """A variable of an enclosing function."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell

    def __call__(self) -> Any:
        return self.cell.cell_contents

    @property
    def place(self) -> tuple[Any, ...]:
        return "cell", id(self.cell)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cell,)


class Part:
    """A part that every function or class has: ``__code__``, ``__defaults__``, ``__mro__``; or an attribute of any
    other object."""

    __slots__ = ("attribute", "owner")

    def __init__(self, owner: Any, attribute: str) -> None:
        self.owner = owner
        self.attribute = attribute

    def __call__(self) -> Any:
        return getattr(self.owner, self.attribute)

    @property
    def place(self) -> tuple[Any, ...]:
        return "part", id(self.owner), self.attribute

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.owner, self.attribute)


class Object:
    """A known object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value,)


class Item:
    """An item of the object that another look sees."""

    __slots__ = ("key", "of")

    def __init__(self, of: Callable[[], Any], key: Any) -> None:
        self.of = of
        self.key = key

    def __call__(self) -> Any:
        return self.of()[self.key]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.of, self.key)


class Attribute(Item):
    """An attribute of the object that another look sees."""

    __slots__ = ()

    def __call__(self) -> Any:
        return getattr(self.of(), self.key)


class Found:
    """The result of a function of adc's on the object that another look sees."""

    __slots__ = ("ask", "of")

    def __init__(self, of: Callable[[], Any], ask: Callable[[Any], Any]) -> None:
        self.of = of
        self.ask = ask

    def __call__(self) -> Any:
        return self.ask(self.of())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.of, self.ask)


class Answer:
    """Python's answer about an object and something else: ``hasattr(owner, name)``, ``issubclass(cls, others)``."""

    __slots__ = ("ask", "owner", "place", "what")

    def __init__(self, ask: Callable[[Any, Any], bool], owner: Any, what: Any) -> None:
        self.ask = ask
        self.owner = owner
        self.what = what
        self.place = (ask.__name__, id(owner), what if isinstance(what, str) else id(what))

    def __call__(self) -> bool:
        return self.ask(self.owner, self.what)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ask, self.owner, self.what)


class Sameness:
    """Whether two variables hold the same object."""

    __slots__ = ("one", "other", "place")

    def __init__(self, one: Callable[[], Any], other: Callable[[], Any], place: tuple[Any, ...]) -> None:
        self.one = one
        self.other = other
        self.place = ("same", *place)

    def __call__(self) -> bool:
        return self.one() is self.other()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.one, self.other, self.place)


def look(fetch: Callable[[], Any]) -> Any:
    """The value there, or ``ABSENT``."""
    try:
        return fetch()
    except (LookupError, AttributeError, ValueError, TypeError):
        return ABSENT


class Look:
    """``fetch()`` looks again; ``seen`` is what was there, an object that is kept alive."""

    __slots__ = ("fetch", "name", "seen")

    def __init__(self, name: str, fetch: Callable[[], Any], seen: Any) -> None:
        self.name = name
        self.fetch = fetch
        self.seen = seen

    def holds(self) -> bool:
        """Whether the look sees the same. Another object that is equal and immutable replaces the one that was seen."""
        now = look(self.fetch)
        if now is not self.seen:
            if type(now) is not type(self.seen) or not isinstance(now, _INTERCHANGEABLE) or now != self.seen:
                return False
            self.seen = now
        return True


class Structure(tuple[Any, ...]):
    """What code depends on in a container; see ``adc.frontend.names``."""

    __slots__ = ()


_INTERCHANGEABLE = (str, bytes, int, Structure)
_MUTABLE_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


class Looks:
    """All looks of a trace, each place once. ``table`` is for the code that checks them without Python."""

    def __init__(self, looks: Iterable[Look] = ()) -> None:
        self._looks: dict[tuple[Any, ...], Look] = {("given", n): look for n, look in enumerate(looks)}
        self.table: Any = None

    def __iter__(self) -> Iterator[Look]:
        return iter(self._looks.values())

    def __len__(self) -> int:
        return len(self._looks)

    def hold(self) -> bool:
        """Whether all see what they saw."""
        return all(look.holds() for look in self._looks.values())

    def at(self, name: str, fetch: Any, seen: Any, place: tuple[Any, ...] | None = None) -> None:
        """Note what was seen where ``fetch`` looks; ``place`` identifies that place if ``fetch`` does not."""
        self._looks.setdefault(getattr(fetch, "place", place or ()), Look(name, fetch, seen))

    def absent(self, namespace: dict[str, Any], name: str) -> None:
        """Note that a name is not in a namespace."""
        self.at(name, Variable(namespace, name), ABSENT)

    def builtin(self, module_globals: dict[str, Any], name: str) -> Any:
        """One of Python's built-in names, which a variable of the module would hide."""
        space = vars(builtins)
        self.absent(module_globals, name)
        self.at(name, Variable(space, name), space[name])
        return space[name]

    def function(self, fn: types.FunctionType) -> None:
        """Note a function that is traced: its code and the defaults of its parameters."""
        for attribute in ("__code__", "__defaults__", "__kwdefaults__"):
            self.at(f"{fn.__name__}.{attribute}", Part(fn, attribute), getattr(fn, attribute))
        for name, value in (fn.__kwdefaults__ or {}).items():
            self.at(f"{fn.__name__}.{name}", KeywordDefault(fn, name), value)

    def unwrapped(self, obj: Any) -> None:
        """Note what decorators wrapped, down to the function that is traced."""
        while not isinstance(obj, types.FunctionType) and hasattr(obj, "__wrapped__"):
            self.at(f"{type(obj).__name__}.__wrapped__", attribute_place(obj, "__wrapped__"), obj.__wrapped__)
            obj = obj.__wrapped__

    def member(self, cls: type, name: str, after: type | None = None) -> tuple[Any, type]:
        """What instances of a class find under a name, and the class that defines it, among those after ``after``;
        ``ABSENT`` if none does. Notes that no class before it defines the name; noting what was found is left to the
        caller."""
        self.order(cls)
        order = cls.__mro__
        for owner in order[order.index(after) + 1 :] if after is not None else order:
            if name in vars(owner):
                return vars(owner)[name], owner
            if owner.__flags__ & _MUTABLE_TYPE:
                self.at(f"{owner.__name__}.{name}", ClassVariable(owner, name), ABSENT)
        return ABSENT, cls

    def order(self, cls: type) -> None:
        """Note the method resolution order of ``cls``."""
        if cls.__flags__ & _MUTABLE_TYPE:
            self.at(f"{cls.__name__}.__mro__", Part(cls, "__mro__"), cls.__mro__)

    def has(self, owner: Any, name: str) -> bool:
        """Whether an object has an attribute."""
        found = hasattr(owner, name)
        if not found and isinstance(owner, types.ModuleType) and not hasattr(owner, "__getattr__"):
            self.absent(vars(owner), name)
        else:
            self.at(name, Answer(hasattr, owner, name), found)
        return found

    def counts_as(self, cls: type, others: Any) -> bool:
        """``issubclass(cls, others)``."""
        found = issubclass(cls, others)
        kinds = {type(c) for c in (others if isinstance(others, tuple) else (others,))}
        if kinds == {type}:
            self.order(cls)
        else:
            self.at(cls.__name__, Answer(issubclass, cls, others), found)
        return found


def attribute_place(owner: Any, name: str) -> Variable | Part:
    """How to read an attribute: of modules, and of what adc makes, in their namespaces, if it is there."""
    is_module = isinstance(owner, types.ModuleType)
    if is_module or type(owner).__module__.split(".")[0] == "adc":
        own = getattr(owner, "__dict__", {})
        if name in own:
            return Variable(own, name) if is_module else Field(owner, name)
    return Part(owner, name)


def namespace_of(cls: type) -> dict[str, Any]:
    """The dictionary behind ``vars(cls)``, which shows it read-only."""
    for found in gc.get_referents(vars(cls)):
        if isinstance(found, dict):
            return found
    raise AssertionError(f"{cls} has no namespace")
