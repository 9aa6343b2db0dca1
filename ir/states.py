"""Whether a function is unchanged.

Any change makes another version of it. While operations are temporarily in another block (``Func.moves``) its version
stays, but analyses see something else: its state is both. States are compared often, so ``is_in`` compares without
making another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from adc.ir.core import Attr, Func
from adc.ir.types import Type

T = TypeVar("T")

Version = tuple[int, str, tuple[Type, ...], dict[str, Attr], list[dict[str, Attr]]]
State = tuple[int, Version]


def version(func: Func) -> Version:
    """A value that compares unequal after any change of the function. As long as there is none it is one object."""
    known: Version | None = func.known.get(version)
    now = func.changes, func.name, func.result_types, func.attrs, func.arg_attrs
    if known != now:
        known = func.known[version] = *now[:3], dict(func.attrs), [dict(a) for a in func.arg_attrs]
    return known


def state(func: Func) -> State:
    return func.moves, version(func)


def is_in(func: Func, then: State) -> bool:
    """Whether the function is still in this state."""
    return then == (func.moves, (func.changes, func.name, func.result_types, func.attrs, func.arg_attrs))


def kept(func: Func, make: Callable[[Func], T]) -> T:
    """What ``make`` finds in a function alone, kept until the function changes."""
    found = func.known.get(make)
    if found is None or not is_in(func, found[0]):
        found = func.known[make] = state(func), make(func)
    return cast(T, found[1])
