"""Functions of ``operator`` that are statements or comparisons, and ``pow`` with a modulus."""

from __future__ import annotations

from typing import Any


def iadd(a: Any, b: Any, /) -> Any:
    a += b
    return a


def isub(a: Any, b: Any, /) -> Any:
    a -= b
    return a


def imul(a: Any, b: Any, /) -> Any:
    a *= b
    return a


def itruediv(a: Any, b: Any, /) -> Any:
    a /= b
    return a


def lt(a: Any, b: Any, /) -> Any:
    return a < b


def le(a: Any, b: Any, /) -> Any:
    return a <= b


def eq(a: Any, b: Any, /) -> Any:
    return a == b


def ne(a: Any, b: Any, /) -> Any:
    return a != b


def ge(a: Any, b: Any, /) -> Any:
    return a >= b


def gt(a: Any, b: Any, /) -> Any:
    return a > b


def not_(a: Any, /) -> Any:
    return not a


def truth(a: Any, /) -> Any:
    return bool(a)


def getitem(a: Any, b: Any, /) -> Any:
    return a[b]


def contains(a: Any, b: Any, /) -> Any:
    return b in a


def power(base: Any, exp: Any, mod: Any, /) -> Any:
    """``pow(base, exp, mod)`` of integers, by squaring."""
    if mod == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    square, left, found = base % mod, exp, 1 % mod
    if left < 0:
        square, left = _inverse(square, mod), -left
    while left > 0:
        if left % 2 == 1:
            found = found * square % mod
        left = left // 2
        if left > 0:
            square = square * square % mod
    return found


def _inverse(a: Any, mod: Any) -> Any:
    size = abs(mod)
    old, rest, before, factor = a % size, size, 1, 0
    while rest != 0:
        quotient = old // rest
        old, rest = rest, old - quotient * rest
        before, factor = factor, before - quotient * factor
    if old != 1:
        raise ValueError("base is not invertible for the given modulus")
    return before % mod


def greater(a: Any, b: Any) -> Any:
    return a if a > b else b


def lesser(a: Any, b: Any) -> Any:
    return a if a < b else b
