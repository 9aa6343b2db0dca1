"""The lowering of each scalar operation to LLVM IR, in the order of ``adc.ir.ops``.

A lowering is given the function's emitter, the operation and its operands as LLVM values, and returns the result.
"""

from __future__ import annotations

from math import inf

from adc.backend.lowering import sincos, vectormath
from adc.backend.lowering.half_precision import from_double
from adc.backend.lowering.integer_lowerings import (
    Lowering,
    divsi,
    known_number,
    remsi,
    rounded_division,
    shift_right,
    shl,
    unsigned_division,
    width_of,
)
from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_helpers import integer_power, polygamma_function, power_fits
from adc.backend.lowering.lower_types import literal, register_type
from adc.backend.lowering.multiply_add import is_fused, multiply_add
from adc.ir import ops
from adc.ir.core import Op
from adc.ir.opdef import OpDef
from adc.ir.types import FloatType, IntType, f16, f32, f64


def _kind(op: Op) -> str:
    return register_type(op.result.type)


def _float(instruction: str) -> Lowering:
    return lambda e, op, *xs: e.let(f"{instruction} {_kind(op)} {', '.join(xs)}")


def _product(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
    # LLVM may fuse it with a sum whose order is adc's choice, see ``_sum``.
    return e.let(f"fmul {_flags(op)}{_kind(op)} {x}, {y}")


def _flags(op: Op) -> str:
    """Fast-math flags of a sum or product."""
    mode = op.attrs["fastmath"]
    return "" if mode == "none" else f"{mode.replace(',', ' ')} "


def _sum(instruction: str) -> Lowering:
    """Addition or subtraction, fused with a product of the same block if both allow it and the target has the
    instruction. Sums whose order is adc's choice are left to LLVM, which handles products in reductions; not where bits
    must not depend on how loops are cut (``alike``): LLVM sees a product in one layout, stored terms in another."""

    def lower(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
        if op.attrs["fastmath"] == ops.OWNED and not e.module.alike:
            return e.let(f"{instruction} {_flags(op)}{_kind(op)} {x}, {y}")
        a, b = op.operands
        negated = instruction == "fsub"
        if is_fused(e, op, b):
            return multiply_add(e, b, x, negated=negated)
        if is_fused(e, op, a):
            return multiply_add(e, a, e.let(f"fneg {_kind(op)} {y}") if negated else y)
        return e.let(f"{instruction} {_kind(op)} {x}, {y}")

    return lower


def _integer(instruction: str) -> Lowering:
    return lambda e, op, x, y: e.let(f"{instruction} {_kind(op)} {x}, {y}")


def _intrinsic(name: str, suffix: str = "") -> Lowering:
    """An LLVM intrinsic that takes operands of the result's type; ``suffix`` is an additional argument."""

    def lower(e: FunctionEmitter, op: Op, *xs: str) -> str:
        kind = _kind(op)
        mangled = f"{name}.{'f' + str(op.result.type.width) if isinstance(op.result.type, FloatType) else kind}"
        types, given = [kind] * len(xs), [f"{kind} {x}" for x in xs]
        if suffix:
            types.append(suffix.split()[0])
            given.append(suffix)
        e.module.declare(mangled, f"declare {kind} @{mangled}({', '.join(types)})")
        return e.let(f"call {kind} @{mangled}({', '.join(given)})")

    return lower


def _other_than_nan(name: str) -> Lowering:
    """The maximum or minimum of two floats; if one is NaN, the other. (``llvm.maximumnum`` of LLVM 22 returns NaN where
    one operand is known not to be NaN, 2026-11.)"""

    def lower(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
        kind, extreme = _kind(op), _intrinsic(name)(e, op, x, y)
        for nan, other in ((y, x), (x, y)):
            unordered = e.let(f"fcmp uno {kind} {nan}, {nan}")
            extreme = e.let(f"select i1 {unordered}, {kind} {other}, {kind} {extreme}")
        return extreme

    return lower


def _of_c(name: str, called: bool | None) -> Lowering:
    """A function of C's mathematics library, by its name for doubles: LLVM's intrinsic of that name, if no call is
    needed."""
    return (lambda e, op, *xs: vectormath.call(e, name, op.result.type, xs)) if called else _intrinsic(f"llvm.{name}")


def _cast(instruction: str) -> Lowering:
    return lambda e, op, x: e.let(f"{instruction} {register_type(op.operands[0].type)} {x} to {_kind(op)}")


def _constant(e: FunctionEmitter, op: Op) -> str:
    return literal(op.attrs["value"], op.result.type)


def _compare(instruction: str) -> Lowering:
    return lambda e, op, x, y: e.let(
        f"{instruction} {op.attrs['predicate']} {register_type(op.operands[0].type)} {x}, {y}"
    )


def _select(e: FunctionEmitter, op: Op, condition: str, x: str, y: str) -> str:
    kind = _kind(op)
    name = _number_or_infinity(op)
    if name is not None:
        return _intrinsic(name)(e, op, y, x)
    return e.let(f"select i1 {condition}, {kind} {x}, {kind} {y}")


def _number_or_infinity(op: Op) -> str | None:
    """The intrinsic that is equivalent to replacing NaN by an infinity: ``minnum`` for inf, ``maxnum`` for -inf. With a
    select in a minimum or maximum, LLVM would split it up, and then would not vectorise the loop."""
    condition, infinity = (v.op for v in op.operands[:2]) if op.opdef is ops.select else (None, None)
    if condition is None or condition.opdef is not ops.cmpf or condition.attrs["predicate"] != "uno":
        return None
    if set(condition.operands) != {op.operands[2]} or infinity is None or infinity.opdef is not ops.constant:
        return None
    return {inf: "llvm.minnum", -inf: "llvm.maxnum"}.get(infinity.attrs["value"])


def _strong(compute: Lowering) -> Lowering:
    def lower(e: FunctionEmitter, op: Op, x: str, y: str, *marks: str) -> str:
        mark = marks[0] if len(marks) == 1 else e.let(f"or i1 {marks[0]}, {marks[1]}")
        return _select(e, op, mark, "0.0", compute(e, op, x, y))

    return lower


def _truncf(e: FunctionEmitter, op: Op, x: str) -> str:
    if op.operands[0].type == f64 and op.result.type == f16:
        return from_double(e, x)
    return e.let(f"fptrunc {register_type(op.operands[0].type)} {x} to {_kind(op)}")


_LEAST_INT64, _BEYOND_INT64 = "0xC3E0000000000000", "0x43E0000000000000"


def _fptosi(e: FunctionEmitter, op: Op, x: str) -> str:
    """Float to integer, with a defined result for numbers out of range, where LLVM's plain conversion has none: zero,
    which SIMD loops can select, or the nearest integer."""
    source, target = op.operands[0].type, _kind(op)
    assert isinstance(source, FloatType)
    if source == f16:
        source, x = f32, e.let(f"fpext half {x} to float")
    if target == "i64":
        t = register_type(source)
        above, below = e.let(f"fcmp oge {t} {x}, {_LEAST_INT64}"), e.let(f"fcmp olt {t} {x}, {_BEYOND_INT64}")
        fitting = e.let(f"select i1 {e.let(f'and i1 {above}, {below}')}, {t} {x}, {t} 0.0")
        return e.let(f"fptosi {t} {fitting} to i64")
    name = f"llvm.fptosi.sat.{target}.f{source.width}"
    kind = register_type(source)
    e.module.declare(name, f"declare {target} @{name}({kind})")
    return e.let(f"call {target} @{name}({kind} {x})")


def _index_cast(sign: str) -> Lowering:
    def lower(e: FunctionEmitter, op: Op, x: str) -> str:
        before, after = width_of(op.operands[0].type), width_of(op.result.type)
        if before == after:
            return x
        source = op.operands[0].type
        extend = "zext" if isinstance(source, IntType) and source.unsigned else sign
        instruction = "trunc" if after < before else extend
        return e.let(f"{instruction} i{before} {x} to i{after}")

    return lower


def _rsqrt(e: FunctionEmitter, op: Op, x: str) -> str:
    root = _intrinsic("llvm.sqrt")(e, op, x)
    return e.let(f"fdiv {_kind(op)} {literal(1.0, op.result.type)}, {root}")


def _fpowi(e: FunctionEmitter, op: Op, x: str, n: str) -> str:
    """A power with an exponent that ``expand-powers`` leaves: not known, or large.

    A large odd exponent becomes even when it is rounded to a float, so the sign is computed separately.
    """
    kind, t, integer = _kind(op), op.result.type, register_type(op.operands[1].type)
    wide = e.let(f"sitofp {integer} {n} to {kind}")
    size = vectormath.call(e, "pow", t, [_intrinsic("llvm.fabs")(e, op, x), wide])
    odd = e.let(f"trunc {integer} {n} to i1") if integer != "i1" else n
    sign = e.let(f"select i1 {odd}, {kind} {x}, {kind} {literal(1.0, t)}")
    return _intrinsic("llvm.copysign")(e, op, size, sign)


def _ipowi(e: FunctionEmitter, op: Op, x: str, n: str) -> str:
    kind, exponent = _kind(op), known_number(n)
    if exponent is not None and 1 <= exponent <= 4:
        power = x
        for _ in range(exponent - 1):
            power = e.let(f"mul {kind} {power}, {x}")
        return power
    return e.let(f"call {kind} @{integer_power(e.module, kind)}({kind} {x}, {kind} {n})")


_OVERFLOW = {"add": "sadd", "sub": "ssub", "mul": "smul"}


def _fits(e: FunctionEmitter, op: Op, x: str, y: str) -> str:
    kind = op.attrs["kind"]
    if kind == "shl":
        back = e.let(f"ashr i64 {shl(e, op, x, y)}, {y}")
        inside, same = e.let(f"icmp ult i64 {y}, 64"), e.let(f"icmp eq i64 {back}, {x}")
        zero = e.let(f"icmp eq i64 {x}, 0")
        return e.let(f"select i1 {zero}, i1 true, i1 {e.let(f'select i1 {inside}, i1 {same}, i1 false')}")
    if kind == "pow":
        return e.let(f"call i1 @{power_fits(e.module)}(i64 {x}, i64 {y})")
    name = f"llvm.{_OVERFLOW[kind]}.with.overflow.i64"
    e.module.declare(name, f"declare {{i64, i1}} @{name}(i64, i64)")
    both = e.let(f"call {{i64, i1}} @{name}(i64 {x}, i64 {y})")
    return e.let(f"xor i1 {e.let(f'extractvalue {{i64, i1}} {both}, 1')}, true")


def _polygamma(e: FunctionEmitter, op: Op, x: str) -> str:
    """Computed in double precision for all types."""
    name = polygamma_function(e.module, op.attrs["order"])
    if op.result.type.is_float and _kind(op) == "float":
        x = e.let(f"fpext float {x} to double")
    result = e.let(f"call double @{name}(double {x})")
    return result if _kind(op) == "double" else e.let(f"fptrunc double {result} to float")


def _external(e: FunctionEmitter, op: Op, *xs: str) -> str:
    """A C function that LLVM must not take for a library function of the same name."""
    kind = register_type(op.result.type)
    types = [register_type(v.type) for v in op.operands]
    name = e.module.external(op, f"{kind} ", f"({', '.join(types)})")
    given = ", ".join(f"{t} {x}" for t, x in zip(types, xs, strict=True))
    return e.let(f"call {kind} @{name}({given}) nobuiltin")


def _circular(name: str, other: OpDef) -> Lowering:
    """Sine or cosine: both together, if the block also has the other one of the same number."""

    def lower(e: FunctionEmitter, op: Op, x: str) -> str:
        known = e.together.pop(op, None)
        if known is not None:
            return known
        uses = op.operands[0].uses
        partner = next((user for user, _ in uses if user.opdef is other and user.parent is op.parent), None)
        if partner is None or op.result.type != f64 or not e.module.target.fused:
            return vectormath.call(e, name, op.result.type, [x])
        sine, cosine = sincos.call(e, x)
        e.together[partner] = cosine if other is ops.cos else sine
        return sine if other is ops.cos else cosine

    return lower


SCALARS: dict[OpDef, Lowering] = {
    # functions in C's library, except those overridden below
    **{kind: _of_c(kind.c_name, kind.called) for kind in ops.TABLE.values() if kind.c_name},
    # arith: constants, float arithmetic
    ops.constant: _constant,
    ops.addf: _sum("fadd"),
    ops.subf: _sum("fsub"),
    ops.mulf: _product,
    ops.divf: _float("fdiv"),
    ops.negf: _float("fneg"),
    ops.maximumf: _intrinsic("llvm.maximum"),
    ops.minimumf: _intrinsic("llvm.minimum"),
    ops.maxnumf: _other_than_nan("llvm.maximum"),
    ops.minnumf: _other_than_nan("llvm.minimum"),
    ops.cmpf: _compare("fcmp"),
    ops.select: _select,
    # arith: integers
    ops.addi: _integer("add"),
    ops.subi: _integer("sub"),
    ops.muli: _integer("mul"),
    ops.divsi: divsi,
    ops.divui: unsigned_division("udiv"),
    ops.remui: unsigned_division("urem"),
    ops.remsi: remsi,
    ops.floordivsi: rounded_division("-1", "slt"),
    ops.ceildivsi: rounded_division("1", "sgt"),
    ops.andi: _integer("and"),
    ops.ori: _integer("or"),
    ops.xori: _integer("xor"),
    ops.shli: shl,
    ops.shrsi: shift_right("ashr"),
    ops.shrui: shift_right("lshr"),
    ops.maxsi: _intrinsic("llvm.smax"),
    ops.minsi: _intrinsic("llvm.smin"),
    ops.cmpi: _compare("icmp"),
    ops.fits: _fits,
    # arith: casts
    ops.extf: _cast("fpext"),
    ops.truncf: _truncf,
    ops.sitofp: _cast("sitofp"),
    ops.uitofp: _cast("uitofp"),
    ops.fptosi: _fptosi,
    ops.extsi: _cast("sext"),
    ops.extui: _cast("zext"),
    ops.trunci: _cast("trunc"),
    ops.index_cast: _index_cast("sext"),
    ops.index_castui: _index_cast("zext"),
    ops.bitcast: _cast("bitcast"),
    # math
    ops.sin: _circular("sin", ops.cos),
    ops.cos: _circular("cos", ops.sin),
    ops.rsqrt: _rsqrt,
    ops.fpowi: _fpowi,
    ops.ipowi: _ipowi,
    ops.absi: _intrinsic("llvm.abs", "i1 false"),
    ops.stop_gradient: lambda e, op, x: x,
    ops.twin: lambda e, op, value, derivative: value,
    ops.strong_mulf: _strong(_product),
    ops.strong_divf: _strong(_float("fdiv")),
    ops.polygamma: _polygamma,
    ops.external: _external,
}
