"""From IR and a signature to a built-in function of this process: lowering, LLVM, linking, stub."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from adc.backend import llvm_text, running
from adc.backend.calls import stub
from adc.backend.calls.abi import Signature
from adc.backend.jit import Engine
from adc.backend.lowering.lower import lower_module
from adc.backend.optimize import Optimized, optimize, optimize_or_find
from adc.boundary import leaving
from adc.ir.core import Module
from adc.passes.checkpointing.count_steps import CountSteps

Builtin = Callable[..., Any]


@functools.cache
def _engine() -> Engine:
    return Engine()


def native(
    module: Module,
    signatures: Sequence[Signature],
    *,
    parallel: bool,
    level: int,
    miss: Callable[..., Any],
    name: str,
    doc: str | None,
) -> list[Builtin]:
    """Compile ``module`` and return a built-in function for each of ``signatures``.

    Arguments that do not fit a signature go to ``miss``. ``level`` is LLVM's optimisation level.
    """
    exports = list(dict.fromkeys(s.function for s in signatures))
    lowered = lower_module(CountSteps(exports).run(module), exports=exports, threads=parallel, polls=True)
    symbols = [f"adc.stub{k}.{s.function}" for k, s in enumerate(signatures)]
    fragments = [stub.stub_ir(s, symbol) for s, symbol in zip(signatures, symbols, strict=True)]
    text = llvm_text.merge(lowered.text(), fragments)
    optimized = optimize_or_find(text, lowered.target, level)
    tables = [f"{s}.objects" for s, sig in zip(symbols, signatures, strict=True) if stub.objects_of(sig)]
    names = [running.NAMES] if lowered.counted else []
    imports = {**stub.imports(text), **lowered.linking.addresses()}
    library = _engine().load(optimized.object_code, [*symbols, *tables, *names], imports)
    loops = [running.Loop(name, loop.loc, loop.sweep, loop.is_part) for loop in lowered.counted]
    if loops:
        running.register(library.address(running.NAMES), loops)
    error = functools.partial(_error, name, stub.errors_of(lowered.sites))
    return [
        stub.bind(s, symbol, library.address, (library, loops), miss=miss, error=error, name=name, doc=doc)
        for s, symbol in zip(signatures, symbols, strict=True)
    ]


def compiled_text(module: Module, exports: Sequence[str], *, parallel: bool, level: int) -> Optimized:
    """The optimised LLVM module of ``module`` alone, to be shown."""
    counted = CountSteps(exports).run(module)
    lowered = lower_module(counted, exports=list(exports), threads=parallel, polls=True)
    return optimize(lowered.text(), lowered.target, level)


def _error(name: str, make: stub.ErrorCallback, site: int, a: int, b: int, more: int) -> BaseException:
    """The exception for an error record of compiled code."""
    return leaving(make(site, a, b, more), name)
