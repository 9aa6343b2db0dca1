"""The CPU as a target: LLVM generates object code, with stubs that Python calls, and the process links it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adc.backend import llvm_text, running
from adc.backend.calls import stub
from adc.backend.calls.abi import Signature
from adc.backend.optimize import Optimized, optimize, optimize_or_find_all, vectorises
from adc.border.options import GDB, NAN, Options
from adc.driver.kernels import KernelLibrary, library_for
from adc.driver.loadable import Builtin, Loadable, stubs
from adc.driver.objects import levels_of_units, objects_of
from adc.ir.core import Module
from adc.ir.excerpts import in_library
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis import machine
from adc.passes.analysis.machine import Machine
from adc.passes.base import Pipeline

if TYPE_CHECKING:
    from adc.backend.lowering.lower import Lowered
    from adc.backend.lowering.module_emitter import Unit


@dataclass(frozen=True)
class Cpu:
    """Cores with caches and vectors. Code runs in this process, and checks the Python objects that it is called
    with."""

    resident: bool = True

    @property
    def machine(self) -> Machine:
        return machine.CPU

    def lowering(self, options: Options) -> Pipeline:
        from adc.passes import pipelines
        from adc.passes.cache.block_time import BlockTime
        from adc.passes.cache.tile_loops import TileLoops
        from adc.passes.ranks.inline_shared import InlineShared
        from adc.passes.ranks.owner_computes import OwnerComputes
        from adc.passes.scatter.lower_accumulate import LowerAccumulate
        from adc.passes.simplify.check_finite import CheckFinite

        accumulate = LowerAccumulate(options.accumulate, atomics=not options.deterministic)
        # Time blocking recognises only untiled nests, so these are not tiled.
        tile = options.tile if options.time_block is None else False
        shared = options.shared
        owner = OwnerComputes() if shared is None else OwnerComputes(shared.cut, shared.grid, shared.replicate)
        lowered = pipelines.lower(accumulate, TileLoops(tile), BlockTime(options.time_block), owner)
        if shared is not None:
            lowered = (InlineShared(shared.grid), *pipelines.without_rows(lowered))
        return (CheckFinite(), *lowered) if options.debug == NAN else lowered

    def kernels(self, options: Options) -> KernelLibrary | None:
        return library_for(options)

    def functions(
        self,
        module: Module,
        signatures: Sequence[Signature],
        options: Options,
        *,
        name: str,
        doc: str | None,
        miss: Callable[..., Any],
    ) -> tuple[Loadable | None, list[Builtin]]:
        made, code = _object_code(module, signatures, options, name)
        return made, made.load(code, miss=miss, name=name, doc=doc)

    def shown(self, module: Module, exports: Sequence[str], options: Options, *, debug: bool = False) -> Optimized:
        vectors, alike = vectorises(options.level), options.shared is not None
        counted = _counted(module, exports)
        lowered = _lowered(counted, exports, options.parallel, vectors, alike=alike, debug=debug)
        return optimize(lowered.text(), lowered.target, options.level)

    def simd_lines(self, module: Module, exports: Sequence[str], options: Options) -> list[int]:
        lowered = _lowered(_counted(module, exports), exports, options.parallel, vectors=True)
        places = (lowered.places[place] for place in optimize(lowered.text(), lowered.target, 3).vectorized())
        return [line for file, line in places if not in_library(file)]


CPU = Cpu()


def _object_code(
    module: Module, signatures: Sequence[Signature], options: Options, name: str
) -> tuple[Loadable, list[bytes]]:
    """Compile ``module``, of the Python function ``name``, with a stub for each of ``signatures``.

    The stubs and the loop nests of a long function are separate objects. Their texts contain no names of the program,
    so they are usually found in the cache.
    """
    from adc.backend.lowering.lower_units import NO_UNITS, lower_units

    exports = list(dict.fromkeys(s.function for s in signatures))
    threads, vectors, alike = options.parallel, vectorises(options.level), options.shared is not None
    counted = _counted(module, exports)
    lines = options.debug == GDB
    apart = NO_UNITS  # they have no line information
    if not lines:
        apart = lower_units(counted, threads=threads, vectors=vectors, alike=alike, exports=exports)
    lowered = _lowered(counted, exports, threads, vectors, alike=alike, debug=lines, units=apart.units)
    symbols = stubs(signatures)
    entries = {s.function: f"adc.entry{k}" for k, s in enumerate(signatures)}
    fragments = [stub.stub_ir(s, symbol, entries[s.function]) for s, symbol in zip(signatures, symbols, strict=True)]
    own = llvm_text.with_aliases(lowered.text(), {f"adc.{name}": entry for name, entry in entries.items()})
    stubs_text = llvm_text.alone(lowered.target.triple, fragments)
    levels = levels_of_units(lowered, apart, options.level)
    levels[own] = options.level if lowered.repeats or not apart.texts else 0
    levels[stubs_text] = 0  # at higher levels LLVM takes 20 ms, and saves 0.005 microseconds per call
    optimized = optimize_or_find_all(levels, lowered.target)
    tables = [f"{s}.objects" for s, sig in zip(symbols, signatures, strict=True) if stub.objects_of(sig)]
    names = [running.NAMES] if lowered.counted else []
    loops = [running.Loop(name, loop.loc, loop.sweep, loop.is_part) for loop in lowered.counted]
    made = Loadable(
        objects_of(lowered, apart, levels, optimized, options.level),
        tuple(signatures),
        (*symbols, *tables, *names),
        tuple(loops),
        tuple(lowered.sites),
    )
    return made, [each.object_code for each in optimized]


def _counted(module: Module, exports: Sequence[str]) -> Module:
    from adc.passes.checkpointing.count_steps import CountSteps

    return CountSteps(exports).run(module)


def _lowered(
    counted: Module,
    exports: Sequence[str],
    threads: bool,
    vectors: bool,
    *,
    alike: bool = False,
    debug: bool = False,
    units: Mapping[str, Unit] | None = None,
) -> Lowered:
    from adc.backend.lowering.lower import lower_module

    return lower_module(
        counted,
        exports=exports,
        threads=threads,
        polls=True,
        vectors=vectors,
        alike=alike,
        debug=debug,
        units=units,
        quick=True,
    )
