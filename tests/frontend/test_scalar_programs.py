"""Scalars, branches and loops: the traced code against Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tests.frontend.harness import check

NUMBERS = [-7, -2, -1, 0, 1, 2, 5, -3.5, -0.0, 0.0, 0.25, 2.5, 1e9]


def arithmetic(x, y):
    return x + y, x - y, x * y, -x, +y


def division(x, y):
    return x / y


def floor_division(x, y):
    return x // y, x % y


def comparisons(x, y):
    return x < y, x <= y, x > y, x >= y, x == y, x != y


def extremes(x, y):
    return min(x, y), max(x, y), abs(x), min(x, y, 1), max((x, y))


@pytest.mark.parametrize("function", [arithmetic, comparisons, extremes])
def test_binary(function):
    for x, y in itertools.product(NUMBERS, NUMBERS):
        check(function, lambda x=x, y=y: (x, y), types=function is not extremes)


@pytest.mark.parametrize("function", [division, floor_division])
def test_division(function):
    for x, y in itertools.product(NUMBERS, NUMBERS):
        if y != 0 or (isinstance(x, int) and isinstance(y, int)):
            check(function, lambda x=x, y=y: (x, y))


@pytest.mark.parametrize("cls", [np.float64, np.float32])
def test_numpy_division(cls):
    for x, y in itertools.product([-7.5, -1.0, 0.0, 0.5, 3.0], repeat=2):
        check(division, lambda x=x, y=y: (cls(x), cls(y)))
        if y != 0:
            check(floor_division, lambda x=x, y=y: (cls(x), cls(y)))


def powers(x):
    return x**0, x**1, x**2, x**3, x**-1, x**-2, x**0.5, x**2.0


def int_power(x, n):
    return x**n


def test_powers():
    for x in [0.3, 1.0, 2.5, 4]:
        check(powers, lambda x=x: (x,))
    for x, n in itertools.product([-3, -1, 0, 2, 7], [0, 1, 2, 5]):
        check(int_power, lambda x=x, n=n: (x, n))
        check(int_power, lambda x=float(x), n=n: (x, n))
    for x in (0.5, 2.0, -1.5):
        check(int_power, lambda x=x: (x, -3))


def bits(x, y):
    return x & y, x | y, x ^ y, ~x, x << 3, x >> y, x << y


def test_bits():
    for x, y in itertools.product([-9, -1, 0, 1, 6, 1000], [0, 1, 3, 40]):
        check(bits, lambda x=x, y=y: (x, y))


def bools(a, b):
    return a and b, a or b, not a, a + b, a * 3, a & b, a | b, a ^ b, (a and not b) or (b and not a)


def test_bools():
    for a, b in itertools.product([True, False], repeat=2):
        check(bools, lambda a=a, b=b: (a, b))


def truths(x, y):
    n = 0
    if x:
        n += 1
    if not y:
        n += 10
    if x and y:
        n += 100
    if x or y:
        n += 1000
    return n, x and y, x or y


def test_truth():
    for x, y in itertools.product([0.0, -0.0, 1.5, math.nan], repeat=2):
        check(truths, lambda x=x, y=y: (x, y))
    for x, y in itertools.product([0, 3, -1], repeat=2):
        check(truths, lambda x=x, y=y: (x, y))


def chained(x, y, z):
    return x < y < z, x < y <= z != x, (0 < x) == (y > z)


def test_chained():
    for values in itertools.product([0, 1, 2], repeat=3):
        check(chained, lambda values=values: values)


def conversions(x):
    return int(x), float(x), bool(x), round(x), int(x) + 1, float(int(x))


def test_conversions():
    for x in [0.0, 0.5, 1.5, -0.5, -2.5, 2.5, 3, -4, 1e15]:
        check(conversions, lambda x=x: (x,))
    for x in [math.nan, math.inf, -math.inf, 1e300]:
        with pytest.raises((ValueError, OverflowError)):
            from tests.frontend.harness import run

            run(conversions, (x,))


def whole(x):
    return math.floor(x), math.ceil(x), math.trunc(x), np.floor(x), np.ceil(x), np.trunc(x), np.rint(x)


def test_rounding():
    for x in [0.5, -0.5, 2.0, -2.7, 1e12 + 0.5]:
        check(whole, lambda x=x: (x,))


def functions(x, y):
    return (
        math.sin(x),
        math.atan2(y, x),
        math.hypot(x, y),
        math.exp(-x),
        math.log(x),
        math.log(x, 3),
        math.erf(x),
        math.gamma(x),
        math.lgamma(x),
        math.copysign(x, -y),
        math.fmod(-x, y),
        math.remainder(x, y),
        math.sqrt(x),
        math.cbrt(x),
        math.degrees(x),
        math.radians(y),
        math.pow(x, y),
        math.fabs(-x),
        math.isnan(x),
        math.pi * x,
    )


def numpy_functions(x, y):
    return (
        np.sin(x),
        np.arctan2(y, x),
        np.hypot(x, y),
        np.exp(-x),
        np.log10(x),
        np.sqrt(x),
        np.abs(-x),
        np.sign(x - y),
        np.maximum(x, y),
        np.minimum(x, y),
        np.fmax(x, y),
        np.where(x < y, x, y),
        np.clip(x, 0.5, y),
        np.power(x, 2),
        np.square(x),
        np.isfinite(x),
        np.heaviside(x - y, 0.5),
        np.logical_and(x > 1, y > 1),
        np.float32(x),
        np.int64(y),
    )


def test_functions():
    for x, y in itertools.product([0.5, 1.0, 2.75], [0.75, 1.0, 3.0]):
        check(functions, lambda x=x, y=y: (x, y), rtol=1e-12)
        check(numpy_functions, lambda x=x, y=y: (x, y), rtol=1e-12)
        check(numpy_functions, lambda x=x, y=y: (np.float32(x), np.float32(y)), rtol=1e-12)
        check(numpy_functions, lambda x=x, y=y: (x, np.float32(y)), rtol=1e-12)


def mixed_precision(x, y):
    return x + y, x * 2, x * 2.5, x / 3, y - 1, x**2, x**0.5, x > y, -x, x // y, x % 2, 2**x


def test_weak_numbers():
    values = [3, 2.5, np.float32(1.5), np.float64(2.25), np.int64(4)]
    for x, y in itertools.product(values, repeat=2):
        check(mixed_precision, lambda x=x, y=y: (x, y), rtol=1e-12)


# Control flow --------------------------------------------------------------------------------------------------------


def branches(x):
    if x < 0:
        y = -x
        z = 1
    elif x == 0:
        y = 5.0
        z = 2.5
    else:
        y = x
        z = 3
    return y + z


def early(x, n):
    if x < 0:
        return -1.0
    if n > 3:
        x = x + 1
        if n > 5:
            return x
        else:
            x = x * 2
    y = x + n
    return y * 2


def only_one_side(x):
    y = 1.0
    if x > 0:
        y = x * 2
    if x > 1:
        t = x
        y = y + t
    return y


def possibly_unset(x):
    if x > 0:
        y = x
    return y


def unset_in_loop(n):
    for i in range(n):
        y = i * 2
    return y, i


def first_iteration(n):
    total = 0
    for i in range(n):
        if i > 0:
            total += previous * i  # noqa: F821
        previous = i + 1  # noqa: F841
    return total


def counting(a, b, s):
    total = 0
    last = -100
    for i in range(a, b, s):
        total = total * 3 + i
        last = i
    return total, last


def counting_down(n):
    total = 0
    for i in range(n, -3, -2):
        total = total * 2 + i
    return total


def counter_after(a, b):
    i = 77
    for i in range(a, b, 3):
        pass
    return i


def counter_changed(n):
    total = 0
    for i in range(n):
        i = i * 2
        total += i
    return total


def counter_changed_and_read(n):
    i = -1
    for i in range(n):
        i = i * 2
    return i


def int_becomes_float(n, x):
    total = 0
    for i in range(n):
        total = total + x * i
    return total


def nested(n):
    total = 0
    for i in range(n):
        for j in range(i, n):
            total += i * j
            if j == 3:
                total -= 1
    return total


def swap(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def newton(x):
    y = x
    k = 0
    while abs(y * y - x) > 1e-12 * x and k < 100:
        y = 0.5 * (y + x / y)
        k += 1
    return y, k


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def last_of_while(n):
    while n > 0:
        last = n
        n -= 2
    return last


def conditional(x, y):
    return x if x > y else y, (1 if x else 2.5), x < y and x / y > 0.1


def over_tuple(x):
    total = 0.0
    for a, b in ((1, 2.0), (3, x), (x, x)):
        total += a * b
    return total


def tuples(x, y):
    p = (x, (y, 2))
    q, (r, s) = p
    u = p[1][0] + p[-1][1]
    return q + r * s, p, u, len(p), p[0:1]


def polynomial(x):
    def horner(x, *, c=2.0):
        return x * c + 1

    shift = lambda t, d=1: t + d + x
    return horner(x) + horner(x, c=3) + shift(2) + shift(x, d=4)


@pytest.mark.parametrize(
    "function, cases",
    [
        (branches, [(-1.5,), (0.0,), (2.0,), (3,), (0,)]),
        (early, [(-1.0, 0), (1.0, 2), (1.0, 4), (1.0, 6), (2, 6)]),
        (only_one_side, [(-1.0,), (0.5,), (2.0,), (3,)]),
        (possibly_unset, [(1.0,), (-1.0,)]),
        (unset_in_loop, [(3,), (1,), (0,), (-2,)]),
        (first_iteration, [(0,), (1,), (5,)]),
        (counting, list(itertools.product([-4, 0, 3], [-5, 0, 8], [-3, -1, 1, 2, 5, 0]))),
        (counting_down, [(n,) for n in range(-6, 7)]),
        (counter_after, [(0, 7), (0, 6), (3, 3), (5, 1)]),
        (counter_changed, [(0,), (5,)]),
        (counter_changed_and_read, [(0,), (5,)]),
        (int_becomes_float, [(0, 1.5), (4, 1.5), (4, 2)]),
        (nested, [(0,), (1,), (6,)]),
        (swap, [(0,), (1,), (30,)]),
        (newton, [(2.0,), (1e6,)]),
        (collatz, [(1,), (27,)]),
        (last_of_while, [(7,), (0,)]),
        (conditional, [(1.0, 2.0), (3, 2), (0.0, 1.0), (2.0, 0.5)]),
        (over_tuple, [(1.5,), (2,)]),
        (tuples, [(1.5, 2), (2, np.float32(3))]),
        (polynomial, [(1.5,), (3,)]),
    ],
)
def test_control_flow(function, cases):
    for case in cases:
        check(function, lambda case=case: case, types=False)
