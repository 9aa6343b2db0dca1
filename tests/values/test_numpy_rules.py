"""Rules of NumPy 2 and Python: integers in arrays, ranges of floats, rounding to digits, quotients, comparisons."""

from __future__ import annotations

import copy
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.values.table import Entry, function

INT32 = np.iinfo(np.int32)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a call gives and what its arguments hold then, with dtypes and signs; or its built-in exception."""
    args = copy.deepcopy(args)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = f(*args)
        except Exception as error:
            return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")
    return [(type(v).__name__, str(np.asarray(v).dtype), repr(np.asarray(v).tolist())) for v in (result, *args)]


def assert_same(f: Callable[..., Any], *args: Any) -> None:
    assert outcome(jit_grad(f), *args) == outcome(f, *args)


def store(b, v):  # type: ignore[no-untyped-def]
    b[0] = v
    return 0


def store_all(b, v):  # type: ignore[no-untyped-def]
    b[:] = v
    return 0


def add_in_place(b, v):  # type: ignore[no-untyped-def]
    b[0] += v
    return 0


@pytest.mark.parametrize(
    "value",
    [
        *(5, 2**31, -(2**31), -(2**31) - 1, np.int64(2**31), np.int64(-7), np.int32(9), True, np.bool_(True)),
        *(3.7, -3.7),
        *(-2147483648.5, 2147483647.5, 2147483648.0, np.float64(1e300), math.inf, math.nan, np.float32(1e20)),
    ],
)
def test_stores_into_int32(value: Any) -> None:
    for f in (store, store_all) if not isinstance(value, float | np.floating) else (store,):
        assert_same(f, np.zeros(2, np.int32), value)


@pytest.mark.parametrize("value", [2**31, 2**31 - 1, np.int64(2**40), np.int32(5), np.int64(-5)])
def test_updates_of_int32(value: Any) -> None:
    assert_same(add_in_place, np.array([2**31 - 1], np.int32), value)


def test_arrays_stored_into_int32_wrap() -> None:
    assert_same(store_all, np.zeros(2, np.int32), np.array([2**33 + 5, -(2**31) - 1]))
    assert_same(store_all, np.zeros((2, 2), np.int32), np.array([2**33 + 5, 7]))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a[0] * 2,
        lambda a: (a[0] + a[1]) // 2,
        lambda a: a[0] ** 2,
        lambda a: a[0] / a[1],
        lambda a: -a[1],
        lambda a: abs(a[1]),
        lambda a: np.sum(a),
        lambda a: sum(a),
        lambda a: a[0] < 2**40,
        lambda a: a < 2**70,
        lambda a: -(2**70) < a,
        lambda a: a == 2**33,
        lambda a: a + 2**31,
        lambda a: a * True,
        lambda a: a + np.int64(1),
        lambda a: np.add(2**62, 2**62),
        lambda a: round(a[0]),
        lambda a: round(a[0], -1),
        lambda a: np.round(a // 7, -2),
        lambda a: np.round(a, 1),
        lambda a: np.dot(a, a),
    ],
)
def test_int32_elements(f: Callable[..., Any]) -> None:
    assert_same(f, np.array([INT32.max - 8, INT32.min], np.int32))


def test_int32_numbers_as_arguments_and_results() -> None:
    assert_same(lambda n: n * 2, np.int32(2**30))
    assert type(jit_grad(lambda n: n + 1)(np.int32(5))) is np.int32


ROUNDED = [17, 12345, -25, 25, 35, 50, 5 * 10**18, -5 * 10**18, 0, 1, 2**53 + 1]


@pytest.mark.parametrize("places", [-1, -2, -3, -18, -19, -20, -40, 0, 3])
def test_rounding_integers(places: int) -> None:
    f = function([Entry(f"round(x, {places})")], "x")
    for n in ROUNDED:
        assert_same(f, n)
    with pytest.raises(OverflowError):
        jit_grad(lambda n: round(n, -1))(2**63 - 1)
    with pytest.raises(OverflowError):
        jit_grad(lambda n: round(n, -19))(5 * 10**18 + 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_floats_to_digits(dtype: Any) -> None:
    values = np.array([2.25, -0.04, 1e30, np.inf, -np.inf, np.nan, 2.675, 125.0, -0.0], dtype)
    for places in (1, 2, -1, 0):
        assert_same(function([Entry(f"np.round(x, {places})")], "x"), values)
    assert_same(lambda x: x.round(1), values)
    assert_same(lambda x: x.round(decimals=-1) + x.round(), values)
    assert_same(lambda x: round(x, 2), dtype(2.675))


RANGES: list[tuple[float, ...]] = [
    *((1.0, 4.0), (1.0, 1.3, 0.1), (0, 3.5), (3.0, 0.0, -1), (3.0, 0.0), (0.0, math.inf), (0.0, math.nan)),
    *((0.0, 1.0, 0.0), (0.0, 1e-320, 1e300), (0.0, -1e-320, 1e300), (0.5, 1.3, 0.1), (-0.0, 3.0), (2.5,), (0, 1, 0.1)),
    *((3, 3), (5,), (9, 2, -3)),
]


@pytest.mark.parametrize("args", RANGES, ids=str)
def test_arange(args: tuple[float, ...]) -> None:
    names = ", ".join("xyz"[: len(args)])
    assert_same(function([Entry(f"np.arange({names})[:]")], names), *args)


def test_arange_with_a_dtype() -> None:
    for text in ("n, dtype=np.float64", "n, dtype=float", "n, dtype=np.int32", "2, n, dtype=np.float32"):
        assert_same(function([Entry(f"np.arange({text})")], "n"), 5)


def test_arange_has_derivatives() -> None:
    def f(a: float, h: float) -> float:
        x = np.arange(a, a + 3.5 * h, h)
        return np.sum(x * x)

    ga, gh = jit_grad(f, argnums=(0, 1)).grad(1.0, 0.5)
    assert (ga, gh) == pytest.approx((2 * (1 + 1.5 + 2 + 2.5), 2 * (1.5 + 2 * 2 + 3 * 2.5)))


def test_roots_by_powers() -> None:
    for dtype in (np.float64, np.float32):
        x = np.array([-np.inf, -0.0, 2.0, np.inf, -1.0], dtype)
        assert_same(lambda x: x**0.5, x)
        assert_same(lambda x: np.power(x, 0.5), x)
        assert_same(lambda x: x[0] ** 0.5, x)
    assert_same(lambda x: x**0.5, -math.inf)
    assert_same(lambda x: x**0.5, -0.0)
    assert_same(lambda x: x**0.5, np.array([4, 2]))


def test_sums_in_order() -> None:
    x = np.random.default_rng(0).random(200) * 1e3
    for dtype in (np.float64, np.float32):
        assert_same(lambda x: sum(x), x.astype(dtype))
        assert_same(lambda x: sum(x, 2.5), x.astype(dtype))
    assert_same(lambda x: sum(x), np.array([2**31 - 1, 1], np.int32))
    assert_same(lambda x: sum(x), np.array([True, True]))
    assert_same(lambda x: sum(x), np.array([-0.0]))
    assert np.array_equal(jit_grad(lambda x: sum(x * x)).grad(x), 2 * x)


def _integer(r: random.Random) -> int:
    k = r.randrange(64)
    size = r.getrandbits(k) if k else 0
    if r.random() < 0.3:
        size = 2 ** r.randrange(63) + r.randrange(-3, 4)
    return max(min(size if r.random() < 0.5 else -size, 2**63 - 1), -(2**63))


def test_quotients_of_integers_are_rounded_once() -> None:
    divide, r = jit_grad(lambda n, m: n / m), random.Random(0)
    for _ in range(5000):
        n, m = _integer(r), _integer(r)
        assert m == 0 or divide(n, m) == n / m, (n, m)


def test_integers_compare_with_floats_exactly() -> None:
    symbols = ("<", "<=", ">", ">=", "==", "!=")
    f = function([Entry(f"x {s} y") for s in symbols] + [Entry(f"y {s} x") for s in symbols])
    compiled, r = jit_grad(f), random.Random(1)
    for _ in range(2000):
        n = _integer(r)
        near = [float(n), math.nextafter(n, math.inf), math.nextafter(n, -math.inf), float(n) + 0.5]
        x = r.choice([*near, float(_integer(r)), r.random(), math.inf, -math.inf, math.nan, 2.0**63])
        assert compiled(n, x) == f(n, x), (n, x)
    for c in (0.5, -0.5, 2.0, 2.0**60, 2.0**63, -(2.0**63), 1e300):
        g = function([Entry(f"x {s} {c!r}") for s in symbols] + [Entry(f"{c!r} {s} x") for s in symbols], "x")
        known = jit_grad(g)
        for n in (0, 1, -1, 2, 3, 2**60, 2**60 + 1, 2**63 - 1, -(2**63)):
            assert known(n) == g(n), (n, c)


def test_literals_beyond_64_bits() -> None:
    assert_same(lambda x: (x * 2**70, x < 2**70, 2**70 == x)[0], 1.5)
    assert_same(lambda n: n < 2**70, 5)
    assert_same(lambda n: 2**70 - 2**70 + n, 5)
    with pytest.raises(OverflowError, match="the integer 1180591620717411303424 does not fit into 64 bits"):
        jit_grad(lambda n: n + 2**70)(1)
