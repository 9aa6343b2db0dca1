"""Functions of SciPy and NumPy that are formulas of adc's operations.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, chapters 6 and 7; the logistic functions use the
exponential of a number that is not positive, which does not overflow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.core import Value
from adc.ir.types import f32, f64

SQRT_HALF = 0.7071067811865476


def _not_positive(x: Value) -> tuple[Value, Value]:
    """Whether ``x`` is not negative, and ``-|x|``, whose derivative at zero is the one from the right."""
    right = ops.cmpf(x, const(0.0, x.type), predicate="oge")
    return right, ops.select(right, ops.negf(x), x)


def expit(x: Value) -> Value:
    right, t = _not_positive(x)
    e = ops.exp(t)
    r = ops.divf(const(1.0, x.type), ops.addf(const(1.0, x.type), e))
    return ops.select(right, r, ops.mulf(e, r))


def log_expit(x: Value) -> Value:
    right, t = _not_positive(x)
    softplus = ops.log1p(ops.exp(t))
    return ops.select(right, ops.negf(softplus), ops.subf(x, softplus))


def logit(p: Value) -> Value:
    """The logarithm of the odds; near one half, by the difference between the odds and one."""
    one = const(1.0, p.type)
    q = ops.subf(one, p)
    beyond = ops.divf(ops.subf(ops.addf(p, p), one), q)
    middle = ops.andi(
        ops.cmpf(p, const(0.3, p.type), predicate="ogt"), ops.cmpf(p, const(0.65, p.type), predicate="olt")
    )
    return ops.select(middle, ops.log1p(beyond), ops.log(ops.divf(p, q)))


def product_or_zero(log: Callable[[Value], Value], end: float) -> Callable[[Value, Value], Value]:
    """``x * log(y)``, and zero where ``x`` is zero and the logarithm is infinite or NaN, unless ``y`` is NaN. Its
    derivative with respect to ``x`` is the logarithm everywhere."""

    def emit(x: Value, y: Value) -> Value:
        none = ops.cmpf(x, const(0.0, x.type), predicate="oeq")
        outside = ops.ori(
            ops.cmpf(y, const(end, y.type), predicate="ole"), ops.cmpf(y, const(np.inf, y.type), predicate="oeq")
        )
        return _zero_if(none, ops.strong_mulf(x, log(y), ops.andi(none, outside), const(False, none.type)))

    return emit


def _zero_if(none: Value, product: Value) -> Value:
    """A product that has a factor of zero if ``none``: then 0.0, not -0.0. The added zero has no derivative."""
    return ops.addf(product, ops.select(none, const(0.0, product.type), const(-0.0, product.type)))


def entr(x: Value) -> Value:
    zero = const(0.0, x.type)
    none = ops.cmpf(x, zero, predicate="oeq")
    product = ops.strong_mulf(ops.negf(x), ops.log(x), none, const(False, none.type))
    return ops.select(ops.cmpf(x, zero, predicate="olt"), const(-np.inf, x.type), _zero_if(none, product))


def ndtr(x: Value) -> Value:
    return ops.mulf(const(0.5, x.type), ops.erfc(ops.mulf(x, const(-SQRT_HALF, x.type))))


def betaln(a: Value, b: Value) -> Value:
    """If one argument is much larger, the difference of its two terms is computed by Stirling's series for both. In
    other cases single precision would have no correct digits, so double is used."""
    if a.type == f32:
        return ops.truncf(betaln(ops.extf(a, type=f64), ops.extf(b, type=f64)), type=f32)
    swapped = ops.cmpf(ops.absf(a), ops.absf(b), predicate="olt")
    large, small = ops.select(swapped, b, a), ops.select(swapped, a, b)
    much = const(1e6, a.type)
    far = ops.cmpf(large, ops.maximumf(ops.mulf(much, ops.absf(small)), much), predicate="ogt")
    one, two = const(1.0, a.type), const(2.0, a.type)
    away = ops.select(far, large, one)  # if it is not far away, the series must still not be infinite
    rest = ops.subf(one, small)
    product = ops.divf(ops.mulf(small, rest), away)
    first = ops.mulf(const(0.5, a.type), product)
    second = ops.divf(ops.mulf(product, ops.subf(one, ops.mulf(two, small))), ops.mulf(const(12.0, a.type), away))
    third = ops.divf(ops.mulf(product, product), ops.mulf(const(12.0, a.type), away))
    series = ops.subf(ops.addf(first, second), third)
    near = ops.subf(ops.lgamma(large), ops.lgamma(ops.addf(large, small)))
    difference = ops.select(far, ops.subf(series, ops.mulf(small, ops.log(away))), near)
    return ops.addf(ops.lgamma(small), difference)


def sign(x: Value) -> Value:
    zero, one = const(0.0, x.type), const(1.0, x.type)
    nan_or_zero = ops.select(ops.cmpf(x, zero, predicate="oeq"), zero, x)
    negative = ops.select(ops.cmpf(x, zero, predicate="olt"), ops.negf(one), nan_or_zero)
    return ops.select(ops.cmpf(x, zero, predicate="ogt"), one, negative)


def same(x: Value) -> Value:
    return x


def times(factor: float) -> Callable[[Value], Value]:
    return lambda x: ops.mulf(x, const(factor, x.type))


def logaddexp(base: float) -> Callable[[Value, Value], Value]:
    """The logarithm of the sum of two powers of e, or of two, computed from the larger one. Where they are equal each
    has half of the derivative."""
    unit = 1.0 if base == np.e else np.log2(np.e)

    def emit(x: Value, y: Value) -> Value:
        same = ops.cmpf(x, y, predicate="oeq")
        infinite = ops.andi(same, ops.cmpf(ops.absf(x), const(np.inf, x.type), predicate="oeq"))
        t = ops.select(infinite, const(0.0, x.type), ops.subf(x, y))
        right = ops.cmpf(t, const(0.0, x.type), predicate="ogt")
        small = ops.select(right, ops.negf(t), t)
        rest = ops.log1p(ops.exp(small) if base == np.e else ops.exp2(small))
        rest = rest if unit == 1.0 else ops.mulf(rest, const(unit, x.type))
        return ops.addf(ops.select(right, x, y), rest)

    return emit
