"""Complex numbers: pairs of floats. Operators on two of them, or on one and a real number, as in NumPy and Python.

Products are NumPy's plain formula, quotients Smith's algorithm (CACM 5, 1962) as in NumPy, or as in Python if both
numbers are Python's; known integer powers are products, as in both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from adc.frontend.data.values import AbstractValue, Complex, Scalar, Static, is_number
from adc.frontend.errors import refuse
from adc.frontend.numeric.bits import logical_not
from adc.frontend.numeric.convert import as_complex, as_number, complex_of, promote
from adc.frontend.numeric.float_tests import is_inf
from adc.frontend.numeric.operands import unsupported
from adc.frontend.traps import handled, trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import current_loc
from adc.ir.core import Value
from adc.ir.types import i1

Pair = tuple[Value, Value]
_MOST = 100  # NumPy and Python multiply up to this exponent


def binary(symbol: str, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    """``a symbol b``, at least one of which is complex."""
    x, y = as_number(a), as_number(b)
    dtype, weak = promote(x, y)
    p, q = (_parts(as_complex(v, dtype)) for v in (x, y))
    if symbol in ("==", "!="):
        return Scalar(_equal(p, q) if symbol == "==" else _unequal(p, q), i1, weak)
    if symbol == "**":
        found = _power(p, q, _known(b), weak)
        if weak and handled(OverflowError):
            fine = logical_not(ops.ori(*map(is_inf, found)))
            trap_unless(fine, "OverflowError", ("complex exponentiation",))
        return complex_of(*found, weak=weak)
    if symbol == "/":
        return complex_of(*quotient(p, q, python=weak), weak=weak)
    if symbol not in _ARITHMETIC:
        raise unsupported(symbol, a, b)
    return complex_of(*_ARITHMETIC[symbol](p, q), weak=weak)


def unary(symbol: str, v: AbstractValue) -> AbstractValue:
    """``-v`` and ``+v``."""
    s = as_number(v)
    assert isinstance(s, Complex)
    if symbol == "+":
        return s
    if symbol == "~":
        raise refuse(current_loc(), "~ is not defined for complex numbers", kind=kinds.UNSUPPORTED_OPERAND)
    return complex_of(ops.negf(s.real.value), ops.negf(s.imag.value), weak=s.weak)


def _parts(s: Complex) -> Pair:
    return s.real.value, s.imag.value


def add(p: Pair, q: Pair) -> Pair:
    return ops.addf(p[0], q[0]), ops.addf(p[1], q[1])


def _subtract(p: Pair, q: Pair) -> Pair:
    return ops.subf(p[0], q[0]), ops.subf(p[1], q[1])


def product(p: Pair, q: Pair) -> Pair:
    """``p * q``."""
    (a, b), (c, d) = p, q
    return ops.subf(ops.mulf(a, c), ops.mulf(b, d)), ops.addf(ops.mulf(a, d), ops.mulf(b, c))


_ARITHMETIC: dict[str, Callable[[Pair, Pair], Pair]] = {"+": add, "-": _subtract, "*": product}


def quotient(p: Pair, q: Pair, *, python: bool = False) -> Pair:
    """``p / q``. The larger part of ``q`` is selected first, so that nothing undefined is computed: a branch not taken
    would have an infinite derivative."""
    (a, b), (c, d) = p, q
    zero, one = const(0.0, c.type), const(1.0, c.type)
    if str(constant_of(d)) == "0.0":  # not the negative zero
        return _quotient_by_real(p, c, python)
    first = ops.cmpf(ops.absf(c), ops.absf(d), predicate="oge")
    large, small = ops.select(first, c, d), ops.select(first, d, c)
    none = ops.andi(ops.cmpf(large, zero, predicate="oeq"), ops.cmpf(small, small, predicate="oeq"))
    if python:
        trap_unless(ops.xori(none, const(True, i1)), "ZeroDivisionError", "complex division by zero")
    ratio = ops.divf(small, ops.select(none, one, large))
    x, y = ops.select(first, a, b), ops.select(first, b, a)
    along, across = ops.mulf(y, ratio), ops.mulf(x, ratio)
    if not python:
        along, across = ops.select(none, zero, along), ops.select(none, zero, across)
    real = ops.addf(x, along)
    imag = ops.subf(ops.select(first, y, across), ops.select(first, across, y))
    if python:
        below = ops.addf(large, ops.mulf(small, ratio))
        return ops.divf(real, below), ops.divf(imag, below)
    below = ops.addf(ops.select(none, ops.absf(large), large), ops.mulf(small, ratio))
    scale = ops.divf(one, below)
    return ops.mulf(real, scale), ops.mulf(imag, scale)


def _quotient_by_real(p: Pair, c: Value, python: bool) -> Pair:
    """``quotient(p, (c, 0.0))``, where the first part is the larger one, or NaN, as all of the result is then."""
    (a, b), zero, one = p, const(0.0, c.type), const(1.0, c.type)
    none = ops.cmpf(c, zero, predicate="oeq")
    if python:
        trap_unless(ops.xori(none, const(True, i1)), "ZeroDivisionError", "complex division by zero")
    ratio = ops.stop_gradient(ops.copysign(zero, c))
    along, across = (ops.stop_gradient(ops.mulf(x, ratio)) for x in (b, a))
    if not python:
        along, across = ops.select(none, zero, along), ops.select(none, zero, across)
    real, imag = ops.addf(a, along), ops.subf(b, across)
    if python:
        below = ops.addf(c, ratio)
        return ops.divf(real, below), ops.divf(imag, below)
    scale = ops.divf(one, ops.addf(ops.select(none, ops.absf(c), c), ops.mulf(zero, ratio)))
    return ops.mulf(real, scale), ops.mulf(imag, scale)


def _equal(p: Pair, q: Pair) -> Value:
    return ops.andi(*(ops.cmpf(x, y, predicate="oeq") for x, y in zip(p, q, strict=True)))


def _unequal(p: Pair, q: Pair) -> Value:
    return ops.ori(*(ops.cmpf(x, y, predicate="une") for x, y in zip(p, q, strict=True)))


def _known(exponent: AbstractValue) -> int | None:
    """The exponent, if it is a known integer of any type."""
    value: Any = exponent.value if isinstance(exponent, Static) else None
    if isinstance(value, complex) and value.imag == 0:
        value = value.real
    if value is None or isinstance(value, complex) or not is_number(value) or not float(value).is_integer():
        return None
    return int(value) if abs(value) <= _MOST else None


def _power(p: Pair, q: Pair, n: int | None, weak: bool) -> Pair:
    zero, one = const(0.0, p[0].type), const(1.0, p[0].type)
    if n is None:
        return _general_power(p, q, weak)
    # Python first multiplies one by the number, which only matters for infinities and NaN.
    first = (one, zero) if weak and handled(OverflowError) else None
    if n < 0:
        return quotient((one, zero), _whole_power(p, -n, first), python=weak)
    return _whole_power(p, n, first) if n else (one, zero)


def _whole_power(p: Pair, n: int, result: Pair | None) -> Pair:
    """The power by repeated squaring, in the order in which NumPy and Python multiply. ``result``: the first factor, if
    any."""
    if n & 1:
        result = p if result is None else product(result, p)
    square, bit = p, 2
    while bit <= n:
        square = product(square, square)
        if n & bit:
            result = square if result is None else product(result, square)
        bit <<= 1
    assert result is not None
    return result


def _general_power(p: Pair, q: Pair, weak: bool) -> Pair:
    """The power by modulus and angle. Powers of zero, whose logarithm has no value, are handled separately."""
    (a, b), (c, d) = p, q
    zero, one = const(0.0, a.type), const(1.0, a.type)
    none = ops.andi(ops.cmpf(a, zero, predicate="oeq"), ops.cmpf(b, zero, predicate="oeq"))
    a = ops.select(none, one, a)
    radius, angle = ops.hypot(a, b), ops.atan2(b, a)
    real = ops.cmpf(d, zero, predicate="oeq")
    length = ops.powf(radius, c)
    length = ops.select(real, length, ops.mulf(length, ops.exp(ops.negf(ops.mulf(angle, d)))))
    turn = ops.mulf(angle, c)
    turn = ops.select(real, turn, ops.addf(turn, ops.mulf(d, ops.log(radius))))
    at_zero = _zero_to(q, real, none, weak)
    real_part, imag_part = ops.mulf(length, ops.cos(turn)), ops.mulf(length, ops.sin(turn))
    return ops.select(none, at_zero[0], real_part), ops.select(none, at_zero[1], imag_part)


def _zero_to(q: Pair, real: Value, none: Value, weak: bool) -> Pair:
    """Zero to the power ``q``: one, zero, or NaN."""
    c, _ = q
    zero, one, nan = (const(x, c.type) for x in (0.0, 1.0, float("nan")))
    trivial = ops.andi(real, ops.cmpf(c, zero, predicate="oeq"))
    positive = ops.cmpf(c, zero, predicate="ogt")
    if weak:
        positive = ops.andi(real, positive)
        defined = ops.ori(ops.xori(none, const(True, i1)), ops.ori(trivial, positive))
        trap_unless(defined, "ZeroDivisionError", "0.0 to a negative or complex power")
    other = ops.select(positive, zero, nan)
    return ops.select(trivial, one, other), ops.select(trivial, zero, other)


def conjugate(v: AbstractValue) -> AbstractValue:
    """The conjugate of a complex number."""
    s = as_number(v)
    assert isinstance(s, Complex)
    return complex_of(s.real.value, ops.negf(s.imag.value), weak=s.weak)


def absolute(v: AbstractValue) -> Scalar:
    """The modulus, a float."""
    s = as_number(v)
    assert isinstance(s, Complex)
    parts = s.real.value, s.imag.value
    found = ops.hypot(*parts)
    if s.weak and handled(OverflowError):
        fine = reduce(ops.ori, [logical_not(is_inf(found)), *map(is_inf, parts)])
        trap_unless(fine, "OverflowError", ("absolute value too large",))
    return Scalar(found, s.real.dtype, s.weak)
