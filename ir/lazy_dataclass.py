"""``dataclass`` as in ``dataclasses``, for classes whose methods are made when the first of them is used.

``dataclasses`` writes the source of each method and compiles it, which takes half a millisecond for a class. adc has
hundreds, of which a program uses some: this was almost half of the time that it took to import adc. Here a class gets
descriptors in the places of what is to be made. When one of them is looked up, as a rule ``__init__``, ``dataclasses``
completes a copy of the class, and the class takes over what the copy got. From then on it is like any other dataclass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adc.ir import forks

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True):
        """``dataclasses.dataclass``, with the options that adc uses."""

        def late(cls: type) -> type:
            _Late(cls, frozen, eq)
            return cls

        return late if cls is None else late(cls)


_lock = forks.Lock()
_MADE = ("__init__", "__repr__", "__match_args__", "__dataclass_fields__", "__dataclass_params__")
_OF_EACH_CLASS = ("__dict__", "__weakref__", "__doc__")


class _Late:
    """A class that is to become a dataclass."""

    def __init__(self, cls: type, frozen: bool, eq: bool) -> None:
        self.cls = cls
        self.frozen = frozen
        self.eq = eq
        self.finished = False
        self.given = {name: value for name, value in vars(cls).items() if name not in _OF_EACH_CLASS}
        names = [name for name in (*_MADE, *(("__eq__",) if eq else ())) if name not in self.given]
        if eq and self.given.get("__hash__") is None:  # also where a class that defines __eq__ got None from Python
            if frozen:
                names.append("__hash__")
            else:
                cls.__hash__ = None  # type: ignore[assignment]
        for name in names:
            setattr(cls, name, _Place(self, name))
        if frozen:
            cls.__setattr__ = _refused(cls, "assign to")  # type: ignore[method-assign]
            cls.__delattr__ = _refused(cls, "delete")  # type: ignore[method-assign]

    def finish(self) -> None:
        """Give the class what ``dataclasses`` makes for it. In the meantime other threads wait for it, and after an
        interrupt it is done again."""
        with _lock:
            if self.finished:
                return
            names = {"__qualname__": self.cls.__qualname__, "__doc__": "a copy"}  # else words are made for it
            copy = type(self.cls)(self.cls.__name__, self.cls.__bases__, {**self.given, **names})
            dataclasses.dataclass(frozen=self.frozen, eq=self.eq)(copy)
            made = {name: value for name, value in vars(copy).items() if name not in _OF_EACH_CLASS}
            for name in (self.given.keys() - made.keys()) & vars(self.cls).keys():  # a field() without a default
                delattr(self.cls, name)
            for name, value in made.items():
                if self.given.get(name) is not value and name not in ("__setattr__", "__delattr__"):
                    setattr(self.cls, name, value)
            self.finished = True


class _Place:
    """What stands in a class for ``name`` until the class is finished."""

    def __init__(self, late: _Late, name: str) -> None:
        self.late = late
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        self.late.finish()
        found = vars(self.late.cls)[self.name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found


def _refused(cls: type, what: str) -> Any:
    """A method of a frozen class, as ``dataclasses`` makes it."""
    kept: Callable[..., None] = cls.__setattr__ if what == "assign to" else cls.__delattr__

    def refused(self: object, name: str, *value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")
        kept(self, name, *value)

    return refused
