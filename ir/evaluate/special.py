"""Gamma and related functions on Python floats, accurate for all real arguments; ``math`` has only a coarse lgamma."""

from __future__ import annotations

import math

# Bernoulli numbers B_2, B_4, ... as exact ratios.
_BERNOULLI = (
    (1, 6),
    (-1, 30),
    (1, 42),
    (-1, 30),
    (5, 66),
    (-691, 2730),
    (7, 6),
    (-3617, 510),
    (43867, 798),
    (-174611, 330),
    (854513, 138),
    (-236364091, 2730),
)
EULER_GAMMA = 0.5772156649015328606


def is_pole(x: float) -> bool:
    """Whether the gamma function has a pole at ``x``: zero and the negative integers."""
    return x <= 0.0 and math.isfinite(x) and x == math.floor(x)


def tgamma(x: float) -> float:
    """C's ``tgamma``: an infinity with the sign of a zero argument, NaN at negative integers and minus infinity."""
    try:
        return math.gamma(x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0.0 else math.nan
    except OverflowError:
        return math.copysign(math.inf, x)


def lgamma(x: float) -> float:
    """C's ``lgamma``: log |gamma(x)|, infinite at the poles. The relative error is small near the zeros 1 and 2 too."""
    if is_pole(x) or math.isinf(x):
        return math.inf
    if abs(x - 1.0) < 0.25:
        return _lgamma_near_one(x - 1.0)
    if abs(x - 2.0) < 0.25:
        return _lgamma_near_one(x - 2.0) + math.log1p(x - 2.0)
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _lgamma_near_one(e: float) -> float:
    """log gamma(1 + e), |e| < 1/4, by its Taylor series: -gamma e + sum over k of zeta(k) (-e)^k / k."""
    terms = [-EULER_GAMMA * e]
    power = -e
    for k in range(2, 30):
        power *= -e
        terms.append(_zeta(k) * power / k)
    return math.fsum(terms)


def _zeta(k: int) -> float:
    return hurwitz(k, 1.0)


def hurwitz(s: int, x: float) -> float:
    """Hurwitz's zeta: the sum over k >= 0 of (x + k)^-s, for s >= 2 and x > 0, by Euler and Maclaurin."""
    terms = []
    while x < 10.0 + s:
        terms.append(_inverse_power(x, s))
        x += 1.0
    last = _inverse_power(x, s)
    terms += [x * last / (s - 1), last / 2]
    factor = s * last / x  # s (s + 1) ... (s + 2j - 2) x^(-s - 2j + 1)
    factorial = 2.0  # (2j)!
    for j, (numerator, denominator) in enumerate(_BERNOULLI, 1):
        terms.append(numerator / denominator * factor / factorial)
        factor *= (s + 2 * j - 1) * (s + 2 * j) / (x * x)
        factorial *= (2 * j + 1) * (2 * j + 2)
    return math.fsum(terms)


def _inverse_power(x: float, s: int) -> float:
    try:
        return math.pow(x, -s)
    except OverflowError:
        return math.inf


def polygamma(order: int, x: float) -> float:
    """The derivative of ``order`` of digamma, psi(x) = d/dx log gamma(x); order 0 is digamma itself.

    At the poles: for odd orders plus infinity (the limit from both sides); for even orders an infinity with the sign
    opposite to that of a zero argument, and NaN at the negative integers.
    """
    if x != x or x == -math.inf:
        return math.nan
    if is_pole(x):
        if order % 2:
            return math.inf
        return math.copysign(math.inf, -x) if x == 0.0 else math.nan
    if x == math.inf:
        return math.inf if order == 0 else 0.0 if order % 2 else -0.0
    if x < 0.0:
        # psi_n(1 - x) - (-1)^n psi_n(x) = (-1)^n d^n/dx^n pi cot(pi x)
        mirrored = polygamma(order, 1.0 - x)
        return (mirrored if order % 2 == 0 else -mirrored) - _cot_derivative(order, x)
    if order == 0:
        return _digamma(x)
    sign = 1.0 if order % 2 else -1.0
    try:
        return sign * math.factorial(order) * hurwitz(order + 1, x)
    except OverflowError:
        return sign * math.inf


def _digamma(x: float) -> float:
    terms = []
    while x < 10.0:
        terms.append(-1.0 / x)
        x += 1.0
    terms += [math.log(x), -0.5 / x]
    power = 1.0
    for j, (numerator, denominator) in enumerate(_BERNOULLI, 1):
        power /= x * x
        terms.append(-numerator / denominator * power / (2 * j))
    return math.fsum(terms)


def _cot_derivative(order: int, x: float) -> float:
    """The derivative of ``order`` of pi cot(pi x); a polynomial in the cotangent, as cot' = -(1 + cot^2)."""
    angle = math.pi * math.remainder(x, 1.0)
    cot = math.cos(angle) / math.sin(angle)
    coefficients = [0, 1]
    for _ in range(order):
        derivative = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [
            -(a + b) for a, b in zip([*derivative, 0, 0], [0, 0, *derivative], strict=True)
        ]
    value = float(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = value * cot + c
    return value * math.pi ** (order + 1)
