"""Derivative rules: one per operation, from which reverse and forward mode are both built.

A rule takes ``g``, the result ``y`` and the operands, and returns for each operand the term that it contributes: in
reverse mode ``g`` is the cotangent of ``y`` and term k is added to the cotangent of operand k; in forward mode term k
with ``g`` the tangent of operand k is added to the tangent of ``y``. (Both are right because a rule is a multiplication
of ``g`` by the partial derivative.) None stands for a partial that is zero everywhere or an operand without
derivative. What a rule does not use of ``y`` and the operands need not be kept for the reverse sweep.

Kinks. ``absf`` has derivative 0 at 0; minima and maxima share the cotangent equally among equal operands; ``hypot``
has gradient 0 at the origin; rounding has derivative 0 everywhere; ``sqrt``, ``cbrt``, ``log`` have IEEE's infinity
at 0; ``atan2`` has gradient 0 at the origin and at infinity. ``pow(x, p)`` has ``d/dx = 0`` where ``p = 0``; where
``x = 0`` the exponent counts as a constant.

Partials: Abramowitz and Stegun, Handbook of Mathematical Functions, chapters 4 (elementary), 6 (gamma), 7 (erf).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import as_float, const, constant_of
from adc.ir.core import Op, Value
from adc.ir.externals import Named, provided
from adc.ir.opdef import OpDef

Terms = tuple[Value | None, ...]
Rule = Callable[..., Terms]

LN2, LN10 = math.log(2.0), math.log(10.0)
TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)


def _zero(x: Value) -> Value:
    return const(0.0, x.type)


def _is(predicate: str, x: Value, y: Value | float) -> Value:
    return ops.cmpf(x, y if isinstance(y, Value) else const(y, x.type), predicate=predicate)


def _unless(condition: Value, x: Value) -> Value:
    """x, or zero where the condition holds."""
    return ops.select(condition, _zero(x), x)


def _sign(x: Value) -> Value:
    return ops.copysign(const(1.0, x.type), x)


def _float(n: Value, like: Value) -> Value:
    return ops.sitofp(n, type=like.type)


def _extremum(g: Value, y: Value, a: Value, b: Value) -> Terms:
    share = ops.select(_is("oeq", a, b), 0.5 * g, g)
    return _unless(_is("une", y, a), share), _unless(_is("une", y, b), share)


def _power(g: Value, y: Value, x: Value, p: Value) -> Terms:
    # At zero the exponent counts as a constant, in derivatives of any order; at infinity the logarithm is constant.
    none = _is("oeq", x, 0.0)
    finite = ops.select(_is("oeq", x, math.inf), ops.stop_gradient(x), x)
    base = ops.select(none, const(1.0, x.type), finite)
    e = p if constant_of(p) is not None else ops.select(none, ops.stop_gradient(p), p)
    power = ops.powf(x, e - 1.0)
    product = e * power
    lost = ops.andi(_is("oeq", p, 0.0), _is("uno", product, product))  # zero times infinity, or NaN
    return g * ops.strong_mulf(e, power, lost, const(False, lost.type)), _unless(none, g * (y * ops.log(base)))


def _strong_product(g: Value, y: Value, a: Value, b: Value, za: Value, zb: Value) -> Terms:
    # If one factor is a strong zero, the derivative by the other is zero, too.
    no = const(False, za.type)
    return ops.strong_mulf(g, b, no, zb), ops.strong_mulf(g, a, no, za), None, None


def _strong_quotient(g: Value, y: Value, a: Value, b: Value, za: Value) -> Terms:
    share = g / b
    return share, ops.strong_mulf(-share, y, const(False, za.type), za), None


def _quotient(g: Value, y: Value, a: Value, b: Value) -> Terms:
    divisor = constant_of(b)
    if divisor is not None and 1e-300 < abs(divisor) < 1e300:
        return g * (1.0 / divisor), None  # a constant is not active
    if constant_of(a) == 1.0:
        return None, -((g * y) * y)  # a reciprocal: no division, and nothing but the result is needed
    share = g / b
    return share, -(share * y)


def _integer_power(g: Value, y: Value, x: Value, n: Value) -> Terms:
    exponent = _float(n, x)
    return _unless(_is("oeq", exponent, 0.0), g * (exponent * ops.fpowi(x, n - 1))), None


def _hypot(g: Value, y: Value, a: Value, b: Value) -> Terms:
    scale = _unless(_is("oeq", y, 0.0), g / y)
    return scale * a, scale * b


def _atan2(g: Value, y: Value, a: Value, b: Value) -> Terms:
    # Two divisions by the hypotenuse, since a * a + b * b may overflow. At infinity the angle does not vary.
    r = ops.hypot(a, b)
    flat = ops.ori(_is("oeq", r, 0.0), ops.andi(_is("oeq", r, math.inf), _is("ord", a, b)))
    inverse = _unless(flat, 1.0 / r)
    return (g * inverse) * (_unless(flat, b) * inverse), -((g * inverse) * (_unless(flat, a) * inverse))


def _one_less_square(x: Value) -> Value:
    """``1 - x * x``, rounded once: near 1 as accurate as ``(1 - x) * (1 + x)``, in which a factor is zero there that
    has a derivative."""
    return ops.fma(-x, x, const(1.0, x.type))


def _external(g: Value, y: Value, *operands: Value, library: str, symbol: str) -> Terms:
    function = provided(Named(library, symbol, tuple(v.type for v in operands), y.type))
    partials = (None,) * len(operands) if function is None or function.partials is None else function.partials
    return tuple(None if partial is None else g * partial(y, *operands) for partial in partials)


RULES: dict[OpDef, Rule] = {
    # arith
    ops.addf: lambda g, y, a, b: (g, g),
    ops.subf: lambda g, y, a, b: (g, -g),
    ops.mulf: lambda g, y, a, b: (g * b, g * a),
    ops.divf: _quotient,
    ops.negf: lambda g, y, x: (-g,),
    ops.remf: lambda g, y, a, b: (g, -(g * ops.trunc(a / b))),
    ops.remainder: lambda g, y, a, b: (g, -(g * ops.roundeven(a / b))),
    ops.maximumf: _extremum,
    ops.minimumf: _extremum,
    ops.maxnumf: _extremum,
    ops.minnumf: _extremum,
    ops.select: lambda g, y, c, a, b: (None, ops.select(c, g, _zero(g)), ops.select(c, _zero(g), g)),
    ops.extf: lambda g, y, x: (_convert(g, y, x),),
    ops.truncf: lambda g, y, x: (_convert(g, y, x),),
    # math: trigonometric and hyperbolic
    ops.sin: lambda g, y, x: (g * ops.cos(x),),
    ops.cos: lambda g, y, x: (-(g * ops.sin(x)),),
    ops.tan: lambda g, y, x: (g * (1.0 + y * y),),
    ops.asin: lambda g, y, x: (g / ops.sqrt(_one_less_square(x)),),
    ops.acos: lambda g, y, x: (-(g / ops.sqrt(_one_less_square(x))),),
    ops.atan: lambda g, y, x: (g / (1.0 + x * x),),
    ops.atan2: _atan2,
    ops.sinh: lambda g, y, x: (g * ops.cosh(x),),
    ops.cosh: lambda g, y, x: (g * ops.sinh(x),),
    ops.tanh: lambda g, y, x: (g * ((1.0 - y) * (1.0 + y)),),
    ops.asinh: lambda g, y, x: (g / ops.hypot(const(1.0, x.type), x),),
    ops.acosh: lambda g, y, x: (g / ops.sqrt(x - 1.0) / ops.sqrt(x + 1.0),),
    ops.atanh: lambda g, y, x: (g / _one_less_square(x),),
    # math: exponentials, logarithms, powers, roots
    ops.exp: lambda g, y, x: (g * y,),
    ops.exp2: lambda g, y, x: (g * (y * LN2),),
    ops.expm1: lambda g, y, x: (g * (y + 1.0),),
    ops.log: lambda g, y, x: (g / x,),
    ops.log2: lambda g, y, x: (g / (x * LN2),),
    ops.log10: lambda g, y, x: (g / (x * LN10),),
    ops.log1p: lambda g, y, x: (g / (1.0 + x),),
    ops.sqrt: lambda g, y, x: (g * (0.5 * (1.0 / y)),),  # the division need not wait for g
    ops.rsqrt: lambda g, y, x: (-((0.5 * g) * (y / x)),),
    ops.cbrt: lambda g, y, x: (g / (3.0 * (y * y)),),
    ops.powf: _power,
    ops.fpowi: _integer_power,
    ops.strong_mulf: _strong_product,
    ops.strong_divf: _strong_quotient,
    ops.hypot: _hypot,
    # math: special functions
    ops.erf: lambda g, y, x: (g * (TWO_OVER_SQRT_PI * ops.exp(-(x * x))),),
    ops.erfc: lambda g, y, x: (-(g * (TWO_OVER_SQRT_PI * ops.exp(-(x * x)))),),
    ops.lgamma: lambda g, y, x: (g * ops.polygamma(x, order=0),),
    ops.tgamma: lambda g, y, x: (g * (y * ops.polygamma(x, order=0)),),
    ops.polygamma: lambda g, y, x, *, order: (g * ops.polygamma(x, order=order + 1),),
    # math: the rest
    ops.fma: lambda g, y, a, b, c: (g * b, g * a, g),
    ops.absf: lambda g, y, x: (_unless(_is("oeq", x, 0.0), g * _sign(x)),),
    ops.stop_gradient: lambda g, y, x: (None,),
    ops.twin: lambda g, y, a, b: (None, g),
    ops.copysign: lambda g, y, x, s: (g * (_sign(x) * _sign(s)), None),
    ops.external: _external,
}

# Results that do not vary with their operands: integers, comparisons, rounding.
CONSTANT: frozenset[OpDef] = frozenset(
    definition
    for definition in ops.TABLE.values()
    if definition.dialect in ("arith", "math") and definition not in RULES
)


def differentiable(op: Op) -> Sequence[Value]:
    """The operands that the result of an operation with a rule may vary with."""
    if op.opdef is ops.stop_gradient:
        return ()
    return op.operands[1:] if op.opdef is ops.twin else op.operands


def _convert(g: Value, y: Value, x: Value) -> Value:
    """The term of a cast: a cotangent is cast to the operand's type, a tangent to the result's."""
    return as_float(g, x.type if g.type == y.type else y.type)
