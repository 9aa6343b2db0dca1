"""Functions that are lowered to compilation units of their own, so that each is compiled once for all its callers.

Loop nests and cold copies of loops become such functions. Later compilations often contain them again: of the same
program after another line was changed, of its value after its gradient, of another program with the same statement. The
text of a unit does not depend on where it comes from, and its symbol is a hash of the text. Its error sites and its
loops that count steps are numbered from zero; the caller passes the offsets into its own lists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Set

from adc.backend.lowering.handing_over import hands_over, only_calls
from adc.backend.lowering.lower import Lowered, lower_module
from adc.backend.lowering.lower_effects import Effects
from adc.backend.lowering.lower_types import quoted
from adc.backend.lowering.module_emitter import Unit
from adc.backend.target import Target
from adc.ir.callgraph import callees, components, reachable, repeated
from adc.ir.core import Func, Module
from adc.ir.externals import EXCEPTIONAL, SYMBOL, UNIT
from adc.ir.lazy_dataclass import dataclass

MOST_CALLED = 4
"""The most functions, called by a unit, that become units for its sake: each takes LLVM a few milliseconds."""


@dataclass(frozen=True)
class Units:
    """The separately lowered functions: the units by name of the function, and their texts by symbol. Only those in
    ``worth_it`` are worth optimising. ``lowered``: what else is known of them, by symbol."""

    units: Mapping[str, Unit]
    texts: Mapping[str, str]
    worth_it: Set[str]
    lowered: Mapping[str, Lowered]

    def level(self, symbol: str, level: int) -> int:
        """LLVM's level for a unit, given that for code that is worth optimising."""
        return level if symbol in self.worth_it else 0

    def with_needed(self, symbols: Iterable[str]) -> dict[str, None]:
        """Units and all those that they are linked with."""
        found = dict.fromkeys(symbols)
        work = list(found)
        while work:
            new = [symbol for symbol in self.lowered[work.pop()].needs if symbol not in found]
            found.update(dict.fromkeys(new))
            work += new
        return found


NO_UNITS = Units({}, {}, frozenset(), {})


def lower_units(
    module: Module,
    *,
    threads: bool,
    vectors: bool,
    alike: bool = False,
    is_kernel: bool = False,
    target: Target | None = None,
    exports: Collection[str] = (),
) -> Units:
    """Lower the functions marked ``adc.unit``, callees first, as ``lower_module`` does with ``polls``.

    So that these need not stay in the module, functions that they call are units, too, unless they are ``exports``. A
    function stays if it calls C functions of the user, or functions that are not units. With ``is_kernel`` the latter
    are small, and each unit has its own copies of those that it calls.
    """
    order = {name: number for number, name in enumerate(module.funcs)}
    marked = {name for name, func in module.funcs.items() if UNIT in func.attrs}
    if not marked:
        return NO_UNITS
    often = set(module.funcs) if is_kernel else repeated(module)
    looping: Collection[str] = ()
    if not is_kernel:
        looping = Effects.of(module).looping
        marked |= _called_by(module, marked, often, looping, exports)
    units: dict[str, Unit] = {}
    texts: dict[str, str] = {}
    worth_it: set[str] = set()
    made: dict[str, Lowered] = {}
    for name in (name for component in components(module) for name in component):
        func = module.funcs[name]
        if name not in marked:
            continue
        if not is_kernel and not all(_is_apart(module.funcs[n], units) for n in callees(func)):
            continue
        part = Module({n: module.funcs[n] for n in sorted(reachable(module, [name]), key=order.__getitem__)})
        lowered = lower_module(
            part,
            target,
            exports=[name],
            threads=threads,
            polls=True,
            vectors=vectors,
            alike=alike,
            is_kernel=is_kernel,
            units=units,
            is_unit=True,
        )
        if lowered.linking.names:
            continue
        # A program may call a kernel very often, with little to do each time.
        idle = hands_over(func.walk()) or (not is_kernel and only_calls(func, looping))
        text = _nameless(lowered.text(), name)
        symbol = f"adc.unit.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        units[name] = Unit(symbol, lowered.sites, lowered.counted)
        texts[symbol] = text.replace(f'@"{_NAMELESS}"', f"@{quoted(symbol)}")
        if EXCEPTIONAL not in func.attrs and not idle and (lowered.repeats or name in often):
            worth_it.add(symbol)
        made[symbol] = lowered
    return Units(units, texts, worth_it, made)


def _called_by(
    module: Module, marked: Set[str], often: Set[str], looping: Collection[str], exports: Collection[str]
) -> set[str]:
    """Functions that units call, to be units as well. A function without loops stays for LLVM to inline it if it is
    called in a loop; so do those of a unit that calls many."""
    found = set[str]()
    for name in marked:
        called = {n for n in reachable(module, [name]) - marked - found if SYMBOL not in module.funcs[n].attrs}
        if len(called) <= MOST_CALLED and all(n not in exports and (n in looping or n not in often) for n in called):
            found |= called
    return found


_NAMELESS = "adc.unit"


def _nameless(text: str, name: str) -> str:
    """The text of a module with the name of a function, and of the functions outlined from it, replaced by a fixed
    one."""
    return text.replace(f'@"adc.{name}"', f'@"{_NAMELESS}"').replace(f'@"adc.{name}$', f'@"{_NAMELESS}$')


def _is_apart(func: Func, units: Collection[str]) -> bool:
    return func.name in units or SYMBOL in func.attrs
