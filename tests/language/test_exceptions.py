"""Exceptions of the program's own classes, and missing keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.errors import CompileError, CompileKeyError
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module


class Bad(ValueError):
    """With the arguments of its base."""


class Coded(Bad):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code

    def __str__(self):
        return f"{self.args[0]} ({self.code})"


class Strict(Exception):
    def __init__(self):
        super().__init__("nothing else")


class Outside(BaseException):
    pass


def text(x):
    if x > 0.5:
        raise Bad(f"no {x}", 1, None)
    return x * x


def code(x):
    for i in range(3):
        if x > i:
            raise Coded("too large", 2 * i)
    return x * x


def bare(x):
    if x > 0.5:
        raise Bad
    return x * x


def wrongly_made(x):
    if x > 0.5:
        raise Strict(x)
    return x * x


def chosen(x):
    error = Bad if x > 0.6 else ZeroDivisionError
    if x > 0.5:
        raise error(f"{x}")
    return x * x


def within(x):
    return text(x) + 1.0


def in_threads(x):
    out = np.zeros(8)
    for i in prange(8):
        if x * i > 5.0:
            raise Bad("one of them", i)
        out[i] = x
    return np.sum(out)


@pytest.mark.parametrize("fn", [text, code, bare, wrongly_made, chosen, within], ids=lambda f: f.__name__)
def test_raised_to_the_caller(fn: Any) -> None:
    x = 0.7
    with pytest.raises(Exception) as expected:
        fn(x)
    runs = [
        jit_grad(fn),
        jit_grad(fn).grad,
        lambda x: jit_grad(fn).pullback(x),
        lambda x: adc.jvp(fn, (x,), (1.0,)),
        adc.grad(adc.grad(fn)),
    ]
    for run in runs:
        with pytest.raises(type(expected.value)) as found:
            run(x)
        assert type(found.value) is type(expected.value)
        assert found.value.args == expected.value.args
        assert vars(found.value).get("code") == vars(expected.value).get("code")
    assert jit_grad(fn)(-0.5) == fn(-0.5)


def test_raised_on_threads() -> None:
    with pytest.raises(Bad) as found:
        jit_grad(in_threads)(1.0)
    assert found.value.args in (("one of them", 6), ("one of them", 7))


def test_two_classes_of_one_name() -> None:
    def made(base: Any) -> Any:
        class Local(base):
            pass

        def f(x):
            if x > 0.0:
                raise Local("here")
            return x

        return Local, f

    for base in (ValueError, KeyError):
        cls, f = made(base)
        with pytest.raises(cls) as found:
            jit_grad(f)(1.0)
        assert type(found.value) is cls


def test_ir_with_them_is_text() -> None:
    module = print_module(parse_module(jit_grad(text).dump_ir("traced", "f64")))
    assert "test_exceptions.Bad" in module


def no_exception(x):
    if x > 0.0:
        raise Outside("no")
    return x


def test_refused_with_a_way_out() -> None:
    with pytest.raises(CompileError) as caught:
        jit_grad(no_exception)(1.0)
    assert caught.value.help


TABLE = {"a": 1.0}


def item(x):
    return {"a": x}["b"]


def global_item(x):
    return x * TABLE["b"]


def popped(x):
    return {"a": x}.pop("b")


def number_for_a_text(x):
    return {1: x}["1"]


@pytest.mark.parametrize("fn", [item, global_item, popped, number_for_a_text], ids=lambda f: f.__name__)
def test_keys_that_are_not_there(fn: Any) -> None:
    with pytest.raises(KeyError):
        fn(1.0)
    with pytest.raises(CompileKeyError, match="the dict has no key '") as caught:
        jit_grad(fn)(1.0)
    assert isinstance(caught.value, KeyError) and not isinstance(caught.value, IndexError)
    assert "it has " in caught.value.help


class Numbered(Exception):
    def __init__(self, message: str, code: int = 0, *, hidden: int = 1) -> None:
        super().__init__(message, code)
        self.code = code


def test_keywords() -> None:
    def program(x: float) -> float:
        try:
            if x > 2:
                raise Numbered(code=7, message="handled")
        except Numbered:
            x = x / 2
        if x > 1:
            raise Numbered(message=f"x is {x}", code=3)
        return x

    made = jit_grad(program)
    assert made(0.5) == 0.5
    with pytest.raises(Numbered, match=r"x is 1.25") as raised:
        made(2.5)
    assert raised.value.code == 3


class Explained(Exception):
    def __init__(self, *what: str, **more: object) -> None:
        self.what, self.more = what, more


def test_any_keywords_and_lists() -> None:
    def program(x: float) -> float:
        if x > 1:
            raise Explained("large", f"{x:.2f}", where="here", solution=["one", ("two's", 3)], number=x, none=None)
        return x

    for fn in (program, jit_grad(program)):
        assert fn(0.5) == 0.5
        with pytest.raises(Explained) as raised:
            fn(2.5)
        assert raised.value.what == ("large", "2.50")
        assert raised.value.more == {
            "where": "here", "solution": ["one", ("two's", 3)], "number": 2.5, "none": None,
        }  # fmt: skip

    def handled(x: float) -> float:
        try:
            return program(x)
        except Explained:
            return 2 * x

    assert jit_grad(handled).value_and_grad(2.5) == (5.0, 2.0)
