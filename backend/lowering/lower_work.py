"""An estimate of the work in a loop: whether threads are worth waking for it, and how often it is to poll."""

from __future__ import annotations

from adc.backend.lowering.lower_effects import is_brief
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
    amount = 0.0
    for op in loop.regions[0].walk():
        amount += weight(op)
    size = 1024
    while size > 64 and size * amount > 65536:
        size //= 2
    return size


def weight(op: Op) -> float:
    """The work of one operation, without what is in its regions."""
    if op.opdef in _FREE:
        return 0.0
    if op.opdef in _WEIGHTS:
        return float(_WEIGHTS[op.opdef])
    return float(_LIBRARY if op.opdef.dialect == "math" else 1)


def _block(e: FunctionEmitter, block: Block) -> Amount:
    total: Amount = 1.0
    for op in block.ops:
        total = _combine(e, "fadd", total, weight(op))
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


STRIP = 1 << 21  # the most work in a strip, in the units from above; a cache miss takes a thousand of them


def strip_of(e: FunctionEmitter, loop: Op) -> int:
    """How many iterations of an innermost loop, at most, run between two polls; 0 if it need not poll.

    Strips cost rows of a few elements some per cent. A loop inside another one, which polls, that goes along an array
    has no more iterations than that has elements.
    """
    if is_brief(loop) or loop in e.facts.outer or (_is_inside_loop(loop) and _goes_along_array(loop)):
        return 0
    size = max(1, sum(int(weight(op)) for op in loop.regions[0].walk()))
    strip = 1 << 20
    while strip > 1 << 10 and strip * size > STRIP:
        strip //= 2
    return strip


def _is_inside_loop(loop: Op) -> bool:
    block = loop.parent
    while block is not None and (op := block.parent_op) is not None:
        if op.opdef in (ops.for_, ops.while_, ops.parallel):
            return True
        block = op.parent
    return False


def _goes_along_array(loop: Op) -> bool:
    """Whether an access that each iteration makes has the counter, plus or minus something else, as a subscript."""
    body = loop.regions[0]
    moving = {body.args[0]}
    for op in body.ops:
        if op.opdef in (ops.addi, ops.subi, ops.bound) and sum(v in moving for v in op.operands) == 1:
            if not any(v.op is not None and v.op.parent is body and v not in moving for v in op.operands):
                moving.add(op.result)
        elif op.opdef in (ops.load, ops.store, ops.accumulate):
            subscripts = op.operands[1:] if op.opdef is ops.load else op.operands[2:]
            if any(v in moving for v in subscripts):
                return True
    return False
