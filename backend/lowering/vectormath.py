"""Calls of C's mathematics library, and of the vector functions that SIMD loops call instead.

Where glibc's libmvec is available, its vector variants are used; else sine, cosine, exponential, logarithm and
hyperbolic tangent are adc's own (``elementary``, ``sincos``), computed in double for single precision.

LLVM's loop vectoriser replaces a scalar call by a vector one if the callee's declaration lists it in
``"vector-function-abi-variant"`` (names by the x86 vector function ABI) and the variant is declared in the module.
Otherwise the call stays scalar. errno is ignored, so the calls are pure. libmvec's functions are accurate to 4 ulp,
libm's to 1 or 2.

So an element has other last bits in the remainder of a SIMD loop than in its vectors. Where bits must not depend on how
loops are cut (``ModuleEmitter.alike``), all code calls the widest vector function; numbers that are alone, in all lanes
of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from adc.backend.lowering import elementary, sincos
from adc.backend.lowering.lane_code import PREFIX, PURE
from adc.backend.lowering.lower_types import register_type
from adc.backend.target import Target, libmvec_exports
from adc.ir.types import FloatType, Type, f16, f32

if TYPE_CHECKING:
    from adc.backend.lowering.lower_emitter import FunctionEmitter
    from adc.backend.lowering.module_emitter import ModuleEmitter


def call(emitter: FunctionEmitter, name: str, t: Type, operands: Sequence[str]) -> str:
    """Call a function of libm, named as for doubles, on values of type ``t``."""
    assert isinstance(t, FloatType)
    if t == f16:  # NumPy computes it in single precision
        wide = [emitter.let(f"fpext half {x} to float") for x in operands]
        return emitter.let(f"fptrunc float {call(emitter, name, f32, wide)} to half")
    kind, module = register_type(t), emitter.module
    # Where a loop has sine and cosine of one number, adc's own compute both; which have depends on how they are cut.
    together = module.alike and module.target.fused and name in ("sin", "cos") and t.width == 64
    if together or has_own(emitter, name):
        return _own(emitter, name, t, operands[0])
    symbol = name if t.width == 64 else f"{name}f"
    found = variants(module.target, symbol, t.width, len(operands))
    if found and module.alike and module.vectors:
        emitter.calls.twofold += 1
        symbol = _by_lanes(module, symbol, kind, len(operands), *found[-1])
    else:
        if found:
            emitter.calls.vector += 1
        else:
            emitter.calls.scalar += 1
        declare(module, symbol, t, len(operands))
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
    attributes = PURE
    if found:
        listed = ",".join(f"{variant}({variant})" for variant, _ in found)
        attributes += f' "vector-function-abi-variant"="{listed}"'
    number = module.attributes(attributes)
    module.declare(symbol, f"declare {kind} @{symbol}({', '.join([kind] * arity)}) {number}")
    pure = module.attributes(PURE)
    for variant, lanes in found:
        vector = f"<{lanes} x {kind}>"
        module.declare(variant, f"declare {vector} @{variant}({', '.join([vector] * arity)}) {pure}")
        module.used[variant] = None


def _by_lanes(module: ModuleEmitter, symbol: str, kind: str, arity: int, variant: str, lanes: int) -> str:
    """The name of a scalar function that is one lane of a vector function. SIMD loops call that, two of them for twice
    as many numbers (see ``lane_code``), or one for half as many in their remainders."""
    name = f"{PREFIX}{symbol}"
    if name in module.helpers:
        return name
    module.helpers[name] = name
    wide = f"<{lanes} x {kind}>"
    pure = module.attributes(PURE)
    module.declare(variant, f"declare {wide} @{variant}({', '.join([wide] * arity)}) {pure}")
    names = {width: f"{name}.{width}" for width in (lanes // 2, 2 * lanes) if width > 1} | {lanes: variant}
    listed = ",".join(f"_ZGV_LLVM_N{width}{'v' * arity}_{name}({called})" for width, called in names.items())
    # Neither inlined before loops are vectorised, nor specialised for constant arguments ("used" functions are not):
    # LLVM would not find the variants.
    alone = f'{PURE} noinline "vector-function-abi-variant"="{listed}"'
    for width, called in ((1, name), *names.items()):
        module.used[called] = None
        if called != variant:
            attributes = f"{alone if width == 1 else f'{PURE} alwaysinline'} {module.function_attributes}".rstrip()
            module.bodies.append(_lanes(called, variant, kind, arity, lanes, width, module.attributes(attributes)))
    return name


def _lanes(name: str, variant: str, kind: str, arity: int, lanes: int, width: int, attributes: str) -> str:
    """A function of ``width`` numbers that calls a vector function of ``lanes`` numbers, once or twice."""
    wide, given = f"<{lanes} x {kind}>", kind if width == 1 else f"<{width} x {kind}>"
    parameters = [f"%x{k}" for k in range(arity)]
    listed = ", ".join(f"{given} {x}" for x in parameters)
    lines = [f"define internal {given} @{name}({listed}) {attributes} {{", "entry:"]
    vectors = parameters
    if width == 1:
        vectors = [f"{x}.first" for x in parameters]
        one = f"<1 x {kind}>"
        lines += [
            f"  {v} = insertelement {one} poison, {kind} {x}, i64 0" for v, x in zip(vectors, parameters, strict=True)
        ]
        given = one
    parts = range(max(1, width // lanes))
    for part in parts:
        chosen = _mask((part * lanes + k) % width for k in range(lanes))
        for x, v in zip(parameters, vectors, strict=True):
            lines.append(f"  {x}.{part} = shufflevector {given} {v}, {given} poison, {chosen}")
        operands = ", ".join(f"{wide} {x}.{part}" for x in parameters)
        lines.append(f"  %y.{part} = call {wide} @{variant}({operands})")
    if width == 1:
        lines.append(f"  %y = extractelement {wide} %y.0, i64 0")
    else:
        lines.append(f"  %y = shufflevector {wide} %y.0, {wide} %y.{parts[-1]}, {_mask(range(width))}")
    return "\n".join([*lines, f"  ret {kind if width == 1 else given} %y\n}}\n"])


def _mask(chosen: Iterable[int]) -> str:
    numbers = [f"i32 {k}" for k in chosen]
    return f"<{len(numbers)} x i32> <{', '.join(numbers)}>"


def variants(target: Target, symbol: str, width: int, arity: int) -> list[tuple[str, int]]:
    """Names and lane counts of the vector variants that libmvec offers for the target's registers."""
    found = []
    for letter, bits in target.vector_classes:
        lanes = bits // width
        name = f"_ZGV{letter}N{lanes}{'v' * arity}_{symbol}"
        if libmvec_exports(name):
            found.append((name, lanes))
    return found
