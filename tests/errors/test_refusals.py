"""Refusals have the right kind, class and place, and their notes lead there."""

from __future__ import annotations

import difflib
import inspect
import linecache
import pickle
import traceback
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import AdcError, CompileError
from adc.ir.core import Loc
from adc.ir.kinds import KINDS
from tests.errors import refused
from tests.errors.test_kinds import IR_WORDS

MARK = "  # error: "
LAYERS = ("adc", "frontend", "passes", "backend", "ir")
ROOT = Path(__file__).resolve().parents[2]
LINES = inspect.getsource(refused).splitlines()


def arguments(fn: types.FunctionType) -> list[Any]:
    known = {
        **dict.fromkeys("xyz", 1.5),
        **dict.fromkeys("nm", 3),
        **dict.fromkeys("uv", np.ones(4)),
        "a": np.ones((3, 3)),
        "i32": np.ones(4, np.int32),
        "t": (1.0, 2.0),
    }
    return [known[name] for name in inspect.signature(fn).parameters]


def marks(fn: types.FunctionType) -> list[tuple[int, str]]:
    source, first = inspect.getsourcelines(fn)
    return [(first + k, line.split(MARK)[1].rstrip()) for k, line in enumerate(source) if MARK in line]


OWN = {n: f for n, f in vars(refused).items() if isinstance(f, types.FunctionType) and f.__module__ == refused.__name__}
CASES = {name: f for name, f in OWN.items() if marks(f) and name != "innermost"} | {
    "through_two_calls": refused.through_two_calls
}
EXPECTED = {name: marks(f)[0] for name, f in CASES.items() if name != "through_two_calls"} | {
    "through_two_calls": marks(refused.innermost)[0]
}


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADC_FULL_TRACEBACK", raising=False)


def refusal(fn: types.FunctionType) -> AdcError:
    function = jit_grad(fn)
    with pytest.raises(AdcError) as caught:
        function(*arguments(fn))
    return caught.value


def carets(error: AdcError) -> str:
    """What stands above the carets of the first excerpt."""
    rows = error.render().splitlines()
    at = next(k for k, row in enumerate(rows) if row.strip(" |").strip("^") == "" and "^" in row)
    start, end = rows[at].index("^"), rows[at].rindex("^") + 1
    return wide(rows[at - 1])[start:end].replace("\0", "")


def wide(row: str) -> str:
    """With a filler after each character that takes two columns."""
    return "".join(c + "\0" if "\u4e00" <= c <= "\u9fff" else c for c in row)


def test_there_are_many() -> None:
    assert len(CASES) >= 100


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str) -> None:
    error = refusal(CASES[name])
    line, text = EXPECTED[name]
    kind, _, underlined = text.partition(" | ")
    kind = kind.removesuffix(" |")
    assert error.kind == kind, error.render()
    assert type(error) is KINDS[kind].error and isinstance(error, CompileError)
    assert Path(error.filename or "") == Path(refused.__file__)
    if kind != "cannot-return":
        assert error.lineno == line, error.render()
    assert error.text == linecache.getline(refused.__file__, error.lineno or 0).rstrip("\n")
    if underlined:
        assert error.end_lineno == line and error.offset is not None and error.end_offset is not None
        assert LINES[line - 1][error.offset - 1 : error.end_offset - 1] == underlined, error.render()
        assert carets(error) == underlined.replace("\t", "    "), error.render()
    shown = str(error)
    assert shown.startswith(f"{error.message} [{kind}]\n")
    assert error.help, "no way out"
    assert not IR_WORDS.search(f"{error.message} {error.help}"), error.render()
    assert f"--> {error.filename}:{error.lineno}:{error.offset}\n" in shown
    assert str(pickle.loads(pickle.dumps(error))) == shown


@pytest.mark.parametrize("name", CASES)
def test_nothing_of_adc_is_shown(name: str) -> None:
    error = refusal(CASES[name])
    shown = "".join(traceback.format_exception(error))
    assert error.__cause__ is None and error.__suppress_context__
    files = [Path(frame.filename).resolve() for frame in traceback.extract_tb(error.__traceback__)]
    assert files and not any(file.is_relative_to(ROOT / layer) for file in files for layer in LAYERS)
    assert "\x1b" not in shown


@pytest.mark.parametrize("name", CASES)
def test_the_last_note_is_the_call(name: str) -> None:
    *_, note = refusal(CASES[name]).notes
    assert note.message.startswith("compiled for this call of ")
    assert note.loc.file == __file__
    text = linecache.getline(__file__, note.loc.line)
    assert text[note.loc.column : note.loc.end_column] == "function(*arguments(fn))"


def test_notes_lead_from_the_line_to_the_call() -> None:
    error = refusal(refused.through_two_calls)
    shown = [(note.message, range_(note.loc)) for note in error.notes[:-1]]
    assert shown == [("in the call of innermost()", "innermost(u)"), ("in the call of middle()", "middle(u)")]
    through = refusal(refused.through_a_closure)
    assert [range_(note.loc) for note in through.notes[:-1]] == ["inner(i)"]


def range_(loc: Loc) -> str:
    return LINES[loc.line - 1][loc.column : loc.end_column]


def test_a_race_shows_both_lines() -> None:
    error = refusal(refused.racing)
    assert [(note.message, range_(note.loc)) for note in error.notes[:2]] == [
        ("it is written here in another iteration", "u[0]"),
        ("the parallel loop", "for i in prange(len(u))"),
    ]


def test_several_lines_are_underlined() -> None:
    error = refusal(refused.over_lines)
    assert (error.end_lineno or 0) == (error.lineno or 0) + 1
    first = len('b"1, 2,"  # error: unsupported-expression |')
    assert error.render().partition("note:")[0].count("^") == first + len('b"3"')


def test_a_switch_shows_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_FULL_TRACEBACK", "1")
    error = refusal(refused.with_file)
    files = {Path(frame.filename).name for frame in traceback.extract_tb(error.__traceback__)}
    assert {"execution.py", "tracer.py", "decorator.py"} <= files


SUGGESTIONS = {
    "misspelt_name": "did you mean 'velocity'?",
    "unknown_function_of_module": "did you mean 'sin'?",
    "unknown_function_of_numpy": "did you mean 'sin'?",
    "unknown_method": "did you mean 'sum'?",
    "wrong_keyword": "did you mean 'factor'?",
    "printing": "read outside the compiled function",
    "random_numbers": "draw the numbers outside",
    "random_number": "draw the numbers outside",
    "roots": "Newton's method",
    "reduced": "use a loop",
    "library_keyword": "go through the rows",
}


@pytest.mark.parametrize("name", SUGGESTIONS)
def test_the_way_out(name: str) -> None:
    assert SUGGESTIONS[name] in refusal(CASES[name]).help


def test_a_function_of_a_package_that_cannot_be_compiled_is_told_to_be_that() -> None:
    """The error is in lines that the user has not written, perhaps in a call of the package's own further inside."""

    def spread(x: float) -> float:
        return 3.0 * x - len(difflib.get_close_matches("ab", ["abc", "b"]))

    with pytest.raises(AdcError) as caught:
        adc.grad(spread)(2.0)
    told = [note.message for note in caught.value.notes if note.message.startswith("in the call of")]
    wanted = "in the call of get_close_matches() of difflib: adc does not know that function, and compiles its Python"
    assert told == [f"{wanted} source"]


def test_contexts_that_do_something() -> None:
    def strict(x: float) -> float:
        with np.errstate(divide="raise"):
            return 1.0 / x

    def opened(x: float) -> float:
        with open("f"), np.errstate(divide="ignore"):
            return 1.0 / x

    for function, help in ((strict, "test for it: if not np.all("), (opened, "open resources outside")):
        with pytest.raises(CompileError) as caught:
            adc.grad(function)(2.0)
        assert help in str(caught.value)
