"""Library functions written in Python: found by the function object, placed at the user's call, differentiated."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
import pytest

import adc
from adc.frontend import prelude
from adc.frontend.abstract import abstract_of
from adc.frontend.entrance import trace
from tests.numpy.checking import check, function_of


def test_names_are_of_functions_that_exist() -> None:
    for name, program in prelude.names().items():
        assert isinstance(program, FunctionType)
        assert name.split(".")[0] in ("numpy", "scipy", "math", "statistics", "builtins", "adc"), name


def test_any_spelling_finds_it() -> None:
    a = np.array([3.0, 1.0, 2.0])
    check("np.ptp(a) + spread(a) + numpy.ptp(a=a)", head="import numpy\nfrom numpy import ptp as spread", a=a)


def test_lists_and_keywords() -> None:
    check("np.ptp(a, axis=-1)", a=np.arange(6.0).reshape(2, 3) ** 2)


def test_refusal_stands_at_the_call() -> None:
    with pytest.raises(adc.errors.CompileError) as caught:
        adc.jit_grad(function_of("b = a + 1\nreturn np.ptp(b, nowhere=1)", "a"))(np.ones(3))
    error: Any = caught.value
    assert "numpy.ptp() has no parameter 'nowhere'" in str(error)
    assert error.text.strip() == "return np.ptp(b, nowhere=1)"


def test_error_of_the_run_stands_at_the_call() -> None:
    def f(a: Any) -> Any:
        return np.ptp(a)

    with pytest.raises(ValueError, match="zero-size array") as caught:
        adc.jit_grad(f)(np.ones(0))
    error: Any = caught.value
    assert error.lineno == f.__code__.co_firstlineno + 1
    assert error.filename == __file__


def test_each_call_is_traced_for_its_types() -> None:
    check("np.ptp(a) * np.ptp(b) + np.ptp(c)", a=np.arange(3.0), b=np.arange(4), c=np.ones((2, 2), np.float32))


def test_in_loops_and_functions() -> None:
    check(
        """
        total = 0.0
        for row in a:
            total += np.ptp(row) * row[0]
        return total
        """,
        a=np.random.default_rng(0).random((3, 4)),
    )


def test_nothing_of_it_is_looked_at_again() -> None:
    f = function_of("np.ptp(a)", "a")
    looks = trace(f, [abstract_of(np.ones(3))]).looks
    assert "numpy.ptp" in [look.name for look in looks]
    assert "numpy.max" not in [look.name for look in looks]
