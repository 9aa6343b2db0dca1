"""Whether a function is what it was.

Any change makes another version of it. While operations are in another block for a moment (``Func.moves``) its version
stays, but analyses see something else: its state is both. A state is compared again and again, so that costs less than
to make another one.
"""

from __future__ import annotations

from adc.ir.core import Attr, Func
from adc.ir.types import Type

Version = tuple[int, str, tuple[Type, ...], dict[str, Attr], list[dict[str, Attr]]]
State = tuple[int, Version]


def version(func: Func) -> Version:
    """Something that is another one, by comparison, after any change of the function."""
    return func.changes, func.name, func.result_types, dict(func.attrs), [dict(a) for a in func.arg_attrs]


def state(func: Func) -> State:
    return func.moves, version(func)


def is_in(func: Func, then: State) -> bool:
    """Whether the function is in this state still."""
    return then == (func.moves, (func.changes, func.name, func.result_types, func.attrs, func.arg_attrs))
