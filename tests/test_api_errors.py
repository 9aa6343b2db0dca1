"""Users' mistakes: each raises an error of adc's own that names the argument, and shows no internals of adc."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import (
    AdcError,
    ArgumentError,
    ArgumentValueError,
    BoundsError,
    CompileError,
    DifferentiationError,
    ShapeError,
)
from adc.ir.kinds import KINDS


@jit_grad
def square(x, n=2):
    return x * x


@jit_grad
def pair(p):
    return p[0] * p[1]


@jit_grad
def fill(v, value):
    v[:] = value


@jit_grad
def total(v):
    return np.sum(v)


@jit_grad
def doubled(v):
    return v * 2.0


@jit_grad
def at(v, i):
    return v[i]


@jit_grad
def ratio(a, b):
    return a // b


@jit_grad
def add(a, b):
    a += b
    return np.sum(a)


@jit_grad
def whole(x):
    return int(x)


@jit_grad
def twice(x):
    return x, x


GLOBAL = np.ones(3)


@jit_grad
def uses_global(v):
    v += GLOBAL
    return np.sum(v)


def misaligned() -> Any:
    return np.zeros(25, np.uint8)[1:].view(np.float64)


def read_only() -> Any:
    v = np.zeros(2)
    v.setflags(write=False)
    return v


CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "gradient of an int": (lambda: square.grad(3), DifferentiationError, "argument 'x' is an int"),
    "gradient of a bool": (lambda: square.grad(True), DifferentiationError, "argument 'x' is a bool"),
    "gradient of an int by number": (lambda: adc.grad(square, 1)(3.0, 4), DifferentiationError, "'n' is an int"),
    "gradient of an int by name": (lambda: adc.grad(square, argnames="n")(3.0), DifferentiationError, "'n' is an int"),
    "gradient of an int array": (lambda: total.grad(np.arange(3)), DifferentiationError, "a 1-D int64 array"),
    "gradient of None": (lambda: square.grad(None), AdcError, ""),
    "gradient of a tuple of ints": (lambda: pair.grad((1, 2)), DifferentiationError, "a tuple without floats"),
    "gradient of an array result": (lambda: doubled.grad(np.ones(2)), DifferentiationError, "returns an array"),
    "gradient of no result": (lambda: fill.grad(np.ones(2), 1.0), DifferentiationError, "returns None"),
    "gradient of an int result": (lambda: whole.grad(2.5), DifferentiationError, "an integer"),
    "gradient of a tuple": (lambda: twice.grad(2.5), DifferentiationError, "returns a tuple"),
    "no such argument": (lambda: adc.grad(square, 5)(3.0), ArgumentError, "no argument number 5"),
    "no such name": (lambda: adc.grad(square, argnames="z")(3.0), ArgumentError, "variable 'z'"),
    "argnums of strings": (lambda: adc.grad(square, "x")(3.0), ArgumentError, "argnums must be"),  # type: ignore[arg-type]
    "an argument twice": (lambda: adc.grad(square, (0, 0)), ArgumentError, "once"),
    "no threads": (lambda: jit_grad(threads=0), ArgumentValueError, "threads must be an int of at least 1"),
    "threads in words": (lambda: jit_grad(threads="two"), ArgumentValueError, "threads must be an int of at least 1"),
    "contract in words": (lambda: jit_grad(contract="no"), ArgumentValueError, "contract must be True or False"),
    "no bool": (lambda: jit_grad(deterministic=None), ArgumentValueError, "deterministic must be True or False"),
    "not a function": (lambda: jit_grad(np.sin), ArgumentError, "Python functions"),
    "too many arguments": (lambda: square(1.0, 2, 3), ArgumentError, "too many positional arguments"),
    "too few arguments": (lambda: square(), ArgumentError, "missing a required argument: 'x'"),
    "unknown keyword": (lambda: square(1.0, m=2), ArgumentError, "unexpected keyword argument 'm'"),
    "long array": (lambda: total(np.zeros(2, "g")), ArgumentError, "argument v: an array of dtype"),
    "byte-swapped array": (lambda: total(np.zeros(2, ">f8")), ArgumentError, "argument v: an array of dtype >f8"),
    "object array": (lambda: total(np.zeros(2, object)), ArgumentError, "argument v: an array of dtype object"),
    "set": (lambda: total({1.0, 2.0}), ArgumentError, "argument v: a set is not supported"),
    "set in a list": (lambda: pair([1.0, {2.0}]), ArgumentError, r"argument p\[1\]: a set is not supported"),
    "set in a dict": (lambda: total({"a": {1.0}}), ArgumentError, r"argument v\['a'\]: a set is not supported"),
    "matrix": (lambda: total(np.matrix([[1.0]])), ArgumentError, "argument v: a matrix"),
    "masked array": (lambda: total(np.ma.zeros(2)), ArgumentError, "argument v: a MaskedArray"),
    "misaligned arrays that are one": (
        lambda: add(*[misaligned()] * 2),
        ArgumentError,
        "argument a: the array is not aligned in memory, and shares it with b",
    ),
    "writeable repeats": (
        lambda: total(np.lib.stride_tricks.as_strided(np.zeros(2), (3,), (0,))),
        ArgumentError,
        "argument v: elements of the array share memory",
    ),
    "read-only array written": (lambda: fill(read_only(), 1.0), AdcError, ""),
    "string where a number is used": (lambda: square("text"), CompileError, ""),
    "global written through an argument": (lambda: uses_global(GLOBAL), ArgumentError, "v shares memory with GLOBAL"),
    "index out of range": (lambda: at(np.zeros(3), 3), BoundsError, "index 3 is out of bounds"),
    "negative index out of range": (lambda: at(np.zeros(3), -4), IndexError, "index -4 is out of bounds"),
    "division by zero": (lambda: ratio(3, 0), ZeroDivisionError, ""),
    "shapes that do not fit": (lambda: add(np.zeros(3), np.zeros(4)), ShapeError, "shapes"),
    "index out of range in the gradient": (lambda: at.grad(np.zeros(3), 3), IndexError, "index 3"),
    "int too large": (lambda: square(2**70), OverflowError, ""),
    "unknown stage": (lambda: square.dump_ir("nonsense", "f64, i64"), ArgumentValueError, "no stage 'nonsense'"),
    "signature of wrong length": (lambda: square.dump_ir("traced", "f64"), ArgumentError, "takes 2 arguments"),
    "unknown types": (lambda: jit_grad(lambda x: x).dump_ir(), ArgumentError, "types of <lambda> are not known"),
    "final state of a float": (
        lambda: adc.pullback(square, 2.0)[1](1.0, final={"x": 1.0}),
        ArgumentError,
        "x is no array",
    ),
    "final state of nothing": (lambda: adc.pullback(square, 2.0)[1](1.0, final={"q": 1.0}), ArgumentError, "'q'"),
    "cotangent of wrong shape": (
        lambda: adc.pullback(doubled, np.ones(2))[1](np.ones(3)),
        ShapeError,
        r"shape \(2,\) has shape \(3,\)",
    ),
    "cotangent that is no number": (lambda: adc.pullback(square, 2.0)[1]("a"), ArgumentError, "cotangent of a float"),
    "cotangents that are too few": (
        lambda: adc.pullback(twice, 2.0)[1]((1.0,)),
        ArgumentError,
        "must be a tuple of 2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_errors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADC_FULL_TRACEBACK", raising=False)
    run, kind, message = CASES[name]
    with pytest.raises(kind) as raised:
        run()
    error = raised.value
    # Not in the whole text, which may show the line above where the pattern stands, too.
    assert re.search(message, str(error).splitlines()[0])
    assert error.__cause__ is None and error.__suppress_context__
    frames = traceback.extract_tb(error.__traceback__)
    layers = {"adc", "frontend", "passes", "backend", "ir", "calls", "libraries"}
    inside = [f.name for f in frames if Path(f.filename).parent.name in layers]
    assert inside in ([], ["adc_call"])
    if isinstance(error, AdcError):
        assert error.kind in KINDS and type(error) is KINDS[error.kind].error
        assert error.loc.file == __file__, "an error is about a line of the user's"


def test_nothing_is_left_behind_by_an_error() -> None:
    v = np.zeros(3)
    for _ in range(3):
        with pytest.raises(IndexError):
            at(v, 3)
        assert at(v, 2) == 0.0
        with pytest.raises(DifferentiationError):
            square.grad(3)
        assert square.grad(3.0) == 6.0


def test_compile_error_points_at_the_line() -> None:
    @jit_grad
    def f(x):
        y = x + 1.0
        with open("file"):  # here
            y += 1.0
        return y

    with pytest.raises(SyntaxError) as raised:
        f(1.0)
    assert raised.value.filename == __file__
    assert raised.value.text is not None and "# here" in raised.value.text
