"""The result of tracing: a module, and how Python's arguments and results map to those of its entry."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from adc.frontend import abstract
from adc.frontend.data.callables import Bound, Closure, Partial
from adc.frontend.data.compounds import Text
from adc.frontend.data.described import describe, without_dims
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.unusable import Unusable
from adc.frontend.data.values import AbstractValue, Array, Compound, Scalar, Static
from adc.frontend.elements import to_element
from adc.frontend.errors import refuse
from adc.frontend.forms import TUPLE, Form
from adc.frontend.looks import Looks
from adc.frontend.prelude.python_collections import Held
from adc.frontend.prelude.python_dicts import is_dict_like
from adc.frontend.prelude.python_iterators import Iterator
from adc.frontend.prelude.python_rows import PooledList
from adc.ir import kinds
from adc.ir.builder import current_loc
from adc.ir.core import Module
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Leaf:
    """One argument of the entry function.

    ``kind`` ``"argument"``: the parameter ``path[0]``, then positions in nested tuples. ``kind`` ``"capture"``: the
    captured or global variable ``path[0]``, whose value ``fetch()`` reads.
    """

    path: tuple[str | int, ...]
    abstract: abstract.Abstract
    kind: Literal["argument", "capture"]
    fetch: Callable[[], Any] | None = None


@dataclass(frozen=True)
class ResultLeaf:
    """The result at ``position`` of the entry function: a number or an array of type ``abstract``."""

    position: int
    abstract: abstract.Abstract


@dataclass(frozen=True)
class ResultTuple:
    """A container. In ``Traced.changed`` items may be ``heap.UNCHANGED``."""

    items: tuple[Result, ...]
    form: Form = TUPLE


@dataclass(frozen=True)
class ResultStatic:
    value: Any


Result = ResultLeaf | ResultTuple | ResultStatic


@dataclass(frozen=True)
class Traced:
    """A traced function: the module, the name of its entry, and how Python's arguments and results map to it.

    ``leaves`` has one entry per argument of the entry function, in order; ``mutated`` are the positions of the arrays
    that are stored to; ``stored``, for a gradient, those that its function stores to, which are copied first. ``looks``
    must hold before each call, or the code is no longer what Python would run. ``changed`` says what mutable objects
    among the arguments hold afterwards, by their numbers in the argument types. ``outer`` are mutable objects read from
    outside the function: their names, and how to fetch them. ``never``: it ends with an error on all paths. ``aux`` is
    what a gradient returns beside the value, from the results after it. ``consulted`` are the functions on whose
    derivative rules, as of ``version``, the code depends.
    """

    module: Module
    entry: str
    leaves: tuple[Leaf, ...]
    result: Result
    mutated: frozenset[int]
    looks: Looks
    parameters: inspect.Signature
    changed: Mapping[int, ResultTuple] = field(default_factory=dict)
    outer: tuple[tuple[str, Callable[[], Any]], ...] = ()
    never: bool = False
    aux: Result | None = None
    consulted: tuple[object, ...] = ()
    version: int = 0
    stored: frozenset[int] = frozenset()

    @property
    def alias_groups(self) -> dict[int, list[int]]:
        """The IR arguments of each alias group: those that may share memory in the calls that the code is compiled
        for."""
        found: dict[int, list[int]] = {}
        for k, leaf in enumerate(self.leaves):
            if isinstance(leaf.abstract, abstract.Array) and leaf.abstract.alias is not None:
                found.setdefault(leaf.abstract.alias, []).append(k)
        return found


def gathered(a: Any, number: int) -> abstract.Abstract:
    """The type of an argument; that of ``*args`` or ``**kwargs`` from those of its items. ``number``: that of the
    dict."""
    if isinstance(a, abstract.Abstract):
        return a
    if isinstance(a, dict):
        return abstract.Tuple(tuple(a.values()), Form("dict", dict, tuple(a), number=number))
    return abstract.Tuple(tuple(a))


def result_tree(result: AbstractValue) -> tuple[Result, list[Any]]:
    values: list[Any] = []

    def of(v: AbstractValue) -> Result:
        cls = v.form.cls if isinstance(v, Compound) and not is_dict_like(v.form.cls) else None
        if isinstance(cls, type) and issubclass(cls, Held) and not issubclass(cls, PooledList):
            message = f"cannot return a {cls.__name__.lower()}"
            raise refuse(current_loc(), message, "return a list: list(d), sorted(s)", kind=kinds.CANNOT_RETURN)
        if cls is Iterator:
            message = "cannot return an iterator"
            raise refuse(current_loc(), message, "return a list of its items: list(it)", kind=kinds.CANNOT_RETURN)
        if isinstance(v, Compound) and not isinstance(v, Bound | Closure | Partial | Text):
            return ResultTuple(tuple(of(item) for item in v.items), v.form)
        if isinstance(v, Static) and isinstance(v.value, Unusable):
            message = f"cannot return an object with an attribute that cannot be used: {v.value.reason}"
            raise refuse(current_loc(), message, "return parts that compiled code can use", kind=kinds.CANNOT_RETURN)
        if isinstance(v, Static):
            return ResultStatic(v.value)
        if not isinstance(v, Scalar | Array):
            raise refuse(current_loc(), f"cannot return {describe_type(v)}", kind=kinds.CANNOT_RETURN)
        if isinstance(v, Array):
            values.append(v.memref)
        else:
            values.append(to_element(v.value, v.dtype))
        return ResultLeaf(len(values) - 1, without_dims(describe(v)))

    return of(result), values
