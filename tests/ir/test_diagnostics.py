"""Diagnostics: rendering, Python's own display, run-time errors."""

from __future__ import annotations

import linecache
import pickle
import traceback

import pytest

from adc.ir.core import Loc
from adc.ir.diagnostics import (
    AdcError,
    ArgumentError,
    BoundsError,
    CompileError,
    DifferentiationError,
    Note,
    ShapeError,
    format_message,
    render,
    runtime_error,
)

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
    assert rows[-2:] == [" 3 | \t\tx = 漢字 + naïve", "   | \t\t    ^^^^"]


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
    assert long[-1].strip() == "..."
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


def test_compile_error_shows_as_a_syntax_error() -> None:
    error = CompileError("no 'with' here", Loc(FILE, 2, 4, 2, 8), help="do without", notes=["a note"])
    assert isinstance(error, SyntaxError)
    assert (error.filename, error.lineno, error.offset, error.end_offset) == (FILE, 2, 5, 9)
    shown = "".join(traceback.format_exception_only(error))
    assert "    with open(path) as file:\n    ^^^^\n" in shown
    assert "no 'with' here\nhelp: do without\nnote: a note" in shown
    assert error.render().startswith("error: no 'with' here\n")


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (CompileError, SyntaxError),
        (ArgumentError, TypeError),
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
    assert str(cls("alone")) == "alone"


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        ("ZeroDivisionError", ZeroDivisionError),
        ("IndexError", BoundsError),
        ("ShapeError", ShapeError),
        ("MemoryError", MemoryError),
        ("AssertionError", AssertionError),
    ],
)
def test_runtime_errors(kind: str, cls: type[Exception]) -> None:
    error = runtime_error(kind, "went wrong", Loc(FILE, 2, 4, 2, 8))
    assert type(error) is cls
    assert str(error) == f"went wrong ({FILE}:2:5)"
    assert error.__notes__ == ["   |\n 2 |     with open(path) as file:\n   |     ^^^^"]
    assert str(runtime_error(kind, "m")) == "m"


def test_unknown_runtime_error() -> None:
    for kind in ("NoSuchError", "int", "print"):
        with pytest.raises(ValueError, match="unknown kind"):
            runtime_error(kind, "m")


def test_format_message() -> None:
    assert format_message("a {} b {}", [1, 2.5]) == "a 1 b 2.5"
    assert format_message("{}", ["{}"]) == "{}"
    assert format_message("plain {x}", []) == "plain {x}"
    assert format_message("{} {}", [1]) == "1 {}"
