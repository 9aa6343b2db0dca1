"""Turns object code into built-in functions of this process: links it, and binds the objects that its stubs refer
to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from adc.backend import running
from adc.backend.calls import stub
from adc.backend.calls.abi import Signature
from adc.backend.sites import Site
from adc.border.boundary import leaving
from adc.driver.kernels import linked
from adc.driver.objects import Objects
from adc.ir.lazy_dataclass import dataclass

Builtin = Callable[..., Any]


@dataclass(frozen=True)
class Loadable:
    """The object code of a module, and what is needed to make built-in functions of it, one for each of ``signatures``.
    ``defined`` are the symbols to look up."""

    objects: Objects
    signatures: tuple[Signature, ...]
    defined: tuple[str, ...]
    loops: tuple[running.Loop, ...]
    sites: tuple[Site, ...]

    def load(self, code: list[bytes], *, miss: Callable[..., Any], name: str, doc: str | None) -> list[Builtin]:
        """A built-in function for each of the signatures. Arguments that do not fit go to ``miss``."""
        library, units = self.objects.load(code, self.defined, linked(self.objects))
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
