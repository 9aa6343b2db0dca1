"""The ways out that refusals suggest: none misleads, and formulas among them give the requested result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError
from adc.frontend.suggestions import FUNCTIONS, for_function, full_name, nearest

X = np.array([[0.5, 1.0, -1.5], [2.0, 0.0, 3.0]])
# What the advice says, and what was asked for.
FORMULAS: dict[str, tuple[Any, Any]] = {
    "math.dist": (lambda x: np.sqrt(np.sum((x[0] - x[1]) ** 2)), math.dist(*X)),
    "math.sumprod": (lambda x: np.dot(x[0], x[1]), sum(p * q for p, q in zip(*X, strict=True))),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str) -> None:
    formula, expected = FORMULAS[name]
    assert FUNCTIONS[name].startswith("use ")
    np.testing.assert_allclose(jit_grad(formula)(X), expected, rtol=1e-14)


@pytest.mark.parametrize("module", [math, np], ids=lambda m: m.__name__)
def test_functions_that_exist_are_no_slips(module: Any) -> None:
    """The nearest supported one has the same name, if one is named."""
    for name in dir(module):
        function = getattr(module, name)
        if name.startswith("_") or not callable(function):
            continue
        help = for_function(function, full_name(function))
        if "the nearest that is supported is " in help:
            assert help.rpartition(".")[2] == function.__name__, help


def test_short_names_are_near_to_short_names() -> None:
    assert nearest("foo", ["floor", "format"]) is None
    assert nearest("sni", ["sin", "cos"]) == "sin"
    assert nearest("sine", ["sin", "cos"]) == "sin"


def refusal(fn: Any, *args: Any) -> AdcError:
    with pytest.raises(AdcError) as caught:
        jit_grad(fn)(*args)
    return caught.value


def test_numbers_of_arguments() -> None:
    assert jit_grad(lambda n, x: pow(n, 2, 3) * x)(5, 2.0) == pow(5, 2, 3) * 2.0
    assert jit_grad(lambda x: pow(3, -1, 7) * x)(2.0) == pow(3, -1, 7) * 2.0


def test_items_are_popped() -> None:
    def f(x):
        d = [x, 1.0, x]
        del d[1:]
        return d[0]

    assert "xs.pop(k)" in refusal(f, 1.0).help


@pytest.mark.parametrize(
    ("dtype", "help"),
    [
        (np.longdouble, "x.astype(np.float64)"),
        (">f8", "x.astype(np.float64)"),
        (np.clongdouble, "x.astype(np.complex128)"),
        (str, "arrays of numbers"),
    ],
)
def test_arrays_of_other_dtypes(dtype: Any, help: str) -> None:
    array = np.array([1, 0]).astype(dtype)
    assert help in refusal(lambda x: x[0], array).help
    assert help in refusal(lambda x: array[0] * x, 1.0).help


def test_numbers_of_other_dtypes() -> None:
    assert "np.float64(x)" in refusal(lambda x: x, np.longdouble(1.0)).help


def test_types_are_numpys() -> None:
    with pytest.raises(AdcError, match="'a' is a 1-D int64 array and has no gradient"):
        adc.grad(lambda a: np.sum(a))(np.arange(3))


def below_its_use(n):
    m = 99999999999999999999  # here
    k = n + 1
    return k + m


def in_several_lines(n):
    return (
        n + 1 + 99999999999999999999  # here
    )


def in_a_branch(n):
    m = n
    if n > 0:
        m = 99999999999999999999  # here
    return m


def passed_on(n):
    return added(
        n,
        99999999999999999999,  # here
    )


def added(n, m):
    return n + m


@pytest.mark.parametrize("fn", [below_its_use, in_several_lines, in_a_branch, passed_on], ids=lambda f: f.__name__)
def test_large_literals_are_shown_where_they_are(fn: Any) -> None:
    with pytest.raises(OverflowError, match="99999999999999999999") as caught:
        jit_grad(fn)(1)
    with open(__file__) as source:
        line = source.read().splitlines()[caught.value.loc.line - 1]  # type: ignore[attr-defined]
    assert line.endswith("# here")


