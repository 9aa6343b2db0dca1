"""Loading object code into this process with LLVM's LLJIT."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Mapping

import llvmlite.binding as llvm

from adc.backend import debuggers, elf, perf_map
from adc.backend.target import host, initialise, libmvec, openmp
from adc.ir import forks
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Library:
    """Loaded code: the addresses of its exported symbols. It is unloaded when the last reference to this object is
    gone."""

    addresses: Mapping[str, int]
    _tracker: llvm.ResourceTracker

    def address(self, symbol: str) -> int:
        return self.addresses[symbol]


class Engine:
    """One JIT linker; ``load`` may be called from several threads.

    Loaded code can call the mathematics libraries, the OpenMP runtime, and the functions in ``symbols`` (the run-time
    support).
    """

    def __init__(self, symbols: Mapping[str, int] | None = None) -> None:
        initialise()
        libmvec()
        self._symbols = {**(openmp() or {}), **(symbols or {})}
        self._lock = forks.Lock()
        self._numbers = itertools.count()
        # JITLink: the other linker (RuntimeDyld) places code and constants independently, and aborts the process if a
        # 32-bit offset between them overflows.
        self._jit = llvm.create_lljit_compiler(host().machine(), use_jit_link=True)

    def load(
        self, object_code: bytes | Iterable[bytes], exports: Collection[str], symbols: Mapping[str, int] | None = None
    ) -> Library:
        """Link object code (one object or several) and return the addresses of ``exports``."""
        builder = llvm.JITLibraryBuilder()
        objects = [object_code] if isinstance(object_code, bytes) else list(object_code)
        debugged, names = any(map(debuggers.has_lines, objects)), perf_map.wanted()
        for item in objects:
            builder.add_object_img(item)
        asked = set(exports)
        if debugged or names:  # needs the addresses of exports
            asked.update(s.name for item in objects for s in elf.functions(item) if s.is_exported)
        builder.add_current_process()
        for name, address in {**self._symbols, **(symbols or {})}.items():
            builder.import_symbol(name, address)
        for name in asked:
            builder.export_symbol(name)
        with self._lock:
            tracker = builder.link(self._jit, f"adc.{next(self._numbers)}")
        addresses = {name: tracker[name] for name in asked}
        if names:
            for item in objects:
                perf_map.write(item, addresses)
        library = Library(addresses, tracker)
        if debugged:
            for item in objects:
                debuggers.show(item, addresses, library)
        return library


@functools.cache
def engine() -> Engine:
    """The engine of this process, without further symbols."""
    return Engine()
