"""Elementary functions of complex numbers, in terms of those of their parts.

Formulas: Kahan, Branch Cuts for Complex Elementary Functions (1987), as far as they avoid overflow and cancellation. An
alternative that is not chosen is computed at a point where it is defined, so that its derivative is not infinity times
zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from adc.frontend.data.values import AbstractValue, Complex, Scalar
from adc.frontend.numeric.complexes import Pair, quotient
from adc.frontend.numeric.convert import as_number, complex_of, nonzero
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.types import i1


def parts(v: AbstractValue) -> Pair:
    """The real and the imaginary part of a complex number."""
    s = as_number(v)
    assert isinstance(s, Complex)
    return s.real.value, s.imag.value


def _half(x: Value) -> Value:
    return ops.mulf(const(0.5, x.type), x)


def _is_zero(p: Pair) -> Value:
    either = ops.ori(*(nonzero(Scalar(x, x.type)) for x in p))
    return ops.xori(either, const(True, i1))


def exp_pair(p: Pair) -> Pair:
    x, y = p
    e = ops.exp(x)
    return ops.mulf(e, ops.cos(y)), ops.mulf(e, ops.sin(y))


def log_pair(p: Pair) -> Pair:
    """Near the unit circle the modulus minus one is computed without cancellation."""
    x, y = p
    zero, one = const(0.0, x.type), const(1.0, x.type)
    a, b = ops.absf(x), ops.absf(y)
    first = ops.cmpf(a, b, predicate="oge")
    large, small = ops.select(first, a, b), ops.select(first, b, a)
    modulus = ops.hypot(x, y)
    near = ops.andi(
        ops.cmpf(modulus, const(0.7, x.type), predicate="ogt"), ops.cmpf(modulus, const(1.4, x.type), predicate="olt")
    )
    large, small = ops.select(near, large, one), ops.select(near, small, zero)
    beyond = ops.addf(ops.mulf(ops.subf(large, one), ops.addf(large, one)), ops.mulf(small, small))
    return ops.select(near, _half(ops.log1p(beyond)), ops.log(modulus)), ops.atan2(y, x)


def sqrt_pair(p: Pair) -> Pair:
    """No absolute values, which would have no derivative on the axes."""
    x, y = p
    one = const(1.0, x.type)
    none = _is_zero(p)
    right = _is_right(x)
    root = ops.sqrt(_half(ops.addf(ops.select(right, x, ops.negf(x)), ops.hypot(x, y))))
    other = ops.divf(y, ops.mulf(const(2.0, x.type), ops.select(none, one, root)))
    sign = ops.copysign(one, y)
    return ops.select(right, root, ops.mulf(sign, other)), ops.select(right, other, ops.mulf(sign, root))


def _is_right(x: Value) -> Value:
    return ops.cmpf(x, const(0.0, x.type), predicate="oge")


def _roots_beside_one(p: Pair) -> tuple[Pair, Pair]:
    """The roots of ``1 - z`` and ``1 + z``."""
    x, y = p
    one = const(1.0, x.type)
    return sqrt_pair((ops.subf(one, x), ops.negf(y))), sqrt_pair((ops.addf(one, x), y))


def _across(a: Pair, b: Pair) -> Value:
    """The imaginary part of ``conj(a) b``."""
    return ops.subf(ops.mulf(a[0], b[1]), ops.mulf(a[1], b[0]))


def asin_pair(p: Pair) -> Pair:
    less, more = _roots_beside_one(p)
    real = ops.subf(ops.mulf(less[0], more[0]), ops.mulf(less[1], more[1]))
    return ops.atan2(p[0], real), ops.asinh(_across(less, more))


def acos_pair(p: Pair) -> Pair:
    less, more = _roots_beside_one(p)
    return ops.mulf(const(2.0, p[0].type), ops.atan2(less[0], more[0])), ops.asinh(_across(more, less))


def acosh_pair(p: Pair) -> Pair:
    x, y = p
    one = const(1.0, x.type)
    (a, b), (c, d) = sqrt_pair((ops.subf(x, one), y)), sqrt_pair((ops.addf(x, one), y))
    real = ops.asinh(ops.addf(ops.mulf(a, c), ops.mulf(b, d)))
    return real, ops.mulf(const(2.0, x.type), ops.atan2(b, c))


def atanh_pair(p: Pair) -> Pair:
    x, y = p
    one, four = const(1.0, x.type), const(4.0, x.type)
    right = _is_right(x)
    a = ops.select(right, x, ops.negf(x))
    b, squared = ops.subf(one, a), ops.mulf(y, y)
    real = ops.divf(ops.log1p(ops.divf(ops.mulf(four, a), ops.addf(ops.mulf(b, b), squared))), four)
    imag = _half(ops.atan2(ops.addf(y, y), ops.subf(ops.mulf(b, ops.addf(one, a)), squared)))
    return ops.select(right, real, ops.negf(real)), imag


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """``-i f(i z)``"""

    def pair(p: Pair) -> Pair:
        real, imag = function((ops.negf(p[1]), p[0]))
        return imag, ops.negf(real)

    return pair


def log1p_pair(p: Pair) -> Pair:
    x, y = p
    beyond = ops.addf(ops.mulf(x, ops.addf(x, const(2.0, x.type))), ops.mulf(y, y))
    return _half(ops.log1p(beyond)), ops.atan2(y, ops.addf(const(1.0, x.type), x))


def expm1_pair(p: Pair) -> Pair:
    x, y = p
    s = ops.sin(_half(y))
    real = ops.subf(ops.mulf(ops.expm1(x), ops.cos(y)), ops.mulf(const(2.0, x.type), ops.mulf(s, s)))
    return real, ops.mulf(ops.exp(x), ops.sin(y))


def exp2_pair(p: Pair) -> Pair:
    return exp_pair(_times(p, math.log(2.0)))


def _times(p: Pair, factor: float) -> Pair:
    x, y = p
    scale = const(factor, x.type)
    return ops.mulf(x, scale), ops.mulf(y, scale)


def sinh_pair(p: Pair) -> Pair:
    x, y = p
    return ops.mulf(ops.sinh(x), ops.cos(y)), ops.mulf(ops.cosh(x), ops.sin(y))


def cosh_pair(p: Pair) -> Pair:
    x, y = p
    return ops.mulf(ops.cosh(x), ops.cos(y)), ops.mulf(ops.sinh(x), ops.sin(y))


def tanh_pair(p: Pair) -> Pair:
    """``(t (1 + s^2) + i s (1 - t^2)) / (1 + t^2 s^2)`` with ``t = tanh x``, ``s = tan y``."""
    x, y = p
    one = const(1.0, x.type)
    t, s = ops.tanh(x), ops.tan(y)
    e = ops.exp(ops.mulf(const(-2.0, x.type), ops.absf(x)))
    falls = ops.divf(ops.mulf(const(4.0, x.type), e), ops.mulf(ops.addf(one, e), ops.addf(one, e)))
    ts = ops.mulf(t, s)
    below = ops.addf(one, ops.mulf(ts, ts))
    return ops.divf(ops.mulf(t, ops.addf(one, ops.mulf(s, s))), below), ops.divf(ops.mulf(s, falls), below)


def sin_pair(p: Pair) -> Pair:
    x, y = p
    return ops.mulf(ops.sin(x), ops.cosh(y)), ops.mulf(ops.cos(x), ops.sinh(y))


def cos_pair(p: Pair) -> Pair:
    x, y = p
    return ops.mulf(ops.cos(x), ops.cosh(y)), ops.negf(ops.mulf(ops.sin(x), ops.sinh(y)))


def reciprocal_pair(p: Pair) -> Pair:
    return quotient((const(1.0, p[0].type), const(0.0, p[0].type)), p)


def log10_pair(p: Pair) -> Pair:
    return _times(log_pair(p), 0.43429448190325182765)


def log2_pair(p: Pair) -> Pair:
    return _times(log_pair(p), 1.4426950408889634074)


def sqrt(v: AbstractValue) -> Complex:
    """The root with a real part that is not negative."""
    return complex_of(*sqrt_pair(parts(v)))


def angle(v: AbstractValue) -> Scalar:
    """The argument, a float."""
    s = as_number(v)
    assert isinstance(s, Complex)
    return Scalar(ops.atan2(s.imag.value, s.real.value), s.real.dtype, s.weak)


PAIRS = {
    "exp": exp_pair,
    "log": log_pair,
    "log10": log10_pair,
    "log2": log2_pair,
    "log1p": log1p_pair,
    "exp2": exp2_pair,
    "expm1": expm1_pair,
    "arcsin": asin_pair,
    "arccos": acos_pair,
    "arctan": _turned(atanh_pair),
    "arcsinh": _turned(asin_pair),
    "arccosh": acosh_pair,
    "arctanh": atanh_pair,
    "sqrt": sqrt_pair,
    "sin": sin_pair,
    "cos": cos_pair,
    "tan": _turned(tanh_pair),
    "sinh": sinh_pair,
    "cosh": cosh_pair,
    "tanh": tanh_pair,
    "reciprocal": reciprocal_pair,
}
"""The functions by NumPy's names; those of ``cmath`` are the same."""
