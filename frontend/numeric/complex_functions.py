"""Elementary functions of complex numbers, in terms of those of their parts.

Formulas: Kahan, Branch Cuts for Complex Elementary Functions (1987), as far as they avoid overflow and cancellation. An
alternative that is not chosen is computed at a point where it is defined, so that its derivative is not infinity times
zero.
"""

from __future__ import annotations

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
    x, y = p
    zero, one = const(0.0, x.type), const(1.0, x.type)
    none = _is_zero(p)
    root = ops.sqrt(_half(ops.addf(ops.absf(x), ops.hypot(x, y))))
    other = ops.divf(ops.absf(y), ops.mulf(const(2.0, x.type), ops.select(none, one, root)))
    right = ops.cmpf(x, zero, predicate="oge")
    return ops.select(right, root, other), ops.copysign(ops.select(right, other, root), y)


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


def tan_pair(p: Pair) -> Pair:
    x, y = p
    real, imag = tanh_pair((ops.negf(y), x))
    return imag, ops.negf(real)


def reciprocal_pair(p: Pair) -> Pair:
    return quotient((const(1.0, p[0].type), const(0.0, p[0].type)), p)


def log10_pair(p: Pair) -> Pair:
    x, y = log_pair(p)
    scale = const(0.43429448190325182765, x.type)
    return ops.mulf(x, scale), ops.mulf(y, scale)


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
    "sqrt": sqrt_pair,
    "sin": sin_pair,
    "cos": cos_pair,
    "tan": tan_pair,
    "sinh": sinh_pair,
    "cosh": cosh_pair,
    "tanh": tanh_pair,
    "reciprocal": reciprocal_pair,
}
"""The functions by NumPy's names; those of ``cmath`` are the same."""
