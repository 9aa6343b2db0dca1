"""Calls of C's mathematics library, and of the vector functions that SIMD loops call instead.

Where glibc's libmvec is available, its vector variants are used; else sine, cosine, exponential, logarithm and
hyperbolic tangent are adc's own (``elementary``, ``sincos``), computed in double for single precision.

LLVM's loop vectoriser replaces a scalar call by a vector one if the callee's declaration lists it in
``"vector-function-abi-variant"`` (names by the x86 vector function ABI) and the variant is declared in the module.
Otherwise the call stays scalar. errno is ignored, so the calls are pure. libmvec's functions are accurate to 4 ulp,
libm's to 1 or 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adc.backend.lowering import elementary, sincos
from adc.backend.lowering.lower_types import register_type
from adc.backend.target import Target, libmvec_exports
from adc.ir.types import FloatType, Type, f16, f32

if TYPE_CHECKING:
    from adc.backend.lowering.lower_emitter import FunctionEmitter
    from adc.backend.lowering.module_emitter import ModuleEmitter

_PURE = "nounwind willreturn memory(none)"


def call(emitter: FunctionEmitter, name: str, t: Type, operands: Sequence[str]) -> str:
    """Call a function of libm, named as for doubles, on values of type ``t``."""
    assert isinstance(t, FloatType)
    if t == f16:  # NumPy computes it in single precision
        wide = [emitter.let(f"fpext half {x} to float") for x in operands]
        return emitter.let(f"fptrunc float {call(emitter, name, f32, wide)} to half")
    kind = register_type(t)
    if has_own(emitter, name):
        return _own(emitter, name, t, operands[0])
    symbol = name if t.width == 64 else f"{name}f"
    if variants(emitter.module.target, symbol, t.width, len(operands)):
        emitter.calls.vector += 1
    else:
        emitter.calls.scalar += 1
    declare(emitter.module, symbol, t, len(operands))
    given = ", ".join(f"{kind} {x}" for x in operands)
    return emitter.let(f"call {kind} @{symbol}({given})")


def has_own(emitter: FunctionEmitter, name: str) -> bool:
    """Whether adc's own version of a function is used, because no library has a vector variant. Scalar loops use the
    same version, so that results do not depend on which loops are SIMD."""
    target = emitter.module.target
    return not target.vector_math and (elementary.has(target, name) or (name in ("sin", "cos") and target.fused))


def _own(emitter: FunctionEmitter, name: str, t: FloatType, x: str) -> str:
    if t.width == 32:
        x = emitter.let(f"fpext float {x} to double")
    if name in ("sin", "cos"):
        result = sincos.one(emitter, name, x)
    else:
        result = elementary.call(emitter, name, x)
    return result if t.width == 64 else emitter.let(f"fptrunc double {result} to float")


def declare(module: ModuleEmitter, symbol: str, t: FloatType, arity: int) -> None:
    """Declare a libm function and its vector variants."""
    if symbol in module.declarations:
        return
    kind = register_type(t)
    found = variants(module.target, symbol, t.width, arity) if module.vectors else []
    attributes = _PURE
    if found:
        listed = ",".join(f"{variant}({variant})" for variant, _ in found)
        attributes += f' "vector-function-abi-variant"="{listed}"'
    number = module.attributes(attributes)
    module.declare(symbol, f"declare {kind} @{symbol}({', '.join([kind] * arity)}) {number}")
    pure = module.attributes(_PURE)
    for variant, lanes in found:
        vector = f"<{lanes} x {kind}>"
        module.declare(variant, f"declare {vector} @{variant}({', '.join([vector] * arity)}) {pure}")
        module.used[variant] = None


def variants(target: Target, symbol: str, width: int, arity: int) -> list[tuple[str, int]]:
    """Names and lane counts of the vector variants that libmvec offers for the target's registers."""
    found = []
    for letter, bits in target.vector_classes:
        lanes = bits // width
        name = f"_ZGV{letter}N{lanes}{'v' * arity}_{symbol}"
        if libmvec_exports(name):
            found.append((name, lanes))
    return found
