"""Functions as values: bound to objects, defined in traced functions, and ``functools.partial``."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from types import FunctionType
from typing import Any

from adc.frontend import abstract
from adc.frontend.data.values import AbstractValue, Compound, Method, Static
from adc.frontend.forms import BOUND, Form
from adc.frontend.syntax.source import FunctionSource
from adc.ir.lazy_dataclass import dataclass


class Scope:
    """The place where the variables of a function live: a frame, a class that is built on the values here."""


class Bound(Compound):
    """A Python function bound to the object that it is a method of, or to its class: the two items."""

    @property
    def owner(self) -> AbstractValue:
        return self.items[0]

    @property
    def function(self) -> AbstractValue:
        return self.items[1]


def bound(owner: AbstractValue, function: AbstractValue) -> Bound:
    return Bound((owner, function), BOUND)


@dataclass(frozen=True)
class Code:
    """A function defined in a traced function, without the values that belong to it. Compared by the syntax tree, by
    where its variables live, and by how many values there are.

    ``free`` names its free variables. They live in ``frame``, where they are read when the function is called. Once it
    has been passed on, their values are instead among those that it ``captured``: its own and those of the functions of
    the same frame that it calls. ``cells`` are the variables of functions outside the traced one.
    """

    source: FunctionSource = field(compare=False)
    node: ast.AST
    free: tuple[str, ...]
    defaults: int
    keywords: tuple[str, ...]
    frame: Scope | None
    captured: tuple[str, ...]
    cell_ids: tuple[int, ...]
    module_globals: dict[str, Any] = field(compare=False)
    cells: dict[str, Any] = field(compare=False)

    def __str__(self) -> str:
        return self.source.name


class Closure(Compound):
    """A function or lambda defined in a traced function. Its items are the defaults of its parameters, those of its
    keyword-only parameters, and the values that it captured."""

    @property
    def code(self) -> Code:
        code = self.form.names[0]
        assert isinstance(code, Code)
        return code

    @property
    def source(self) -> FunctionSource:
        return self.code.source

    @property
    def defaults(self) -> tuple[AbstractValue, ...]:
        return self.items[: self.code.defaults]

    @property
    def keyword_defaults(self) -> dict[str, AbstractValue]:
        return dict(zip(self.code.keywords, self.items[self.code.defaults :], strict=False))

    @property
    def captured(self) -> dict[str, AbstractValue]:
        given = self.items[self.code.defaults + len(self.code.keywords) :]
        return dict(zip(self.code.captured, given, strict=True))


def closure(code: Code, items: Iterable[AbstractValue]) -> Closure:
    return Closure(tuple(items), Form("function", FunctionType, (code,)))


class Partial(Compound):
    """The result of ``functools.partial``: the function, positional arguments, then keyword arguments by their
    names."""

    @property
    def positional(self) -> tuple[AbstractValue, ...]:
        return self.items[: len(self.items) - len(self._names)]

    @property
    def keywords(self) -> dict[str, AbstractValue]:
        return dict(zip(self._names, self.items[len(self.items) - len(self._names) :], strict=True))

    @property
    def _names(self) -> tuple[str, ...]:
        return self.form.names[1:]  # type: ignore[return-value]


class Started(Compound):
    """A generator that is passed to a function: the generator function, and its arguments by their names."""

    @property
    def function(self) -> Closure | Static:
        function = self.items[0]
        assert isinstance(function, Closure | Static)
        return function

    @property
    def arguments(self) -> dict[str, AbstractValue]:
        return dict(zip(map(str, self.form.names[1:]), self.items[1:], strict=True))


@dataclass(frozen=True)
class MethodOf:
    """Stands for the method of this name of what it is bound to, a container or an array."""

    name: str


def passed(method: Method) -> Bound:
    """A method of a container as a value that functions take."""
    return bound(method.owner, Static(MethodOf(method.name)))


def received(v: AbstractValue) -> AbstractValue:
    """The method of a container that was passed; other values as they are."""
    if isinstance(v, Bound) and isinstance(v.function, Static) and isinstance(v.function.value, MethodOf):
        return Method(v.owner, v.function.value.name)
    return v


def unbound(v: AbstractValue | None) -> AbstractValue | None:
    """The function of a bound method, however often it is bound; other values as they are."""
    while isinstance(v, Bound):
        v = v.function
    return v


def function_of(v: AbstractValue | None) -> object:
    """The function that is called, without the values bound to it: equal for two values that call the same. None if
    ``v`` is not a function."""
    if isinstance(v, Static) and callable(v.value):
        return abstract.Static(v.value)
    if isinstance(v, Method):
        return v.name
    if isinstance(v, Bound):
        return function_of(v.function)
    if isinstance(v, Partial):
        return function_of(v.items[0])
    return v.form if isinstance(v, Closure) else None


def partial(positional: Sequence[AbstractValue], keywords: Mapping[str, AbstractValue]) -> Partial:
    form = Form("function", functools.partial, ("partial", *keywords))
    return Partial((*positional, *keywords.values()), form)
