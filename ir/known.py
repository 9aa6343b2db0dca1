"""Analyses are cached: a result is kept until something that it depends on has changed.

No change declares what it preserves. A changed function has another version (``adc.ir.states``), and an analysis is
valid for the versions that it depends on: those of a function and its callees, or of all functions of a module. An
analysis may keep answers to queries, since it is handed out only while the function is the same. It may also be queried
while operations are temporarily in another block; after that it is not handed out again. New uses of a value by
operations that are in no function yet do not count as a change.
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
Holds = Callable[[F], bool]


def of_function(
    kind: object, func: Func, module: Module, make: Callable[[], F], holds: Holds[F], *, settled: bool = True
) -> F:
    """The analysis ``kind`` of ``func``: the cached one if it is still valid, else what ``make`` returns.

    ``holds(analysis)``: whether what the analysis used of other functions is what it was. They may have changed
    nevertheless. If they have not, this need not be asked; unless what is used of functions that call each other is
    being found, and is not ``settled``.
    """
    found = func.known.get(kind)
    if found is not None and is_in(func, found[0]):
        analysis, used = cast("tuple[F, list[_Seen] | None]", found[1])
        if settled and used is not None and all(_is_still(module, seen) for seen in used):
            return analysis
        if holds(analysis):
            if settled:
                func.known[kind] = found[0], (analysis, _used(module, analysis))
            return analysis
    own = state(func)
    analysis = make()
    func.known[kind] = own, (analysis, _used(module, analysis) if settled else None)
    return analysis


def _used(module: Module, analysis: OfFunction) -> list[_Seen]:
    """The present states of all functions that an analysis depends on, beside its own."""
    names = dict.fromkeys((*analysis.callees, *closure(module, analysis.callees, callees)))
    return [_seen(module, name) for name in names]


def of_module(kind: object, module: Module, make: Callable[[], T]) -> T:
    """The analysis ``kind`` of all functions: the cached one if it is still valid, else what ``make`` returns."""
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
    """Drop all cached analyses, when they are no longer needed."""
    module.known.clear()
    for func in module.funcs.values():
        func.known.clear()


_Seen = tuple[int, str, Func | None, State | None]


def _seen(module: Module, name: str) -> _Seen:
    """The present state of a function. The module is recorded too, since analyses refer to it."""
    func = module.funcs.get(name)
    return id(module), name, func, None if func is None else state(func)


def _is_still(module: Module, seen: _Seen) -> bool:
    """Whether the function of this name is the one that was seen, and unchanged."""
    number, name, func, then = seen
    if number != id(module) or module.funcs.get(name) is not func:
        return False
    return func is None or then is None or is_in(func, then)
