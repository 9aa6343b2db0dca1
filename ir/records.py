"""Dataclasses whose methods are compiled when they are first called.

The standard library compiles up to six methods of each dataclass while the class is defined. The compiler has hundreds
of such classes, and this took half of the time that loading it takes; most of them are not used in one process.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Iterable
from dataclasses import field as field
from dataclasses import replace as replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, *, frozen: bool = False, eq: bool = True) -> Any:
        """As ``dataclasses.dataclass``, for classes without slots and orders."""

        def made(cls: type) -> type:
            return _made(cls, frozen, eq)

        return made if cls is None else made(cls)


Fields = Iterable[dataclasses.Field[Any]]
_FACTORY = object()  # the default of a parameter whose value a factory makes


def _made(cls: type, frozen: bool, eq: bool) -> type:
    own = cls.__dict__
    # Without a docstring the standard library would write one, which takes long.
    undocumented = cls.__doc__ is None
    if undocumented:
        cls.__doc__ = cls.__name__
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    if undocumented:
        cls.__doc__ = None
    found = dataclasses.fields(cls)
    hashed = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    if "__init__" not in own:
        _later(cls, "__init__", lambda: _init(found, frozen, hasattr(cls, "__post_init__")))
    if "__repr__" not in own:
        cls.__repr__ = _repr([f.name for f in found if f.repr])  # type: ignore[assignment]
    if eq and "__eq__" not in own:
        _later(cls, "__eq__", lambda: _eq([f.name for f in found if f.compare]))
    if eq and not hashed:
        if frozen:
            _later(cls, "__hash__", lambda: _hash([f.name for f in found if (f.compare if f.hash is None else f.hash)]))
        else:
            cls.__hash__ = None  # type: ignore[assignment]
    if frozen:
        _freeze(cls, frozenset(f.name for f in found))
    return cls


def _later(cls: type, name: str, make: Callable[[], Callable[..., Any]]) -> None:
    """Give ``cls`` a method that puts what ``make`` returns in its own place when it is called first."""

    def method(self: Any, *given: Any, **named: Any) -> Any:
        made = make()
        if cls.__dict__[name] is method:
            setattr(cls, name, made)
        return made(self, *given, **named)

    method.__name__ = name
    setattr(cls, name, method)


def _compiled(head: str, body: Iterable[str], **known: Any) -> Callable[..., Any]:
    lines = "\n".join(f"    {line}" for line in body)
    exec(f"{head}\n{lines}", known)
    made: Callable[..., Any] = known[head[len("def ") : head.index("(")]]
    return made


def _init(found: Fields, frozen: bool, post: bool) -> Callable[..., Any]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_FACTORY": _FACTORY}
    parameters: list[str] = ["self"]
    named, body = list[str](), list[str]()
    for f in found:
        made = f.default_factory is not dataclasses.MISSING
        if made:
            known[f"_make_{f.name}"] = f.default_factory
        elif f.default is not dataclasses.MISSING:
            known[f"_default_{f.name}"] = f.default
        if f.init:
            given = "=_FACTORY" if made else "" if f.default is dataclasses.MISSING else f"=_default_{f.name}"
            (named if f.kw_only else parameters).append(f.name + given)
            value = f"_make_{f.name}() if {f.name} is _FACTORY else {f.name}" if made else f.name
        elif made:
            value = f"_make_{f.name}()"
        else:
            continue  # the default is an attribute of the class
        body.append(f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if named:
        parameters += ["*", *named]
    if post:
        body.append("self.__post_init__()")
    return _compiled(f"def __init__({', '.join(parameters)}):", body or ["pass"], **known)


def _eq(names: list[str]) -> Callable[..., Any]:
    mine, others = (f"({''.join(f'{whose}.{name}, ' for name in names)})" for whose in ("self", "other"))
    body = ("if other.__class__ is self.__class__:", f"    return {mine} == {others}", "return NotImplemented")
    return _compiled("def __eq__(self, other):", body)


def _hash(names: list[str]) -> Callable[..., Any]:
    return _compiled("def __hash__(self):", [f"return hash(({''.join(f'self.{name}, ' for name in names)}))"])


def _repr(names: list[str]) -> Callable[[Any], str]:
    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _freeze(cls: Any, names: frozenset[str]) -> None:
    def refuses(self: Any, name: str) -> bool:
        return type(self) is cls or name in names

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if refuses(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if refuses(self, name):
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__
