"""Turns object code into built-in functions of this process: links it, and binds the objects that its stubs refer
to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adc.backend import object_cache, running, runtime
from adc.backend.calls import stub
from adc.backend.calls.abi import Signature
from adc.backend.sites import Site
from adc.border.boundary import leaving
from adc.driver import late_units
from adc.driver.kernels import linked
from adc.driver.late_units import Late
from adc.ir.externals import Named

Builtin = Callable[..., Any]


@dataclass(frozen=True)
class Loadable:
    """The object code of a module, as names of cache files, and what is needed to make built-in functions of it, one
    for each of ``signatures``. ``defined`` are the symbols to look up, ``imports`` those that this process provides,
    ``externals`` the functions of other libraries, by their names in the code, and ``elsewhere`` the kernels that it
    calls. Of its units, ``present`` are in the object code, ``late`` are compiled when they are called."""

    keys: tuple[str, ...]
    signatures: tuple[Signature, ...]
    defined: tuple[str, ...]
    imports: tuple[str, ...]
    externals: tuple[tuple[str, Named], ...]
    loops: tuple[running.Loop, ...]
    sites: tuple[Site, ...]
    elsewhere: tuple[str, ...]
    present: tuple[str, ...]
    late: tuple[Late, ...]

    def find(self) -> list[bytes] | None:
        """The object code from the cache; None if any file is missing."""
        found = [code for key in self.keys if (code := object_cache.find(key)) is not None]
        return found if len(found) == len(self.keys) else None

    def load(self, code: list[bytes], *, miss: Callable[..., Any], name: str, doc: str | None) -> list[Builtin]:
        """A built-in function for each of the signatures. Arguments that do not fit go to ``miss``."""
        imports = {symbol: runtime.address(symbol) for symbol in self.imports}
        imports.update(linked(self.externals, self.elsewhere))
        library, units = late_units.load(code, self.defined, imports, self.late, self.present)
        if self.loops:
            running.register(library.address(running.NAMES), self.loops)
        error = functools.partial(_error, name, stub.errors_of(self.sites))
        kept = library, units, self.loops
        return [
            stub.bind(s, symbol, library.address, kept, miss=miss, error=error, name=name, doc=doc)
            for s, symbol in zip(self.signatures, stubs(self.signatures), strict=True)
        ]


def stubs(signatures: Sequence[Signature]) -> list[str]:
    """The symbols of the stubs."""
    return [f"adc.stub{k}" for k in range(len(signatures))]


def _error(name: str, make: stub.ErrorCallback, site: int, a: int, b: int, more: int) -> BaseException:
    """The exception for an error record of compiled code."""
    return leaving(make(site, a, b, more), name)
