"""``warnings.warn`` in compiled code: the same warnings as in Python, in order, from the same lines."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import CompileError


class Odd(UserWarning):
    pass


def several(x, n):
    if x > 1:
        warnings.warn("large", stacklevel=1)
    for k in range(n):
        if k % 2:
            warnings.warn(f"{k} is odd, {x:.2f}", Odd, stacklevel=2)
        x = x * 0.5
    if n > 3:
        warnings.warn(RuntimeWarning("many"), stacklevel=1)
    return x * x


def given(function: Any, *args: Any) -> tuple[Any, list[Any]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [(w.category, str(w.message), w.filename) for w in found]


def test_warnings_are_those_of_python():
    made = adc.jit_grad(several)
    for args in ((1.5, 5), (0.5, 2), (0.5, 1)):
        assert given(made, *args) == given(several, *args)
    (value, gradient), found = given(made.value_and_grad, 1.5, 5)
    wanted, shown = given(several, 1.5, 5)
    assert value == wanted and gradient == 2 * 1.5 / 4**5 and found == shown


def test_warnings_that_are_errors():
    made = adc.jit_grad(several)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Odd)
        with pytest.raises(Odd, match=r"1 is odd, 0\.25"):
            made(0.5, 2)


def test_some_are_shown_once():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            adc.jit_grad(several)(2.0, 1)
    assert len(found) == 1


def test_what_is_refused():
    def quiet(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return several(x, 2)

    def no_warning(x):
        warnings.warn("no", ValueError, stacklevel=1)
        return x

    for program in (quiet, no_warning):
        with pytest.raises(CompileError):
            adc.jit_grad(program)(1.0)


def test_arrays_are_shown():
    def program(u):
        if u[0] > 0:
            warnings.warn("values " + str(u[0]), stacklevel=1)
        return np.sum(u)

    made = adc.jit_grad(program)
    assert given(made, np.ones(3))[1] == given(program, np.ones(3))[1]
