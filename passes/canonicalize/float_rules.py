"""Identities of floats: only what is exact in IEEE arithmetic, signed zeros, infinities and NaN included.

So ``x * 0`` stays, and ``x + 0.0`` stays unless ``x`` cannot be -0.0. Only the sign and payload of a NaN may change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import index
from adc.passes.analysis.attributes import MIRRORED
from adc.passes.canonicalize.patterns import is_number, made_by, put_constant_last, register
from adc.passes.canonicalize.rewriter import Rewriter, Rule

Result = Sequence[Value] | None
FLOATS: dict[OpDef, Rule] = {}
_WHOLE = frozenset({ops.trunc, ops.roundeven, ops.floor, ops.ceil})
_POSITIVE_ZERO = ops.having(Trait.POSITIVE_ZERO)


def never_negative_zero(value: Value, depth: int = 4) -> bool:
    """Whether ``value`` is known not to be -0.0."""
    known = constant_of(value)
    if known is not None:
        return not (known == 0 and math.copysign(1.0, known) < 0)
    op = value.op
    if op is None or depth == 0:
        return False
    kind = op.opdef
    if kind in _POSITIVE_ZERO:
        return True
    if kind is ops.mulf:
        return op.operands[0] is op.operands[1]
    if kind is ops.addf:  # rounding to nearest, the sum is -0.0 only if both are
        return any(never_negative_zero(v, depth - 1) for v in op.operands)
    if kind is ops.subf:
        return never_negative_zero(op.operands[0], depth - 1)
    if kind is ops.select:
        return all(never_negative_zero(v, depth - 1) for v in op.operands[1:])
    return False


def _opposite(rw: Rewriter, value: Value) -> Value | None:
    """``-value``, if ``value`` is itself the negative of something that exists or costs the same."""
    op = value.op
    if op is None:
        return None
    if op.opdef is ops.negf:
        return op.operands[0]
    if (op.opdef is ops.mulf or op.opdef is ops.divf) and len(value.uses) == 1:
        for k, operand in enumerate(op.operands):
            if negated := made_by(operand, ops.negf):
                operands = [*op.operands[:k], negated.operands[0], *op.operands[k + 1 :]]
                return rw.emit(op.opdef, *operands, **op.attrs)
    return None


@register(FLOATS, ops.addf)
def _addf(rw: Rewriter, op: Op) -> Result:
    a, b = put_constant_last(op)
    if is_number(b, -0.0) or (is_number(b, 0.0) and never_negative_zero(a)):
        return (a,)
    if (positive := _opposite(rw, b)) is not None:
        return (rw.emit(ops.subf, a, positive, **op.attrs),)
    if (positive := _opposite(rw, a)) is not None:
        return (rw.emit(ops.subf, b, positive, **op.attrs),)
    return None


@register(FLOATS, ops.subf)
def _subf(rw: Rewriter, op: Op) -> Result:
    a, b = op.operands
    if is_number(b, 0.0) or (is_number(b, -0.0) and never_negative_zero(a)):
        return (a,)
    if is_number(a, -0.0):
        return (rw.emit(ops.negf, b),)
    if (positive := _opposite(rw, b)) is not None:
        return (rw.emit(ops.addf, a, positive, **op.attrs),)
    return None


@register(FLOATS, ops.mulf)
def _mulf(rw: Rewriter, op: Op) -> Result:
    a, b = put_constant_last(op)
    if is_number(b, 1.0):
        return (a,)
    if is_number(b, -1.0):
        return (rw.emit(ops.negf, a),)
    left, right = made_by(a, ops.negf), made_by(b, ops.negf)
    if left and right:
        return (rw.emit(ops.mulf, left.operands[0], right.operands[0], **op.attrs),)
    if left and (number := constant_of(b)) is not None:
        return (rw.emit(ops.mulf, left.operands[0], rw.constant(-number, b.type), **op.attrs),)
    return None


@register(FLOATS, ops.divf)
def _divf(rw: Rewriter, op: Op) -> Result:
    a, b = op.operands
    if is_number(b, 1.0):
        return (a,)
    if is_number(b, -1.0):
        return (rw.emit(ops.negf, a),)
    left, right = made_by(a, ops.negf), made_by(b, ops.negf)
    if left and right:
        return (rw.emit(ops.divf, left.operands[0], right.operands[0]),)
    return None


@register(FLOATS, ops.negf)
def _negf(rw: Rewriter, op: Op) -> Result:
    positive = _opposite(rw, op.operands[0])
    return (positive,) if positive is not None else None


@register(FLOATS, ops.absf)
def _absf(rw: Rewriter, op: Op) -> Result:
    (x,) = op.operands
    if made_by(x, ops.absf):
        return (x,)
    inner = made_by(x, ops.negf)
    return (rw.emit(ops.absf, inner.operands[0]),) if inner else None


@register(FLOATS, ops.maximumf, ops.minimumf, ops.maxnumf, ops.minnumf)
def _same_float(rw: Rewriter, op: Op) -> Result:
    a, b = put_constant_last(op)
    return (a,) if a is b else None


@register(FLOATS, ops.twin)
def _twin(rw: Rewriter, op: Op) -> Result:
    return (op.operands[0],)  # it has the same derivative, at more cost


@register(FLOATS, ops.powf)
def _powf(rw: Rewriter, op: Op) -> Result:
    x, exponent = op.operands
    number = constant_of(exponent)
    if number == 1:
        return (x,)
    if number == 2:
        return (rw.emit(ops.mulf, x, x),)
    if number == 0:
        return (rw.constant(1.0, x.type),)  # C99: also for NaN
    if number == -1:
        return (rw.emit(ops.divf, rw.constant(1.0, x.type), x),)
    return None


FLOATS[ops.fpowi] = _powf


@register(FLOATS, ops.truncf)
def _truncf(rw: Rewriter, op: Op) -> Result:
    wide = made_by(op.operands[0], ops.extf)
    return (wide.operands[0],) if wide and wide.operands[0].type == op.result.type else None


@register(FLOATS, ops.sitofp)
def _sitofp(rw: Rewriter, op: Op) -> Result:
    """A float that was an integer in between, as in ``x - box * round(x / box)``, is a whole float: conversions to and
    from 64 bits are exact, and few machines have vectors of them. There is no -0.0 among integers."""
    made = made_by(op.operands[0], ops.fptosi)
    if made is None or made.result.type != index or made.operands[0].type != op.result.type:
        return None
    x = made.operands[0]
    whole = x if x.op is not None and x.op.opdef in _WHOLE else rw.emit(ops.trunc, x)
    return (rw.emit(ops.addf, whole, rw.constant(0.0, x.type)),)


@register(FLOATS, ops.cmpf)
def _cmpf(rw: Rewriter, op: Op) -> Result:
    a, b = op.operands
    if constant_of(a) is not None and constant_of(b) is None:
        return (rw.emit(ops.cmpf, b, a, predicate=MIRRORED[op.attrs["predicate"]]),)
    return None


@register(FLOATS, ops.strong_mulf, ops.strong_divf)
def _strong(rw: Rewriter, op: Op) -> Result:
    marks = [constant_of(mark) for mark in op.operands[2:]]
    if True in marks:
        return (rw.constant(0.0, op.result.type),)
    if None in marks or op.opdef.plain is None:
        return None
    return (rw.emit(op.opdef.plain, *op.operands[:2], **op.attrs),)
