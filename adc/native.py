"""From IR and signatures to object code with stubs that Python calls: lowering, LLVM."""

from __future__ import annotations

from collections.abc import Sequence

from adc.backend import llvm_text, running
from adc.backend.calls import stub
from adc.backend.calls.abi import Signature
from adc.backend.lowering.lower import Lowered, lower_module
from adc.backend.optimize import Optimized, optimize, optimize_or_find, vectorises
from adc.ir.core import Module
from adc.ir.excerpts import in_library
from adc.loadable import Loadable, stubs
from adc.passes.checkpointing.count_steps import CountSteps


def native(
    module: Module, signatures: Sequence[Signature], *, parallel: bool, level: int, name: str
) -> tuple[Loadable, list[bytes]]:
    """Compile ``module``, of the Python function ``name``, with a stub for each of ``signatures``. ``level`` is LLVM's
    optimisation level.

    The stubs, and what is common to all modules, are objects of their own, whose texts have no names of the program's:
    most often they are in the cache.
    """
    exports = list(dict.fromkeys(s.function for s in signatures))
    lowered = _lowered(module, exports, parallel=parallel, level=level)
    symbols = stubs(signatures)
    entries = {s.function: f"adc.entry{k}" for k, s in enumerate(signatures)}
    fragments = [stub.stub_ir(s, symbol, entries[s.function]) for s, symbol in zip(signatures, symbols, strict=True)]
    own = llvm_text.with_aliases(lowered.text(whole=False), {f"adc.{name}": entry for name, entry in entries.items()})
    texts = [own, llvm_text.alone(lowered.target.triple, fragments), lowered.common_text()]
    optimized = [optimize_or_find(text, lowered.target, level) for text in texts if text]
    tables = [f"{s}.objects" for s, sig in zip(symbols, signatures, strict=True) if stub.objects_of(sig)]
    names = [running.NAMES] if lowered.counted else []
    loops = [running.Loop(name, loop.loc, loop.sweep, loop.is_part) for loop in lowered.counted]
    made = Loadable(
        tuple(each.key for each in optimized),
        tuple(signatures),
        (*symbols, *tables, *names),
        tuple(dict.fromkeys(symbol for text in texts for symbol in stub.imports(text))),
        tuple((symbol, function) for function, symbol in lowered.linking.names.items()),
        tuple(loops),
        tuple(lowered.sites),
        lowered.elsewhere,
    )
    return made, [each.object_code for each in optimized]


def compiled_text(module: Module, exports: Sequence[str], *, parallel: bool, level: int) -> Optimized:
    """The optimised LLVM module of ``module`` alone, to be shown."""
    lowered = _lowered(module, exports, parallel=parallel, level=level)
    return optimize(lowered.text(), lowered.target, level)


def simd_lines(module: Module, exports: Sequence[str], *, parallel: bool) -> list[int]:
    """The lines of the loops of ``module`` that LLVM made SIMD, without those of adc's own library."""
    lowered = _lowered(module, exports, parallel=parallel, level=3)
    places = (lowered.places[place] for place in optimize(lowered.text(), lowered.target, 3).vectorized())
    return [line for file, line in places if not in_library(file)]


def debug_text(module: Module, exports: Sequence[str], parallel: bool, level: int) -> Optimized:
    """The optimised LLVM module of ``module`` alone, with the lines of the source that it comes from."""
    lowered = _lowered(module, exports, parallel=parallel, level=level, debug=True)
    return optimize(lowered.text(), lowered.target, level)


def _lowered(
    module: Module, exports: Sequence[str], *, parallel: bool, level: int, debug: bool = False
) -> Lowered:
    counted = CountSteps(exports).run(module)
    vectors = vectorises(level)
    return lower_module(counted, exports=exports, threads=parallel, polls=True, vectors=vectors, debug=debug)
