"""Callers' arguments: an error that names the argument, its value and what is expected, or the right result."""

from __future__ import annotations

import array
import collections
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import adc
from adc import jit_grad

Case = Any


def total(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * a[i]
    return s


def scale(a, v):
    for i in range(a.shape[0]):
        a[i] = v * a[i]
    return a[0] * v


def times(x, n):
    return x * n


TOTAL, SCALE, TIMES = jit_grad(total), jit_grad(scale), jit_grad(times)
B = np.arange(1.0, 5.0)


def calls(f: Any) -> list[Any]:
    return [f, f.grad, f.value_and_grad, f.pullback]


@pytest.mark.parametrize(
    "args, kwargs, said",
    [
        ((), {}, "missing a required argument: 'a'"),
        ((B, B), {}, "too many positional arguments"),
        ((B,), {"z": 1}, "unexpected keyword argument 'z'"),
        ((), {"b": B}, "unexpected keyword argument 'b'"),
        ((B,), {"a": B}, "multiple values for argument 'a'"),
    ],
)
def test_wrong_count_and_unknown_keywords(args: Any, kwargs: Any, said: str) -> None:
    for call in calls(TOTAL):
        with pytest.raises(TypeError, match="total") as caught:
            call(*args, **kwargs)
        assert said in str(caught.value) and isinstance(caught.value, adc.errors.AdcError)


DTYPES = ["g", "G", "M8[s]", "m8[s]", "U3", "S3", "O", "V4", ">f8"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_that_adc_has_not(dtype: Any) -> None:
    given = np.zeros(4, dtype)
    for call in calls(TOTAL):
        with pytest.raises(TypeError, match="argument a: an array of dtype") as caught:
            call(given)
        shown = str(caught.value)
        assert str(given.dtype) in shown and "float64, float32, float16, complex128, complex64, integers" in shown


@pytest.mark.parametrize(
    "value",
    [
        {1.0}, bytearray(b"ab"), memoryview(np.ones(2)), array.array("d", [1.0]),
        collections.deque([1.0]), np.ones((1, 2)).view(np.matrix), np.ma.masked_array(B, [0, 1, 0, 0]),
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_containers_that_are_not_arrays(value: Any) -> None:
    for call in calls(TOTAL):
        with pytest.raises(TypeError, match=f"argument a: a {type(value).__name__} is not supported"):
            call(value)


@pytest.mark.parametrize("value", [1.0, 3, True, None, "abc", b"abc", 1j, object(), range(3), np.float64(2.0), print])
def test_what_is_no_array_where_one_is_wanted(value: Any) -> None:
    for call in calls(TOTAL):
        with pytest.raises(adc.errors.AdcError) as caught:
            call(value)
        assert "test_arguments.py" in str(caught.value) or "argument a" in str(caught.value)


def test_wrong_rank() -> None:
    for call in calls(TOTAL):
        with pytest.raises(adc.errors.AdcError, match=r"out of range"):
            call(np.ones(()))
    for shape in ((2, 2), (1, 1, 1)):  # sums of rows, as in Python, and so no number that has a gradient
        np.testing.assert_array_equal(TOTAL(np.full(shape, 3.0)), total(np.full(shape, 3.0)))
        with pytest.raises(adc.errors.DifferentiationError, match="returns an array"):
            TOTAL.grad(np.ones(shape))


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, 10**400, -(10**30)], ids=["2**63", "-2**63-1", "10**400", "-10**30"]
)
def test_integers_beyond_64_bits(value: int) -> None:
    for args in ((value, 2), (1.5, value)):
        with pytest.raises(OverflowError, match=r"argument [xn]: -?\d+ does not fit into 64 bits"):
            TIMES(*args)
    for edge in (2**63 - 1, -(2**63)):
        assert TIMES(edge, 1) == edge


NUMBERS = [
    2, 2.5, True, -0.0, float("inf"), float("nan"), np.float64(2.5), np.float32(2.5), np.int64(3), np.bool_(True),
    np.array(2.5), np.array(3), np.array(2.5, np.float32),
]  # fmt: skip


@pytest.mark.parametrize("value", NUMBERS, ids=lambda v: f"{type(v).__name__}-{v}")
def test_numbers_and_arrays_of_rank_zero(value: Any) -> None:
    for n in (3, 1.5):
        mine, theirs = TIMES(value, n), times(value, n)
        assert type(mine) is type(theirs)
        assert np.array_equal(mine, theirs, equal_nan=True) and np.signbit(mine) == np.signbit(theirs)


@pytest.mark.parametrize("kind", [np.longdouble, np.clongdouble])
def test_numpy_numbers_that_adc_has_not(kind: type[np.generic]) -> None:
    with pytest.raises(TypeError, match=f"argument x: a NumPy scalar of type {np.dtype(kind)}"):
        TIMES(kind(2), 3)


# Arrays in unusual memory ---------------------------------------------------------------------------------------------


def packed(n: int, kind: str = "f8") -> Any:
    record = np.zeros(n, np.dtype([("tag", "i1"), ("x", kind)]))
    record["x"] = np.arange(1, n + 1)
    return record["x"]


def on_odd_address(n: int) -> Any:
    found = np.zeros(8 * n + 1, np.uint8)[1:].view(np.float64)
    found[:] = np.arange(1.0, n + 1)
    return found


def broken_stride(n: int) -> Any:
    record = np.zeros(n, np.dtype([("x", "f8"), ("tag", "i4")]))
    record["x"] = np.arange(1.0, n + 1)
    return record["x"]


LAYOUTS = {
    "contiguous": lambda n: np.arange(1.0, n + 1),
    "reversed": lambda n: np.arange(1.0, n + 1)[::-1],
    "every third": lambda n: np.arange(1.0, 3 * n + 1)[::3],
    "column": lambda n: np.arange(1.0, 2 * n + 1).reshape(n, 2)[:, 1],
    "backward column": lambda n: np.arange(1.0, 2 * n + 1).reshape(n, 2)[::-1, 0],
    "packed record": packed,
    "packed float32": lambda n: packed(n, "f4"),
    "odd address": on_odd_address,
    "broken stride": broken_stride,
    "subclass": lambda n: np.arange(1.0, n + 1).view(np.memmap),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("n", [5, 1])
def test_layouts_of_memory(name: str, n: int) -> None:
    make = LAYOUTS[name]
    mine, theirs = make(n), make(n)
    assert np.isclose(SCALE(mine, 1.5), scale(theirs, 1.5), rtol=1e-6)
    assert np.allclose(mine, theirs, rtol=1e-6) and type(mine) is type(theirs)
    before = np.array(mine)
    gradient = TOTAL.grad(mine)
    assert gradient.shape == mine.shape and gradient.dtype == mine.dtype and np.allclose(gradient, 2 * before)
    expected = np.zeros(n)
    expected[0] = 1.5 * 1.5
    assert np.allclose(SCALE.grad(mine, 1.5), expected) and np.array_equal(mine, before)
    value, back = SCALE.pullback(mine, 1.5)
    assert np.isclose(value, scale(theirs, 1.5), rtol=1e-6) and np.allclose(mine, theirs, rtol=1e-6)
    assert np.allclose(back(1.0)[0], expected)


def test_what_is_stored_before_an_error_reaches_an_unaligned_array() -> None:
    @jit_grad
    def fail(a, n):
        for i in range(n):
            a[i] = 7.0

    a = on_odd_address(3)
    with pytest.raises(IndexError):
        fail(a, 4)
    assert np.array_equal(a, [7.0, 7.0, 7.0])


def test_unaligned_arrays_that_share_memory_are_refused() -> None:
    @jit_grad
    def both(a, b):
        a[0] = 2.0
        return b[0]

    a = on_odd_address(3)
    with pytest.raises(TypeError, match="argument a: the array is not aligned in memory, and shares it with b"):
        both(a, a)
    with pytest.raises(TypeError, match="not aligned in memory, and shares it"):
        both(a[1:], a[:2])
    assert both(a[:1], a[1:]) == 2.0


def test_unaligned_arrays_that_share_memory_are_read() -> None:
    a = on_odd_address(3)
    a[...] = [1.0, 2.0, 3.0]
    f = jit_grad(argnums=(0, 1))(lambda x, y: np.sum(x * x * y))
    assert f(a, a) == 36.0
    for found, expected in zip(f.grad(a, a), (2.0 * a * a, a * a), strict=True):
        assert np.array_equal(found, expected)
    back = f.pullback(a[1:], a[:2])[1]
    assert np.array_equal(back(1.0)[1], a[1:] * a[1:])


@pytest.mark.parametrize("n", [0, 1, 4])
def test_repeated_elements_are_read(n: int) -> None:
    for given in (np.broadcast_to(1.5, (n,)), np.broadcast_to(np.float32(1.5), (n,))):
        assert TOTAL(given) == total(given)
        gradient = TOTAL.grad(given)
        assert gradient.shape == (n,) and np.allclose(gradient, 3.0)
        value, back = TOTAL.pullback(given)
        assert value == total(given) and np.allclose(back(1.0)[0], 3.0)


def test_arrays_whose_elements_share_memory_are_not_written() -> None:
    given = as_strided(np.arange(4.0), (3,), (0,))
    for call in calls(SCALE):
        with pytest.raises(TypeError, match="argument a: elements of the array share memory"):
            call(given, 2.0)
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 3)
    rows = jit_grad(lambda a: a[0, 1] + a[3, 2])
    assert rows(windows) == 6.0


def test_read_only_arrays_that_are_written() -> None:
    """As in NumPy it is an error to write one. Gradients leave the caller's arrays alone, so they take them."""
    given = np.arange(1.0, 4.0)
    given.flags.writeable = False
    fresh = jit_grad(scale)
    for call in (SCALE, SCALE.pullback, fresh, fresh.pullback):
        with pytest.raises(adc.errors.AdcError, match="'a' is read-only") as caught:
            call(given, 2.0)
        assert "test_arguments.py" in str(caught.value)
    assert np.array_equal(given, [1.0, 2.0, 3.0])
    for f in (SCALE, jit_grad(scale)):
        assert f.value_and_grad(given, 2.0)[0] == 4.0 and np.array_equal(f.grad(given, 2.0), [4.0, 0.0, 0.0])
        assert np.array_equal(f.grad(np.broadcast_to(1.5, (2,)), 2.0), [4.0, 0.0])
    assert np.array_equal(given, [1.0, 2.0, 3.0])
    assert TOTAL(given) == 14.0 and np.array_equal(TOTAL.grad(given), 2 * given)
    # One that may be written is another specialisation, and the read-only one is refused after it too.
    free = given.copy()
    assert SCALE(free, 2.0) == 4.0 and np.array_equal(free, [2.0, 4.0, 6.0])
    with pytest.raises(adc.errors.AdcError, match="read-only"):
        SCALE(given, 2.0)
    assert np.array_equal(given, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("cut", [(slice(0, 4), slice(1, 5)), (slice(1, 5), slice(0, 4)), (slice(0, 5), slice(0, 5))])
def test_arguments_that_overlap(cut: tuple[slice, slice]) -> None:
    def blend(a, b):
        for i in range(a.shape[0]):
            a[i] = a[i] + 2.0 * b[i]
        return a[1] * b[2]

    f = jit_grad(blend)
    mine, theirs = np.arange(1.0, 6.0), np.arange(1.0, 6.0)
    assert f(mine[cut[0]], mine[cut[1]]) == blend(theirs[cut[0]], theirs[cut[1]])
    assert np.array_equal(mine, theirs)
    backwards = np.arange(1.0, 6.0)
    expected = np.arange(1.0, 6.0)
    assert f(backwards, backwards[::-1]) == blend(expected, expected[::-1])
    assert np.array_equal(backwards, expected)


# Objects that change --------------------------------------------------------------------------------------------------

NUMBERS_OUTSIDE = [2.0, 3.0]
BY_NAME = {"rate": 2.0}


def test_items_of_captured_objects_are_read_at_each_call() -> None:
    item = jit_grad(lambda x: x * NUMBERS_OUTSIDE[0] + BY_NAME["rate"])
    try:
        assert item(1.0) == 4.0
        NUMBERS_OUTSIDE[0] = 5.0
        assert item(1.0) == 7.0
        BY_NAME["rate"] = 0.5
        assert item(1.0) == 5.5 and item.grad(1.0) == 5.0
    finally:
        NUMBERS_OUTSIDE[0], BY_NAME["rate"] = 2.0, 2.0
