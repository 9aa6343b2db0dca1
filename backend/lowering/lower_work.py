"""An estimate of the work in a loop, for the decision whether threads are worth waking."""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_types import literal
from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.types import f64

# Other operations count 1. The unit is about 0.02 ns in vectorised code, 0.1 ns in scalar code.
_WEIGHTS = {ops.divf: 4, ops.sqrt: 4, ops.rsqrt: 6, ops.divsi: 8, ops.remsi: 8, ops.floordivsi: 8, ops.call: 40}
_FREE = frozenset({ops.constant, ops.dim, ops.yield_, ops.reduce, ops.cast, ops.transpose, ops.undef, ops.index_cast})
_LIBRARY = 12  # a function of the mathematics library
_GUESS = 16.0  # trips of a loop whose bounds are not known outside

Amount = float | str  # a number, or an LLVM value of type double


def work(e: FunctionEmitter, loop: Op) -> str:
    """The work of one iteration, as an LLVM value; trip counts of inner loops enter where they are known outside."""
    amount = _block(e, loop.regions[0])
    return literal(amount, f64) if isinstance(amount, float) else amount


def block_iterations(e: FunctionEmitter, loop: Op) -> int:
    """How many iterations a thread takes at least: enough to fill vectors, unless there are loops inside."""
    if loop in e.facts.nesting:
        return 1
    weight = 0.0
    for op in loop.regions[0].walk():
        weight += _weight(op)
    size = 1024
    while size > 64 and size * weight > 65536:
        size //= 2
    return size


def _weight(op: Op) -> float:
    if op.opdef in _FREE:
        return 0.0
    if op.opdef in _WEIGHTS:
        return float(_WEIGHTS[op.opdef])
    return float(_LIBRARY if op.opdef.dialect == "math" else 1)


def _block(e: FunctionEmitter, block: Block) -> Amount:
    total: Amount = 1.0
    for op in block.ops:
        total = _combine(e, "fadd", total, _weight(op))
        for region in op.regions:
            inner = _block(e, region)
            if op.opdef in (ops.for_, ops.parallel):
                inner = _combine(e, "fmul", inner, _trips(e, op))
            elif op.opdef is ops.while_:
                inner = _combine(e, "fmul", inner, _GUESS)
            total = _combine(e, "fadd", total, inner)
    return total


def _combine(e: FunctionEmitter, instruction: str, x: Amount, y: Amount) -> Amount:
    if isinstance(x, float) and isinstance(y, float):
        return x + y if instruction == "fadd" else x * y
    texts = [literal(v, f64) if isinstance(v, float) else v for v in (x, y)]
    return e.let(f"{instruction} double {texts[0]}, {texts[1]}")


def _trips(e: FunctionEmitter, loop: Op) -> Amount:
    bounds = [_outside(e, v) for v in loop.operands[:3]]
    if any(b is None for b in bounds):
        return _GUESS
    lower, upper, step = (str(b) for b in bounds)
    if lower.isdigit() and upper.isdigit() and step.isdigit():
        return float(len(range(int(lower), int(upper), int(step))))
    span = upper if lower == "0" else e.let(f"sub i64 {upper}, {lower}")
    e.module.declare("llvm.smax.i64", "declare i64 @llvm.smax.i64(i64, i64)")
    positive = e.let(f"call i64 @llvm.smax.i64(i64 {span}, i64 0)")
    count = e.let(f"uitofp i64 {positive} to double")
    if step == "1":
        return count
    return e.let(f"fdiv double {count}, {e.let(f'uitofp i64 {step} to double')}")


def _outside(e: FunctionEmitter, value: Value) -> str | None:
    """The LLVM value outside of the loop, if it is a constant or was computed before."""
    op = value.op
    if op is not None and op.opdef is ops.constant:
        return str(op.attrs["value"])
    if value in e.env:
        return e.scalar(value)
    if op is not None and op.opdef is ops.dim and op.operands[0] in e.env:
        return e.memref(op.operands[0]).extents[op.attrs["dim"]]
    return None
