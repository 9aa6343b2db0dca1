"""Beginners' mistakes: the text of the refusal, and that the function changed as advised computes what was meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError

X = np.array([1.0, 2.0, 4.0])


def last_above(x, bound):  # type: ignore[no-untyped-def]
    found = None
    for i in range(len(x)):
        if x[i] > bound:
            found = {"value": x[i]}
    return found


def last_above_or_zero(x, bound):  # type: ignore[no-untyped-def]
    found, is_set = 0.0, False
    for i in range(len(x)):
        if x[i] > bound:
            found, is_set = x[i], True
    return found if is_set else -1.0


def no_else(x, bound):  # type: ignore[no-untyped-def]
    if bound > 0.0:
        return {"sum": np.sum(x)}


def middle(x, bound):  # type: ignore[no-untyped-def]
    return x[len(x) / 2]


def uncalled(x, bound):  # type: ignore[no-untyped-def]
    return np.sum(x.copy)


def of_none(x, bound):  # type: ignore[no-untyped-def]
    return bound.sum()


def not_there(x, bound):  # type: ignore[no-untyped-def]
    return np.qqqqqqq(x)


def axis_as_text(x, bound):  # type: ignore[no-untyped-def]
    return np.sum(x, axis="0")


def array_in_a_text(x, bound):  # type: ignore[no-untyped-def]
    print(f"x = {x}")
    return np.sum(x)


def array_by_itself(x):  # type: ignore[no-untyped-def]
    print("x =", x)
    return np.sum(x)


def strided_by_hand(x, bound):  # type: ignore[no-untyped-def]
    return np.lib.stride_tricks.as_strided(x, (2,), (8,))


def whole_numbers(x, bound):  # type: ignore[no-untyped-def]
    k = np.arange(3)
    k += 0.5 * x
    return np.sum(k)


def numbers(x):  # type: ignore[no-untyped-def]
    k = np.arange(3).astype(float)
    k += 0.5 * x
    return np.sum(k)


def not_installed(x, bound):  # type: ignore[no-untyped-def]
    import no_such_package  # noqa: F401  # type: ignore[import-not-found]

    return x


MISTAKES: dict[str, tuple[Callable[..., Any], Any, str, str]] = {
    "None before the loop": (last_above, 1.5, "None on another", "a value of its final type in place of None"),
    "a path without return": (no_else, 1.5, "the result is dict", "end every path with a return"),
    "an index that is a float": (middle, 1.5, "must be an integer, not a float", "use // to divide integers"),
    "a method that is not called": (uncalled, 1.5, "takes an array, not method copy", "call the method: .copy()"),
    "None for an array": (of_none, None, "None has no attribute 'sum'", "test for None first"),
    "an axis that is text": (axis_as_text, 1.5, "an axis is an integer, not str", "axes count from 0"),
    "no such function": (not_there, 1.5, "has no attribute 'qqqqqqq'", "docs/numpy.md"),
    "an array in a text": (array_in_a_text, 1.5, "cannot be shown in a text here", "print('x =', x)"),
    "strides by hand": (strided_by_hand, 1.5, "as_strided is not supported", "sliding_window_view"),
    "floats added to integers": (whole_numbers, 1.5, "into a 1-D int64 array", "x = x.astype(float)"),
    "a package that is not there": (not_installed, 1.5, "No module named", "install the package"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_refusals(name: str) -> None:
    function, bound, message, help = MISTAKES[name]
    with pytest.raises(AdcError) as caught:
        jit_grad(function)(X, bound)
    assert message in caught.value.message
    assert help in caught.value.help


def test_what_they_advise(capfd: pytest.CaptureFixture[str]) -> None:
    assert jit_grad(last_above_or_zero)(X, 1.5) == 4.0
    assert jit_grad(last_above_or_zero)(X, 9.0) == -1.0
    assert jit_grad(last_above_or_zero).grad(X, 1.5).tolist() == [0.0, 0.0, 1.0]
    assert jit_grad(lambda x: x[len(x) // 2])(X) == jit_grad(lambda x: x[int(len(x) / 2)])(X) == 2.0
    assert jit_grad(array_by_itself)(X) == 7.0 and capfd.readouterr().out == "x = [1. 2. 4.]\n"
    assert jit_grad(numbers).grad(X).tolist() == [0.5, 0.5, 0.5]
    pairs = jit_grad(lambda x: np.sum(np.lib.stride_tricks.sliding_window_view(x, 2)))
    assert pairs(X) == 9.0


def squares(x, scale=1.0):  # type: ignore[no-untyped-def]
    return scale * np.sum(x * x)


CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any], str, str]] = {
    "a slip in a keyword": ((X,), {"scal": 2.0}, "unexpected keyword argument 'scal'", "did you mean 'scale'?"),
    "a keyword in place of another": ((), {"zzz": X}, "got an unexpected keyword argument 'zzz'", "(x, scale=1.0)"),
    "too many": ((X, 1.0, 2.0), {}, "got too many positional arguments", "(x, scale=1.0)"),
    "too few": ((), {}, "missing a required argument: 'x'", "(x, scale=1.0)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    args, kwargs, message, help = CALLS[name]
    with pytest.raises(AdcError) as caught:
        jit_grad(squares)(*args, **kwargs)
    assert message in caught.value.message
    assert help in caught.value.help


def test_an_object_array_is_converted() -> None:
    values = np.array([1.0, 2.0], dtype=object)
    with pytest.raises(AdcError) as caught:
        jit_grad(squares)(values)
    assert "x.astype(np.float64)" in caught.value.help
    assert jit_grad(squares)(values.astype(np.float64)) == 5.0


@pytest.mark.parametrize(
    ("name", "text"),
    [("jit", "adc.jit_grad"), ("jacfwd", "adc.jacobian"), ("jacobean", "adc.jacobian"), ("custom_vjp", "adc.rrule")],
)
def test_names_of_other_tools(name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=text):
        getattr(adc, name)


def test_names_that_are_like_nothing() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'qqqqqqq'$"):
        adc.qqqqqqq  # noqa: B018
    assert not hasattr(adc, "__path_of_nothing__")


def test_the_place_of_an_error_is_shown_once() -> None:
    with pytest.raises(AdcError) as caught:
        jit_grad(last_above)(X, 1.5)
    assert "assigned here" not in str(caught.value)
    assert str(caught.value).count("found = {\"value\": x[i]}") == 1
