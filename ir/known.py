"""Analyses are asked for, not made: what was found out is kept until something that it depends on has changed.

Nothing says of a change what it leaves true. A function that is not what it was has another version, and so has what
depends on it (``adc.ir.states``): an analysis of a function on those that it calls too, one of a module on all. What an
analysis finds when it is asked something may be kept in it, since it is handed out only as long as the function is the
same. While operations are in another block for a moment it may be asked, too: after that it is not handed out either.
Which operations that are in no function yet use a value does not count as a change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from adc.ir.callgraph import callees, closure
from adc.ir.core import Func, Module
from adc.ir.states import State, is_in, state

T = TypeVar("T")


class OfFunction(Protocol):
    """An analysis of a function. ``callees`` are the functions that it calls."""

    @property
    def callees(self) -> Sequence[str]: ...


F = TypeVar("F", bound=OfFunction)


def of_function(kind: object, func: Func, module: Module, make: Callable[[], F]) -> F:
    """The analysis ``kind`` of ``func``: as it is known, or what ``make`` finds."""
    found = func.known.get(kind)
    if found is not None and is_in(func, found[0]):
        analysis, used = cast("tuple[F, list[_Seen]]", found[1])
        if all(_is_still(module, seen) for seen in used):
            return analysis
    own = state(func)
    analysis = make()
    names = dict.fromkeys((*analysis.callees, *closure(module, analysis.callees, callees)))
    func.known[kind] = own, (analysis, [_seen(module, name) for name in names])
    return analysis


def of_module(kind: object, module: Module, make: Callable[[], T]) -> T:
    """The analysis ``kind`` of all functions: as it is known, or what ``make`` finds."""
    found = module.known.get(kind)
    if found is not None:
        used, analysis = cast("tuple[list[_Seen], T]", found)
        if [name for _, name, *_ in used] == list(module.funcs) and all(_is_still(module, seen) for seen in used):
            return analysis
    seen = [_seen(module, name) for name in module.funcs]
    analysis = make()
    module.known[kind] = seen, analysis
    return analysis


def forget(module: Module) -> None:
    """Keep nothing of what is known: nobody asks any more."""
    module.known.clear()
    for func in module.funcs.values():
        func.known.clear()


_Seen = tuple[int, str, Func | None, State | None]


def _seen(module: Module, name: str) -> _Seen:
    """A function as it is now; the module is one that what is known refers to."""
    func = module.funcs.get(name)
    return id(module), name, func, None if func is None else state(func)


def _is_still(module: Module, seen: _Seen) -> bool:
    """Whether the function of this name is the one that was seen, and as it was."""
    number, name, func, then = seen
    if number != id(module) or module.funcs.get(name) is not func:
        return False
    return func is None or then is None or is_in(func, then)
