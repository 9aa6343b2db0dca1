"""Requests for gradients that do not exist: an error that names the request and a way out, or zero where documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, ArgumentError, DifferentiationError, ShapeError
from adc.ir.kinds import KINDS


@jit_grad
def power(x, n=2):
    return x**n


@jit_grad
def total(u):
    return np.sum(u)


@jit_grad
def double(u):
    return 2.0 * u


@jit_grad
def nothing(u):
    u *= 2.0


@jit_grad
def count(u):
    return len(u)


@jit_grad
def both(x):
    return x, x * x


@jit_grad
def scaled(u, name, flag):
    return np.sum(u) if flag else 0.0 * np.sum(u)


def pull(f: Any, *args: Any) -> Any:
    return adc.pullback(f, *args)[1]


def changed() -> Any:
    @jit_grad
    def energy(u):
        return np.sum(u * u)

    u = np.ones(3)
    back = pull(energy, u)
    u[1] = 7.0
    return back(1.0)


CASES: dict[str, tuple[Callable[[], Any], str, type[Exception], str]] = {
    "an int": (lambda: power.grad(3), "no-gradient", TypeError, "argument 'x' is an int"),
    "a bool": (lambda: power.grad(True), "no-gradient", TypeError, "argument 'x' is a bool"),
    "a string": (lambda: adc.grad(scaled, 1)(np.ones(2), "a", True), "no-gradient", TypeError, "'name' is a str"),
    "a bool by name": (
        lambda: adc.grad(scaled, argnames="flag")(np.ones(2), "a", True),
        "no-gradient",
        TypeError,
        "'flag' is a bool",
    ),
    "a default": (lambda: adc.grad(power, 1)(3.0), "no-gradient", TypeError, "argument 'n' is an int"),
    "an array of ints": (lambda: total.grad(np.arange(3)), "no-gradient", TypeError, "a 1-D int64 array"),
    "an array result": (lambda: double.grad(np.ones(2)), "not-scalar", TypeError, "returns an array"),
    "no result": (lambda: nothing.grad(np.ones(2)), "not-scalar", TypeError, "returns None"),
    "an int result": (lambda: count.grad(np.ones(2)), "not-scalar", TypeError, "returns an int"),
    "a tuple result": (lambda: both.grad(2.0), "not-scalar", TypeError, "returns a tuple"),
    "value and gradient of an array": (lambda: double.value_and_grad(np.ones(2)), "not-scalar", TypeError, "an array"),
    "argnums too large": (lambda: adc.grad(power, 2)(3.0), "wrong-argnums", TypeError, "no argument number 2"),
    "argnums too small": (lambda: adc.grad(power, -3)(3.0), "wrong-argnums", TypeError, "no argument number -3"),
    "argnums twice": (lambda: adc.grad(power, (0, 0)), "wrong-argnums", TypeError, "once"),
    "argnums twice from both ends": (lambda: adc.grad(power, (0, -2))(3.0), "wrong-argnums", TypeError, "twice"),
    "argnums of a string": (lambda: adc.grad(power, "x"), "wrong-argnums", TypeError, "argnums must be"),  # type: ignore[arg-type]
    "argnames twice": (lambda: adc.grad(power, argnames=("x", "x")), "wrong-argnums", TypeError, "once"),
    "argnames of an int": (lambda: adc.grad(power, argnames=3), "wrong-argnums", TypeError, "argnames must be"),  # type: ignore[arg-type]
    "an unknown argname": (lambda: adc.grad(power, argnames="m")(3.0), "wrong-argnums", TypeError, "variable 'm'"),
    "a cotangent of another shape": (
        lambda: pull(double, np.ones(2))(np.ones(3)),
        "cotangent-shape",
        ValueError,
        r"\(2,\) has shape \(3,\)",
    ),
    "a cotangent of another rank": (
        lambda: pull(double, np.ones(2))(1.0),
        "cotangent-shape",
        ValueError,
        r"shape \(\)",
    ),
    "an array for a float": (lambda: pull(power, 2.0)(np.ones(1)), "cotangent-shape", ValueError, r"shape \(1,\)"),
    "a complex cotangent": (lambda: pull(power, 2.0)(1j), "wrong-cotangent", TypeError, "is a float, not 1j"),
    "complex cotangents": (
        lambda: pull(double, np.ones(2))(np.ones(2) * 1j),
        "wrong-cotangent",
        TypeError,
        "not of complex128",
    ),
    "a cotangent of text": (lambda: pull(power, 2.0)("1.5"), "wrong-cotangent", TypeError, "is a float, not '1.5'"),
    "cotangents of strings": (
        lambda: pull(double, np.ones(2))(["a", "b"]),
        "wrong-cotangent",
        TypeError,
        "real numbers",
    ),
    "ragged cotangents": (
        lambda: pull(double, np.ones(2))([[1.0], [1.0, 2.0]]),
        "wrong-cotangent",
        TypeError,
        "object",
    ),
    "too few cotangents": (lambda: pull(both, 2.0)((1.0,)), "wrong-cotangent", TypeError, "tuple of 2"),
    "too many cotangents": (lambda: pull(both, 2.0)((1.0, 2.0, 3.0)), "wrong-cotangent", TypeError, "tuple of 2"),
    "one cotangent for two": (lambda: pull(both, 2.0)(1.0), "wrong-cotangent", TypeError, "tuple of 2"),
    "a final state of nothing": (
        lambda: pull(nothing, np.ones(2))(final={"v": np.ones(2)}),
        "wrong-cotangent",
        TypeError,
        "'v'",
    ),
    "a final state of another shape": (
        lambda: pull(nothing, np.ones(2))(final={"u": np.ones(3)}),
        "cotangent-shape",
        ValueError,
        r"\(3,\)",
    ),
    "an array changed in between": (changed, "changed-array", TypeError, "u was changed after the forward sweep"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str) -> None:
    ask, kind, builtin, message = CASES[name]
    with pytest.raises(builtin) as caught:
        ask()
    error = caught.value
    # Not in the whole text, which shows the line above where the pattern stands, too.
    assert re.search(message, str(error).splitlines()[0])
    assert isinstance(error, AdcError) and error.kind == kind and type(error) is KINDS[kind].error
    assert isinstance(error, ArgumentError | DifferentiationError | ShapeError)
    if kind in ("no-gradient", "not-scalar", "cotangent-shape", "changed-array"):
        assert error.help, "the way out is missing"


def test_what_does_not_depend_on_the_argument_has_gradient_zero() -> None:
    @jit_grad(argnums=(0, 1))
    def f(x, u):
        return 3.0

    dx, du = f.grad(2.0, np.ones(3))
    assert dx == 0.0 and np.array_equal(du, np.zeros(3))

    @jit_grad
    def through_an_int(x):
        return 2.0 * int(x)

    assert through_an_int.value_and_grad(2.5) == (4.0, 0.0)

    @jit_grad
    def by_another(x, y):
        return y * y

    assert by_another.grad(2.0, 3.0) == 0.0
    assert pull(by_another, 2.0, 3.0)(1.0) == (0.0, 6.0)


def test_pullbacks_give_none_for_what_is_not_made_of_floats() -> None:
    du, name, flag = pull(scaled, np.ones(2), "a", True)(1.0)
    assert np.array_equal(du, np.ones(2)) and name is None and flag is None


def test_integer_cotangents_are_floats() -> None:
    (du,) = pull(double, np.ones(2))(np.array([1, 2]))
    assert np.array_equal(du, [2.0, 4.0]) and du.dtype == float
    assert pull(power, 3.0)(2)[0] == 12.0


def test_after_an_error_the_pullback_still_works() -> None:
    back = pull(double, np.ones(2))
    with pytest.raises(ShapeError):
        back(np.ones(3))
    assert np.array_equal(back(np.ones(2))[0], [2.0, 2.0])


def test_a_forecast_of_a_function_that_returns_arrays_says_of_what_to_forecast() -> None:
    for derivative in (double.grad, double.value_and_grad):
        with pytest.raises(DifferentiationError, match="double returns an array") as raised:
            derivative.forecast(np.ones(3))
        assert raised.value.kind == "not-scalar"
        assert "forecast the gradient of a function that returns np.sum(w * result)" in raised.value.help
    weighed = jit_grad(lambda u, w: np.sum(w * double(u)))
    assert weighed.grad.forecast(np.ones(3), np.ones(3)).peak is not None
