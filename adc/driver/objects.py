"""The object code of a module and of its units, and what it is linked with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from adc.backend import object_cache, runtime
from adc.backend.calls import stub
from adc.backend.jit import Library
from adc.backend.optimize import Optimized
from adc.driver import late_units
from adc.driver.late_units import Late
from adc.driver.recipes import RECIPES, Recipe
from adc.ir.externals import Named
from adc.ir.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from adc.backend.lowering.lower import Lowered
    from adc.backend.lowering.lower_units import Units


@dataclass(frozen=True)
class Objects:
    """Object code, as names of cache files. ``imports`` are the symbols that this process provides, ``externals`` the
    functions of other libraries, by their names in the code, ``elsewhere`` the kernels that it is linked with, and
    ``reached`` those that it calls late, or that units call which are compiled late. Of its units, ``present`` are in
    the object code, ``late`` are compiled when they are called."""

    keys: tuple[str, ...]
    imports: tuple[str, ...]
    externals: tuple[tuple[str, Named], ...]
    elsewhere: tuple[str, ...]
    reached: tuple[tuple[str, Recipe], ...]
    present: tuple[str, ...]
    late: tuple[Late, ...]

    def find(self) -> list[bytes] | None:
        """The object code from the cache; None if any file is missing."""
        found = [code for key in self.keys if (code := object_cache.find(key)) is not None]
        return found if len(found) == len(self.keys) else None

    def load(
        self, code: Sequence[bytes], exports: Collection[str], symbols: Mapping[str, int]
    ) -> tuple[Library, object]:
        """Link the object code. ``symbols``: the addresses of ``externals`` and ``elsewhere``. Late units can be
        compiled as long as the second result exists."""
        imports = {name: runtime.address(name) for name in self.imports}
        return late_units.load(code, exports, imports | dict(symbols), self.late, self.present)


def levels_of_units(lowered: Lowered, units: Units, level: int) -> dict[str, int]:
    """The texts of the units that a module is linked with, each with LLVM's level for it."""
    return {units.texts[symbol]: units.level(symbol, level) for symbol in units.with_needed(lowered.needs)}


def objects_of(
    lowered: Lowered, units: Units, texts: Iterable[str], optimized: Iterable[Optimized], level: int
) -> Objects:
    """What to keep of a module, given the ``texts`` of its objects, linked units among them, and these after LLVM."""
    present = tuple(units.with_needed(lowered.needs))
    late = late_units.lates(lowered, units, level)
    whole = lowered, *(units.lowered[symbol] for symbol in present)
    linked = dict.fromkeys(symbol for each in whole for symbol in each.elsewhere)
    reached = [symbol for each in (lowered, *units.lowered.values()) for symbol in each.reached]
    reached += [symbol for unit in late for symbol in unit.elsewhere if symbol not in linked]
    return Objects(
        tuple(each.key for each in optimized),
        tuple(dict.fromkeys(symbol for text in texts for symbol in stub.imports(text))),
        tuple((symbol, function) for function, symbol in lowered.linking.names.items()),
        tuple(linked),
        tuple((symbol, RECIPES[symbol]) for symbol in dict.fromkeys(reached)),
        present,
        late,
    )
