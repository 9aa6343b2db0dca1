"""Refusals have the right message and place."""

from __future__ import annotations

import inspect
import types

import numpy as np
import pytest

from adc.frontend.abstract import abstract_of
from adc.frontend.entrance import trace
from adc.ir.core import Loc
from adc.ir.diagnostics import CompileError
from tests.frontend import refused

ARGUMENTS = {
    **dict.fromkeys("xyz", 1.5),
    **dict.fromkeys("nmk", 3),
    **dict.fromkeys("uvw", np.ones(4)),
    **dict.fromkeys("ab", np.ones((3, 3))),
    "f32": np.float32(1),
    "i32": np.ones(4, np.int32),
    "flag": True,
    "t": (1.0, 2.0),
}
MARK = "  # error: "


def underlined(loc: Loc, lines: list[str]) -> str:
    assert loc.line == loc.end_line
    return lines[loc.line - 1][loc.column : loc.end_column]


def marked() -> list[types.FunctionType]:
    functions = [f for f in vars(refused).values() if isinstance(f, types.FunctionType)]
    return [f for f in functions if f.__module__ == refused.__name__ and MARK in inspect.getsource(f)]


def refusal(fn: types.FunctionType) -> CompileError:
    args = [abstract_of(ARGUMENTS.get(name, ARGUMENTS["u"])) for name in inspect.signature(fn).parameters]
    with pytest.raises(CompileError) as caught:
        trace(fn, args)
    return caught.value


@pytest.mark.parametrize("fn", marked(), ids=lambda f: f.__name__)
def test_refused(fn):
    lines = inspect.getsource(refused).splitlines()
    source, first = inspect.getsourcelines(fn)
    ((line, text),) = [(first + k, s.split(MARK)[1].rstrip()) for k, s in enumerate(source) if MARK in s]
    error = refusal(fn)
    message, _, range_ = text.partition(" | ")
    assert error.loc.line == line, error.render()
    assert message in error.message or message in error.help, error.render()
    if range_:
        assert underlined(error.loc, lines) == range_, error.render()
    assert str(line) in error.render() and error.help


def test_notes_lead_to_the_call():
    error = refusal(refused.error_in_callee)
    assert error.loc.line == inspect.getsourcelines(refused.inner)[1] + 1
    (note,) = error.notes
    assert note.message == "in the call of inner()"
    assert note.loc.line == inspect.getsourcelines(refused.error_in_callee)[1] + 1


def test_recursion_without_an_end_is_refused():
    error = refusal(refused.recursive)
    assert "recursive() has no end" in error.message


def test_no_source():
    namespace: dict = {}
    exec("def f(x):\n    return x", namespace)
    with pytest.raises(CompileError, match="f cannot be compiled: it was made from text"):
        trace(namespace["f"], [abstract_of(1.0)])
