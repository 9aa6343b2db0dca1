"""Elementary functions of complex numbers, in terms of those of their parts.

Formulas: Kahan, Branch Cuts for Complex Elementary Functions (1987), as far as they avoid overflow and cancellation. An
alternative that is not chosen is computed at a point where it is defined, so that its derivative is not infinity times
zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.frontend.data.values import AbstractValue, Complex, Scalar
from adc.frontend.numeric.complexes import Pair, quotient
from adc.frontend.numeric.convert import as_number, complex_of, nonzero
from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.types import FloatType, i1


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


def _is(x: Value, predicate: str, bound: float) -> Value:
    return ops.cmpf(x, const(bound, x.type), predicate=predicate)


def _is_infinite(x: Value) -> Value:
    return _is(ops.absf(x), "oeq", math.inf)


def _limits(x: Value) -> np.finfo[Any]:
    assert isinstance(x.type, FloatType)
    return np.finfo(f"float{x.type.width}")


def _times_factor(large: Value, factor: Value) -> Value:
    """The product, which is zero where the factor is, also if the other has overflowed."""
    most = ops.copysign(const(float(_limits(large).max), large.type), large)
    return ops.mulf(ops.select(ops.andi(_is_infinite(large), _is(factor, "oeq", 0.0)), most, large), factor)


def exp_pair(p: Pair) -> Pair:
    """Where ``exp(x)`` may overflow it is the square of a root: its products with sine and cosine may be finite."""
    x, y = p
    far = _is(x, "ogt", 0.99 * math.log(_limits(x).max))
    e = ops.exp(ops.select(far, _half(x), x))
    rest = ops.select(far, e, const(1.0, x.type))
    y = ops.select(ops.andi(_is(x, "oeq", -math.inf), _is_infinite(y)), const(0.0, y.type), y)

    def of(part: Value) -> Value:
        return _times_factor(rest, _times_factor(e, part))

    return of(ops.cos(y)), of(ops.sin(y))


def log_pair(p: Pair, squared_less_one: Value | None = None) -> Pair:
    """Near the unit circle the modulus minus one is computed without cancellation, also from ``x^2 - 1`` if given."""
    x, y = p
    zero, one = const(0.0, x.type), const(1.0, x.type)
    a, b = ops.absf(x), ops.absf(y)
    first = ops.cmpf(a, b, predicate="oge")
    large, small = ops.select(first, a, b), ops.select(first, b, a)
    modulus = ops.hypot(x, y)
    near = ops.andi(_is(modulus, "ogt", 0.7), _is(modulus, "olt", 1.4))
    large, small = ops.select(near, large, one), ops.select(near, small, zero)
    beyond = ops.mulf(ops.subf(large, one), ops.addf(large, one))
    if squared_less_one is not None:
        beyond = ops.select(ops.andi(near, first), squared_less_one, beyond)
    beyond = ops.addf(beyond, ops.mulf(small, small))
    return ops.select(near, _half(ops.log1p(beyond)), ops.log(modulus)), ops.atan2(y, x)


def sqrt_pair(p: Pair) -> Pair:
    """No absolute values, which would have no derivative on the axes.

    Very small and large numbers are scaled: their derivatives go by the third power of the root, and the half of the
    smallest number is zero.
    """
    x, y = p
    one = const(1.0, x.type)
    none, infinite = _is_zero(p), _is_infinite(y)
    most = int(_limits(x).maxexp)
    size = ops.maximumf(ops.absf(x), ops.absf(y))
    tiny, huge = _is(size, "olt", 2.0 ** (-most // 2)), _is(size, "ogt", 2.0 ** (most // 2))

    def chosen(exponent: int) -> Value:
        up, down = const(2.0**exponent, x.type), const(2.0**-exponent, x.type)
        return ops.select(tiny, up, ops.select(huge, down, one))

    scale, back = chosen(most * 3 // 4), chosen(-most * 3 // 8)
    x, y = ops.mulf(ops.select(infinite, const(0.0, x.type), x), scale), ops.mulf(y, scale)
    right = _is_right(x)
    root = ops.sqrt(_half(ops.addf(ops.select(right, x, ops.negf(x)), ops.hypot(x, y))))
    other = ops.divf(y, ops.mulf(const(2.0, x.type), ops.select(ops.ori(none, infinite), one, root)))
    root, other = ops.mulf(root, back), ops.mulf(other, back)
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
    """With ``h = |1 - z|`` the real part is ``log1p(4x / h^2) / 4``, and beside the pole ``log(|1 + z| / h) / 2``."""
    x, y = p
    one, four = const(1.0, x.type), const(4.0, x.type)
    right = _is_right(x)
    a = ops.select(right, x, ops.negf(x))
    b, c = ops.subf(one, a), ops.addf(one, a)
    h = ops.hypot(b, y)
    beside = _is(h, "olt", 0.1)
    off, on = ops.select(beside, one, h), ops.select(beside, h, one)
    real = ops.divf(ops.log1p(ops.mulf(ops.divf(a, off), ops.divf(four, off))), four)
    real = ops.select(beside, _half(ops.subf(ops.log(ops.hypot(c, y)), ops.log(on))), real)
    large = float(_limits(x).max) ** 0.25
    s = ops.select(_is(h, "ogt", large), const(large**-3, x.type), one)
    imag = _half(ops.atan2(ops.mulf(s, y), _half(ops.subf(ops.mulf(ops.mulf(s, b), c), ops.mulf(ops.mulf(s, y), y)))))
    return ops.select(right, real, ops.negf(real)), imag


def _with_limit(function: Callable[[Pair], Pair], limit: Callable[[Pair, Pair], Pair]) -> Callable[[Pair], Pair]:
    """``limit`` gives what the function is at infinity by the number and its direction, where finite parts are zero."""

    def pair(p: Pair) -> Pair:
        infinite = ops.ori(*map(_is_infinite, p))
        safe = const(0.5, p[0].type)
        finite = function((ops.select(infinite, safe, p[0]), ops.select(infinite, safe, p[1])))
        real, imag = limit(p, (_direction(p[0]), _direction(p[1])))
        return ops.select(infinite, real, finite[0]), ops.select(infinite, imag, finite[1])

    return pair


def _direction(x: Value) -> Value:
    """NaN where the part is."""
    zero, one = const(0.0, x.type), const(1.0, x.type)
    infinite = _is_infinite(x)
    return ops.select(infinite, ops.copysign(one, x), ops.mulf(zero, ops.select(infinite, one, x)))


def _infinity(sign: Value) -> Value:
    return ops.copysign(const(math.inf, sign.type), sign)


def _asin_limit(p: Pair, d: Pair) -> Pair:
    return ops.atan2(d[0], ops.absf(d[1])), _infinity(p[1])


def _acos_limit(p: Pair, d: Pair) -> Pair:
    return ops.atan2(ops.absf(d[1]), d[0]), _infinity(ops.negf(p[1]))


def _acosh_limit(p: Pair, d: Pair) -> Pair:
    return const(math.inf, p[0].type), ops.atan2(d[1], d[0])


def _atanh_limit(p: Pair, d: Pair) -> Pair:
    zero, quarter = const(0.0, p[0].type), const(math.pi / 2, p[0].type)
    return ops.copysign(zero, p[0]), ops.addf(ops.copysign(quarter, p[1]), ops.mulf(zero, d[1]))


def _turned(function: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """``-i f(i z)``"""

    def pair(p: Pair) -> Pair:
        real, imag = function((ops.negf(p[1]), p[0]))
        return imag, ops.negf(real)

    return pair


def log1p_pair(p: Pair) -> Pair:
    x, y = p
    one, two = const(1.0, x.type), const(2.0, x.type)
    return log_pair((ops.addf(one, x), y), ops.mulf(x, ops.addf(x, two)))


def expm1_pair(p: Pair) -> Pair:
    x, y = p
    s = ops.sin(_half(y))
    real = ops.subf(_times_factor(ops.expm1(x), ops.cos(y)), ops.mulf(const(2.0, x.type), ops.mulf(s, s)))
    return real, exp_pair(p)[1]


def exp2_pair(p: Pair) -> Pair:
    return exp_pair(_times(p, math.log(2.0)))


def _times(p: Pair, factor: float) -> Pair:
    x, y = p
    scale = const(factor, x.type)
    return ops.mulf(x, scale), ops.mulf(y, scale)


def sinh_pair(p: Pair) -> Pair:
    x, y = p
    return _times_factor(ops.sinh(x), ops.cos(y)), _times_factor(ops.cosh(x), ops.sin(y))


def cosh_pair(p: Pair) -> Pair:
    x, y = p
    return _times_factor(ops.cosh(x), ops.cos(y)), _times_factor(ops.sinh(x), ops.sin(y))


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
    return _times_factor(ops.cosh(y), ops.sin(x)), _times_factor(ops.sinh(y), ops.cos(x))


def cos_pair(p: Pair) -> Pair:
    x, y = p
    return _times_factor(ops.cosh(y), ops.cos(x)), ops.negf(_times_factor(ops.sinh(y), ops.sin(x)))


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


_asin, _acos = _with_limit(asin_pair, _asin_limit), _with_limit(acos_pair, _acos_limit)
_acosh, _atanh = _with_limit(acosh_pair, _acosh_limit), _with_limit(atanh_pair, _atanh_limit)

PAIRS = {
    "exp": exp_pair,
    "log": log_pair,
    "log10": log10_pair,
    "log2": log2_pair,
    "log1p": log1p_pair,
    "exp2": exp2_pair,
    "expm1": expm1_pair,
    "arcsin": _asin,
    "arccos": _acos,
    "arctan": _turned(_atanh),
    "arcsinh": _turned(_asin),
    "arccosh": _acosh,
    "arctanh": _atanh,
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
