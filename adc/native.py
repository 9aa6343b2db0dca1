"""From IR and a signature to a built-in function of this process: lowering, LLVM, linking, stub."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from adc.backend import llvm_text
from adc.backend.calls import stub
from adc.backend.calls.abi import Signature
from adc.backend.jit import Engine
from adc.backend.lowering.lower import Site, lower_module
from adc.backend.optimize import Optimized, optimize
from adc.boundary import leaving
from adc.ir.core import Module
from adc.ir.diagnostics import format_message, runtime_error
from adc.ir.types import FloatType, IntType, Type

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
    lowered = lower_module(module, exports=exports, threads=parallel, polls=True)
    symbols = [f"adc.stub{k}.{s.function}" for k, s in enumerate(signatures)]
    fragments = [stub.stub_ir(s, symbol) for s, symbol in zip(signatures, symbols, strict=True)]
    text = llvm_text.merge(lowered.text(), fragments)
    optimized = optimize(text, lowered.target, level)
    tables = [f"{s}.objects" for s, sig in zip(symbols, signatures, strict=True) if stub.objects_of(sig)]
    library = _engine().load(optimized.object_code, [*symbols, *tables], stub.imports(text))
    error = functools.partial(_error, name, lowered.sites)
    return [
        stub.bind(s, symbol, library.address, library, miss=miss, error=error, name=name, doc=doc)
        for s, symbol in zip(signatures, symbols, strict=True)
    ]


def compiled_text(module: Module, exports: Sequence[str], *, parallel: bool) -> Optimized:
    """The optimised LLVM module of ``module`` alone, to be shown."""
    lowered = lower_module(module, exports=list(exports), threads=parallel, polls=True)
    return optimize(lowered.text(), lowered.target)


def _error(name: str, sites: Sequence[Site], number: int, a: int, b: int) -> BaseException:
    """The exception for an error record of compiled code."""
    site = sites[number]
    values = [_operand(bits, t) for bits, t in zip((a, b), site.operand_types, strict=False)]
    return leaving(runtime_error(site.error, format_message(site.message, values), site.loc), name)


def _operand(bits: int, type: Type) -> object:
    if isinstance(type, FloatType):
        raw = struct.pack("<q", bits)
        return struct.unpack("<d", raw)[0] if type.width == 64 else struct.unpack("<f", raw[:4])[0]
    if isinstance(type, IntType) and type.width == 1:
        return bool(bits & 1)
    return bits
