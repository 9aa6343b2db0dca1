"""Units that are compiled when compiled code first calls them (``adc.backend.library.late``).

What is kept of such a unit is its LLVM IR. If the cache has object code, because some process has called the unit
before, it is linked with the code that calls it: a later process compiles nothing, and links once.
"""

from __future__ import annotations

import ctypes
import functools
import traceback
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from adc.backend import object_cache, runtime
from adc.backend.calls import stub
from adc.backend.jit import Library, engine
from adc.backend.optimize import optimize_or_find
from adc.backend.target import Target, host
from adc.ir import forks
from adc.ir.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from adc.backend.lowering.lower import Lowered
    from adc.backend.lowering.lower_units import Units


@dataclass(frozen=True)
class Late:
    """A unit before it is compiled: its symbol, its LLVM IR, compressed, LLVM's level for it, the name of its object
    code in the cache, the symbols that this process provides for it, the kernels that it calls, and the units that it
    is linked with."""

    symbol: str
    text: bytes
    level: int
    key: str
    imports: tuple[str, ...]
    elsewhere: tuple[str, ...]
    needs: tuple[str, ...]


def lates(lowered: Lowered, units: Units, level: int) -> tuple[Late, ...]:
    """The units that a module or its units call late, and those that these are linked with."""
    late = units.with_needed(symbol for each in (lowered, *units.lowered.values()) for symbol in each.late)
    return tuple(_late(units, symbol, level, lowered.target) for symbol in late)


def _late(units: Units, symbol: str, level: int, target: Target) -> Late:
    text, level = units.texts[symbol], units.level(symbol, level)
    packed, key = zlib.compress(text.encode(), 1), object_cache.key(text, target, level)
    imports = tuple(stub.imports(text))
    return Late(symbol, packed, level, key, imports, units.lowered[symbol].elsewhere, units.lowered[symbol].needs)


@dataclass(eq=False)
class _Unit:
    """A unit in this process, and the addresses of kernels that its caller is linked with. Its code stays as long as
    this object, which all that may call it hold."""

    late: Late
    kernels: Mapping[str, int]
    library: Library | None = None
    lock: forks.Lock = field(default_factory=forks.Lock)

    def address(self) -> int:
        with self.lock:
            if self.library is None:
                text = zlib.decompress(self.late.text).decode()
                code = optimize_or_find(text, host(), self.late.level).object_code
                needed = {symbol: _UNITS[symbol].address() for symbol in self.late.needs}
                self.library = engine().load(code, [self.late.symbol], self.symbols() | needed)
            return self.library.address(self.late.symbol)

    def symbols(self) -> dict[str, int]:
        """The addresses of all that it is linked with but units."""
        found = {name: runtime.address(name) for name in self.late.imports}
        return found | {symbol: self.kernels.get(symbol) or _KERNELS[symbol]() for symbol in self.late.elsewhere}


_UNITS: WeakValueDictionary[str, _Unit] = WeakValueDictionary()
_KERNELS: dict[str, Callable[[], int]] = {}
_registering = forks.Lock()


def load(
    code: Sequence[bytes],
    exports: Collection[str],
    symbols: Mapping[str, int],
    late: Sequence[Late],
    present: Collection[str],
) -> tuple[Library, object]:
    """Link object code that calls the units ``late``, which can be compiled as long as the second result exists.
    ``present`` are the units in the object code itself. ``symbols``: the addresses of what it imports, and of the
    kernels that late units call."""
    if not late:
        return engine().load(code, exports, symbols), None
    _install()
    with _registering:
        units = [_UNITS.setdefault(one.symbol, _Unit(one, symbols)) for one in late]
    new = _kept([unit for unit in units if unit.library is None and unit.late.symbol not in present], present)
    given = dict(symbols)
    for unit in new:
        given |= unit.symbols()
    here = {unit.late.symbol: unit for unit in units if unit in new or unit.late.symbol in present}
    library = engine().load([*code, *new.values()], [*exports, *here], given)
    for unit in here.values():
        unit.library = unit.library or library
    return library, units


def _kept(units: Sequence[_Unit], present: Collection[str]) -> dict[_Unit, bytes]:
    """The object code of units from the cache, of those that can be linked with one another and ``present``."""
    found = {unit: code for unit in units if (code := object_cache.find(unit.late.key)) is not None}
    while True:
        there = {*present, *(unit.late.symbol for unit in found)}
        lacking = [unit for unit in found if not there.issuperset(unit.late.needs)]
        if not lacking:
            return found
        for unit in lacking:
            del found[unit]


def provide(symbol: str, address: Callable[[], int]) -> None:
    """Let compiled code, and units, reach a kernel that is compiled when ``address`` is asked for."""
    _install()
    _KERNELS[symbol] = address


@functools.cache
def _install() -> None:
    """Let compiled code of this process call ``_resolve``."""
    address = ctypes.cast(_RESOLVE, ctypes.c_void_p).value
    ctypes.c_void_p.from_address(runtime.address("adc_late_resolver")).value = address


def _resolve(symbol: bytes) -> int:
    """The address of a unit or a kernel; 0 if it cannot be compiled."""
    try:
        name = symbol.decode()
        return _KERNELS[name]() if name in _KERNELS else _UNITS[name].address()
    except BaseException:  # it has no caller in Python
        traceback.print_exc()
        return 0


_RESOLVE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(_resolve)
