"""Functions of Python's ``math`` module that are loops, or formulas of others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adc.frontend.marker import stop_gradient
from adc.frontend.prelude import unsupported


def _whole(n: Any, name: Any) -> Any:
    """An integer of Python's or NumPy's as one of Python's."""
    if not isinstance(n, (int, np.integer)):
        unsupported(f"math.{name}() takes integers", "convert it first: int(x)")
    return int(n)


def gcd(*integers: Any) -> Any:
    found = 0
    for number in integers:
        a, b = abs(_whole(number, "gcd")), found
        while b != 0:
            a, b = b, a % b
        found = a
    return found


def lcm(*integers: Any) -> Any:
    found = 1
    for number in integers:
        n = abs(_whole(number, "lcm"))
        common = gcd(found, n)
        found = 0 if common == 0 else found // common * n
    return found


def factorial(n: Any) -> Any:
    n = _whole(n, "factorial")
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    found = 1
    for k in range(2, n + 1):
        found = found * k
    return found


def comb(n: Any, k: Any) -> Any:
    n, k = _whole(n, "comb"), _whole(k, "comb")
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    k = min(k, n - k)
    found = 1
    for i in range(1, k + 1):
        found = found * (n - k + i) // i
    return found


def perm(n: Any, k: Any = None) -> Any:
    if k is None:
        return factorial(n)
    n, k = _whole(n, "perm"), _whole(k, "perm")
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    found = 1
    for i in range(k):
        found = found * (n - i)
    return found


def isqrt(n: Any) -> Any:
    n = _whole(n, "isqrt")
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    while root > 0 and root > n // root:
        root = root - 1
    while root + 1 <= n // (root + 1):
        root = root + 1
    return root


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    a, b = float(a), float(b)
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    apart = abs(b - a)
    return apart <= abs(rel_tol * b) or apart <= abs(rel_tol * a) or apart <= abs_tol


def prod(iterable: Any, /, *, start: Any = 1) -> Any:
    for factor in iterable:
        start = start * factor
    return start


def ldexp(x: Any, i: Any) -> Any:
    return float(np.ldexp(float(x), _whole(i, "ldexp")))


def frexp(x: Any) -> Any:
    mantissa, exponent = np.frexp(float(x))
    return float(mantissa), int(exponent)


def modf(x: Any) -> Any:
    part, whole = np.modf(float(x))
    return float(part), float(whole)


def nextafter(x: Any, y: Any) -> Any:
    return float(np.nextafter(float(x), float(y)))


def hypot(*coordinates: Any) -> Any:
    found = 0.0
    for coordinate in coordinates:
        found = math.hypot(found, coordinate)
    return found


def dist(p: Any, q: Any, /) -> Any:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    found = 0.0
    for k in range(len(p)):
        found = math.hypot(found, float(p[k]) - float(q[k]))
    return found


def ulp(x: Any) -> Any:
    size = abs(float(x))
    after = float(np.nextafter(size, math.inf))
    if math.isinf(after):  # the largest float, or an infinity
        return size if math.isinf(size) else size - float(np.nextafter(size, 0.0))
    return after - size


MOST_PARTS = 48  # floats that do not overlap: their exponents differ by at least 53


def fsum(seq: Any) -> Any:
    """The exact sum, rounded once, as the sum of floats that do not overlap (Shewchuk). Its derivative is the sum's."""
    plain = 0.0
    for x in seq:
        plain += float(x) * 2.0**-64  # this does not overflow
    parts = np.zeros(MOST_PARTS)
    count, special, infinite = 0, 0.0, 0.0
    for element in seq:
        x = given = float(stop_gradient(element))
        kept = 0
        for j in range(count):
            y = parts[j]
            if abs(x) < abs(y):
                x, y = y, x
            total = x + y
            rest = y - (total - x)
            if rest != 0.0:
                parts[kept] = rest
                kept += 1
            x = total
        count = kept
        if math.isfinite(x):
            if x != 0.0:
                parts[count] = x
                count += 1
        else:
            if math.isfinite(given):
                raise OverflowError("intermediate overflow in fsum")
            if math.isinf(given):
                infinite += given
            special += given
            count = 0
    if special != 0.0:
        if math.isnan(infinite):
            raise ValueError("-inf + inf in fsum")
        return special
    found = _rounded(parts, count)
    return float(found + (plain - stop_gradient(plain)) * 2.0**64)  # plus zero, whose derivative is the sum's


def _rounded(parts: Any, count: Any) -> Any:
    """The sum of parts that do not overlap, ties to even."""
    if count == 0:
        return 0.0
    n = count - 1
    high, low = parts[n], 0.0
    while n > 0:
        x = high
        n -= 1
        y = parts[n]
        high = x + y
        low = y - (high - x)
        if low != 0.0:
            break
    if n > 0 and ((low < 0.0 and parts[n - 1] < 0.0) or (low > 0.0 and parts[n - 1] > 0.0)):
        y = low * 2.0
        x = high + y
        if y == x - high:
            high = x
    return high


FUNCTIONS = (gcd, lcm, factorial, comb, perm, isqrt, isclose, prod, ldexp, frexp, modf, nextafter, dist, ulp, fsum)


def is_integer(x: Any) -> Any:
    """``x.is_integer()``"""
    return bool(x == np.floor(x) and x - x == 0)


def bit_length(n: Any) -> Any:
    """``n.bit_length()``"""
    rest, count = abs(int(n)), 0
    while rest > 0:
        rest >>= 1
        count += 1
    return count


def bit_count(n: Any) -> Any:
    """``n.bit_count()``"""
    rest, count = abs(int(n)), 0
    while rest > 0:
        count += rest & 1
        rest >>= 1
    return count
