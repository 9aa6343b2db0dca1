"""Functions that are lowered to compilation units of their own, so that each is compiled once, whoever calls it.

Loop nests and rare copies of loops are functions that later compilations often have again: of the same program after
another line was changed, of its value after its gradient, of another program with the same statement. A unit's text
says nothing of where it comes from, and its symbol is made of the text. What can be raised in it has numbers of its
own, and so have the loops that count their steps: the caller says where in its lists they begin.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass

from adc.backend.lowering.lower import Lowered, lower_module
from adc.backend.lowering.lower_types import quoted
from adc.backend.lowering.module_emitter import Unit
from adc.backend.target import Target
from adc.ir.callgraph import callees, components, reachable
from adc.ir.core import Func, Module
from adc.ir.externals import EXCEPTIONAL, SYMBOL, UNIT


@dataclass(frozen=True)
class Units:
    """What was lowered apart: each unit by the name of its function, and the texts, by their symbols. Those of
    ``worth_it`` are worth optimising."""

    units: Mapping[str, Unit]
    texts: Mapping[str, str]
    worth_it: Set[str]
    lowered: tuple[Lowered, ...]


NO_UNITS = Units({}, {}, frozenset(), ())


def lower_units(module: Module, *, threads: bool, vectors: bool, target: Target | None = None) -> Units:
    """Lower the functions marked ``adc.unit``, callees first, as ``lower_module`` does with ``polls``.

    One stays in the module where it calls functions that are no units, or C functions of the user's.
    """
    units: dict[str, Unit] = {}
    texts: dict[str, str] = {}
    worth_it: set[str] = set()
    made: list[Lowered] = []
    for name in (name for component in components(module) for name in component):
        func = module.funcs[name]
        if UNIT not in func.attrs or not all(_is_apart(module.funcs[n], units) for n in callees(func)):
            continue
        part = Module({n: module.funcs[n] for n in module.funcs if n in reachable(module, [name])})
        lowered = lower_module(
            part, target, exports=[name], threads=threads, polls=True, vectors=vectors, units=units, is_unit=True
        )
        if lowered.linking.names:
            continue
        text = _nameless(lowered.text(), name)
        symbol = f"adc.unit.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        units[name] = Unit(symbol, lowered.sites, lowered.counted)
        texts[symbol] = text.replace(f'@"{_NAMELESS}"', f"@{quoted(symbol)}")
        if EXCEPTIONAL not in func.attrs:
            worth_it.add(symbol)
        made.append(lowered)
    return Units(units, texts, worth_it, tuple(made))


_NAMELESS = "adc.unit"


def _nameless(text: str, name: str) -> str:
    """A module in which a function has no name of its own, nor have those that it was cut into."""
    return re.sub(rf'@"adc\.{re.escape(name)}((?:\$[^"]*)?)"', rf'@"{_NAMELESS}\1"', text)


def _is_apart(func: Func, units: Collection[str]) -> bool:
    return func.name in units or SYMBOL in func.attrs
