"""Functions that are lowered to compilation units of their own, so that each is compiled once for all its callers.

Loop nests and cold copies of loops become such functions. Later compilations often contain them again: of the same
program after another line was changed, of its value after its gradient, of another program with the same statement. The
text of a unit does not depend on where it comes from, and its symbol is a hash of the text. Its error sites and its
loops that count steps are numbered from zero; the caller passes the offsets into its own lists.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from adc.backend.lowering.handing_over import hands_over, only_calls
from adc.backend.lowering.lower import Lowered, lower_module
from adc.backend.lowering.lower_effects import Effects, on_stack
from adc.backend.lowering.lower_types import quoted
from adc.backend.lowering.module_emitter import Unit
from adc.backend.target import Target
from adc.ir import ops
from adc.ir.callgraph import callees, components, reachable, repeated
from adc.ir.core import Func, Module
from adc.ir.externals import EXCEPTIONAL, SYMBOL, UNIT
from adc.ir.lazy_dataclass import dataclass

MOST_CALLED = 16
"""The most functions, called by a unit, that become units for its sake: each takes LLVM a few milliseconds."""

MOST_COPIED = 128
"""The most operations of a function without loops that each unit has a copy of."""


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

    So that these need not stay in the module, functions that they call are units, too, unless they are ``exports``.
    Short ones without loops are not: each unit has its own copies of those that it calls, as it has of all with
    ``is_kernel``, where they are small. A function stays if it calls C functions of the user, or other functions that
    are not units.
    """
    marked = {name for name, func in module.funcs.items() if UNIT in func.attrs}
    if not marked:
        return NO_UNITS
    often = set(module.funcs) if is_kernel else repeated(module)
    ordered = [name for component in components(module) for name in component]
    order = {name: number for number, name in enumerate(ordered)}
    looping: Collection[str] = ()
    copied: Set[str] = frozenset()
    if not is_kernel:
        looping = Effects.of(module).looping
        copied = _copied(module, ordered, looping)
        marked |= _called_by(module, marked, often, looping, copied, exports)
    units: dict[str, Unit] = {}
    texts: dict[str, str] = {}
    worth_it: set[str] = set()
    made: dict[str, Lowered] = {}
    for name in ordered:
        func = module.funcs[name]
        if name not in marked:
            continue
        if not is_kernel and not all(n in copied or _is_apart(module.funcs[n], units) for n in callees(func)):
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
        text = _nameless(lowered.text(), list(part.funcs)[::-1])  # its callees come first
        symbol = f"adc.unit.{hashlib.sha256(text.encode()).hexdigest()[:32]}"
        units[name] = Unit(symbol, lowered.sites, lowered.counted)
        texts[symbol] = text.replace(f'@"{_NAMELESS}"', f"@{quoted(symbol)}")
        if EXCEPTIONAL not in func.attrs and not idle and (lowered.repeats or name in often):
            worth_it.add(symbol)
        made[symbol] = lowered
    return Units(units, texts, worth_it, made)


def _called_by(
    module: Module,
    marked: Set[str],
    often: Set[str],
    looping: Collection[str],
    copied: Set[str],
    exports: Collection[str],
) -> set[str]:
    """Functions that units call, to be units as well, unless they are ``copied``. A function without loops stays for
    LLVM to inline it if it is called in a loop, and makes no array; so do those of a unit that calls many."""

    def may_be(n: str) -> bool:
        return n not in exports and (n in looping or n not in often or _allocates(module.funcs[n]))

    found = set[str]()
    for name in marked:
        reached = reachable(module, [name]) - marked - found - copied
        called = {n for n in reached if SYMBOL not in module.funcs[n].attrs}
        if len(called) <= MOST_CALLED and all(map(may_be, called)):
            found |= called
    return found


def _copied(module: Module, ordered: Sequence[str], looping: Collection[str]) -> set[str]:
    """Functions without loops that are short, callees included."""
    found = set[str]()
    sizes: dict[str, int] = {}
    for name in ordered:
        size = 0
        for op in module.funcs[name].walk():
            size += sizes.get(op.attrs["callee"], MOST_COPIED + 1) if op.opdef is ops.call else 1
        sizes[name] = size
        if size <= MOST_COPIED and name not in looping:
            found.add(name)
    return found


def _allocates(func: Func) -> bool:
    """Whether a call of the function takes so long, as it asks for memory, that it need not be inlined."""
    return any(op.opdef is ops.pack or (op.opdef is ops.alloc and not on_stack(op)) for op in func.walk())


_NAMELESS = "adc.unit"


def _nameless(text: str, names: Sequence[str]) -> str:
    """The text of a module with the names of functions, and of those outlined from them, replaced by fixed ones; all at
    once, since a function may have one of these names."""
    fixed = {name: f"{_NAMELESS}.{number}" if number else _NAMELESS for number, name in enumerate(names)}
    pattern = re.compile(f'@"adc\\.({"|".join(map(re.escape, names))})(?=["$])')
    return pattern.sub(lambda found: f'@"{fixed[found[1]]}', text)


def _is_apart(func: Func, units: Collection[str]) -> bool:
    return func.name in units or SYMBOL in func.attrs
