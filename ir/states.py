"""Whether a function is unchanged.

Any change makes another version of it. While operations are temporarily in another block (``Func.moves``) its version
stays, but analyses see something else: its state is both. States are compared often, so ``is_in`` compares without
making another one.
"""

from __future__ import annotations

from adc.ir.core import Attr, Func
from adc.ir.types import Type

Version = tuple[int, str, tuple[Type, ...], dict[str, Attr], list[dict[str, Attr]]]
State = tuple[int, Version]


def version(func: Func) -> Version:
    """A value that compares unequal after any change of the function."""
    return func.changes, func.name, func.result_types, dict(func.attrs), [dict(a) for a in func.arg_attrs]


def state(func: Func) -> State:
    return func.moves, version(func)


def is_in(func: Func, then: State) -> bool:
    """Whether the function is still in this state."""
    return then == (func.moves, (func.changes, func.name, func.result_types, func.attrs, func.arg_attrs))
