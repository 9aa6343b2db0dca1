"""Diagnostics: rendering, Python's own display, run-time errors."""

from __future__ import annotations

import linecache
import pickle
import re
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adc
from adc.errors import (
    AdcError,
    ArgumentError,
    ArgumentValueError,
    BoundsError,
    CompileAttributeError,
    CompileIndexError,
    CompileNameError,
    CompileRecursionError,
    CompileSyntaxError,
    CompileTypeError,
    CompileUnboundError,
    CompileValueError,
    ComputedValueError,
    DifferentiationError,
    DivisionError,
    FileError,
    InternalError,
    Note,
    OutOfMemoryError,
    RangeError,
    ShapeError,
    ToolError,
    UnsetError,
)
from adc.ir import kinds
from adc.ir.core import Loc
from adc.ir.diagnostics import format_message, render, runtime_error
from adc.ir.excerpts import WIDTH, excerpt

SOURCE = """\
def f(path, n):
    with open(path) as file:
\t\tx = 漢字 + naïve
    return (n +
            n * 2
            - 1)
"""
FILE = "<diagnostics test>"


@pytest.fixture(autouse=True)
def source() -> None:
    linecache.cache[FILE] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), FILE)


def test_one_line() -> None:
    text = render("error", "cannot compile a 'with' statement", Loc(FILE, 2, 4, 2, 28), help="open it outside")
    assert text == f"""\
error: cannot compile a 'with' statement
  --> {FILE}:2:5
   |
 2 |     with open(path) as file:
   |     ^^^^^^^^^^^^^^^^^^^^^^^^
   = help: open it outside"""


def test_wide_characters_and_tabs_align() -> None:
    rows = render("error", "m", Loc(FILE, 3, 6, 3, 8)).splitlines()
    assert rows[-2:] == [" 3 |         x = 漢字 + naïve", "   |             ^^^^"]


def test_several_lines() -> None:
    rows = render("error", "m", Loc(FILE, 4, 11, 6, 16)).splitlines()
    assert rows[2:] == [
        "   |",
        " 4 |     return (n +",
        "   |            ^^^^",
        " 5 |             n * 2",
        "   |             ^^^^^",
        " 6 |             - 1)",
        "   |             ^^^^",
    ]
    long = render("error", "m", Loc(FILE, 1, 0, 6, 16)).splitlines()
    assert [row[:2].strip() for row in long if not row.startswith("   |")][2:] == ["1", "2", "3", "..", "6"]
    assert sum("^" in row for row in long) == 4


def test_notes() -> None:
    text = render("error", "m", Loc(FILE, 2, 4, 2, 8), notes=["plain", Note("defined here", Loc(FILE, 1, 4, 1, 5))])
    assert text.splitlines()[5:] == [
        "   = note: plain",
        "note: defined here",
        f"  --> {FILE}:1:5",
        "   |",
        " 1 | def f(path, n):",
        "   |     ^",
    ]


def test_without_source() -> None:
    assert render("error", "m", Loc("<nowhere>", 3, 1, 3, 2)).splitlines() == ["error: m", "  --> <nowhere>:3:2"]
    assert render("warning", "m") == "warning: m"
    assert "two | lines" in render("error", "m", Loc("x", 1, 0, 1, 3), source="two | lines")


def test_long_line_numbers_widen_the_gutter() -> None:
    source = "\n" * 1233 + "x = 1\n"
    assert render("error", "m", Loc("x", 1234, 0, 1234, 1), source=source).splitlines()[1:] == [
        "    --> x:1234:1",
        "     |",
        "1234 | x = 1",
        "     | ^",
    ]


def test_long_lines_are_cut_around_the_range() -> None:
    source = "x = " + "a + " * 100 + "here" + " + b" * 100
    rows = render("error", "m", Loc("x", 1, 404, 1, 408), source=source).splitlines()
    shown, carets = rows[-2][5:], rows[-1][5:]
    assert len(shown) <= WIDTH and shown.startswith("...") and shown.endswith("...")
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "here"
    whole = render("error", "m", Loc("x", 1, 0, 1, len(source)), source=source).splitlines()
    assert len(whole[-1]) <= WIDTH + 5 and whole[-1].endswith("^" * 50)


@given(st.text("ab\t漢\u0301 \x07", min_size=1, max_size=400), st.data())
def test_any_line_fits_and_is_marked(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    rows = excerpt(Loc("x", 1, start, 1, end), source=text)
    if text.strip():
        assert len(rows) == 3 and "^" in rows[2]
        assert all(len(row) <= WIDTH + 6 or "\u0301" in row for row in rows)
        assert not set("\t\x07") & set("".join(rows))


def test_syntax_errors_show_as_pythons_do() -> None:
    error = CompileSyntaxError("no 'with' here", Loc(FILE, 2, 4, 2, 8), help="do without", notes=["a note"], kind="k")
    assert isinstance(error, SyntaxError)
    assert (error.filename, error.lineno, error.offset, error.end_offset) == (FILE, 2, 5, 9)
    assert error.text == "    with open(path) as file:"
    shown = "".join(traceback.format_exception_only(error))
    assert shown.startswith(f'  File "{FILE}", line 2\n    with open(path) as file:\n    ^^^^\n')
    assert f"CompileSyntaxError: no 'with' here [k]\n  --> {FILE}:2:5\n" in shown
    assert shown.endswith("= help: do without\n   = note: a note\n")
    assert error.render().startswith("error[k]: no 'with' here\n")


CLASSES = [cls for cls in vars(adc.errors).values() if isinstance(cls, type) and issubclass(cls, AdcError)]


@pytest.mark.parametrize("cls", CLASSES)
def test_all_have_the_same_attributes(cls: type[AdcError]) -> None:
    error = cls("m", Loc(FILE, 4, 11, 6, 16), help="h", notes=[Note("n", Loc(FILE, 1, 0))], kind="some-kind")
    for e in (error, pickle.loads(pickle.dumps(error))):
        assert (e.kind, e.message, e.help, e.notes) == ("some-kind", "m", "h", (Note("n", Loc(FILE, 1, 0)),))
        assert (e.filename, e.lineno, e.offset, e.end_lineno, e.end_offset) == (FILE, 4, 12, 6, 17)
        assert e.text == "    return (n +"
        assert str(e) == e.render().replace("error[some-kind]: m", "m [some-kind]", 1)
    error.add_note("seen by the caller")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["seen by the caller"]
    plain = cls("m")
    assert (plain.filename, plain.lineno, plain.offset, plain.text) == (None, None, None, None)
    assert cls.__module__ == "adc.errors"


def test_the_table_of_kinds() -> None:
    for name, kind in kinds.KINDS.items():
        assert re.fullmatch("[a-z]+(-[a-z]+)*", name)
        assert kind.error in CLASSES and kind.error is not AdcError and kind.meaning
        error = kind("m", Loc(FILE, 1, 0), help="h")
        assert type(error) is kind.error and error.kind == name and error.help == "h"
    assert len({kind.meaning for kind in kinds.KINDS.values()}) == len(kinds.KINDS)


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (CompileSyntaxError, SyntaxError),
        (CompileTypeError, TypeError),
        (CompileValueError, ValueError),
        (CompileIndexError, IndexError),
        (CompileNameError, NameError),
        (CompileUnboundError, UnboundLocalError),
        (CompileAttributeError, AttributeError),
        (CompileRecursionError, RecursionError),
        (ArgumentError, TypeError),
        (ArgumentValueError, ValueError),
        (RangeError, OverflowError),
        (ToolError, OSError),
        (InternalError, RuntimeError),
        (DifferentiationError, TypeError),
        (ShapeError, ValueError),
        (BoundsError, IndexError),
    ],
)
def test_each_error_is_a_built_in_too(cls: type[AdcError], builtin: type[Exception]) -> None:
    error = cls("message", Loc(FILE, 2, 4), help="way out", notes=["n"])
    assert isinstance(error, builtin)
    assert "message" in str(error)
    assert f"{FILE}:2:5" in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert copy.diagnostic == error.diagnostic
    assert str(copy) == str(error)
    assert str(cls("alone")).startswith("alone")


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        ("ZeroDivisionError", DivisionError),
        ("ValueError", ComputedValueError),
        ("OverflowError", RangeError),
        ("UnboundLocalError", UnsetError),
        ("IndexError", BoundsError),
        ("ShapeError", ShapeError),
        ("MemoryError", OutOfMemoryError),
        ("FileError", FileError),
        ("AssertionError", AssertionError),
    ],
)
def test_runtime_errors(kind: str, cls: type[Exception]) -> None:
    error = runtime_error(kind, "went wrong", Loc(FILE, 2, 4, 2, 8))
    assert type(error) is cls
    if isinstance(error, AdcError):
        assert str(error).startswith(f"went wrong [{error.kind}]\n  --> {FILE}:2:5\n")
        assert error.kind in kinds.KINDS and kinds.KINDS[error.kind].error is cls
    else:
        assert str(error) == f"went wrong ({FILE}:2:5)"
        assert error.__notes__ == ["   |\n 2 |     with open(path) as file:\n   |     ^^^^"]
    assert str(runtime_error(kind, "m")).startswith("m")


def test_unknown_runtime_error() -> None:
    for kind in ("NoSuchError", "int", "print"):
        with pytest.raises(ValueError, match="unknown kind"):
            runtime_error(kind, "m")


def test_format_message() -> None:
    assert format_message("a {} b {}", [1, 2.5]) == "a 1 b 2.5"
    assert format_message("{}", ["{}"]) == "{}"
    assert format_message("plain {x}", []) == "plain {x}"
    assert format_message("{} {}", [1]) == "1 {}"
