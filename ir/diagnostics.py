"""Errors that adc raises, and how they are shown: the message, where in the Python source, what to do about it.

Every error of adc's own is an ``AdcError`` and also the built-in that a Python programmer would expect there. Its
``render()`` gives the text that the command line prints:

    error: cannot compile a 'with' statement
      --> heat.py:12:5
       |
    12 |     with open(path) as file:
       |     ^^^^^^^^^^^^^^^^^^^^^^^^
       = help: open the file outside the compiled function
"""

from __future__ import annotations

import builtins
import linecache
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adc.ir.core import UNKNOWN, Loc

SHOWN_LINES = 4  # of a range over several lines


@dataclass(frozen=True)
class Note:
    """A further remark, perhaps on another place."""

    message: str
    loc: Loc = UNKNOWN


@dataclass(frozen=True)
class Diagnostic:
    """What is wrong and where. ``source`` is the text of ``loc.file`` if that is not a file one can read."""

    kind: str
    message: str
    loc: Loc = UNKNOWN
    help: str = ""
    notes: tuple[Note, ...] = ()
    source: str | None = None

    def render(self) -> str:
        """The diagnostic in the style of rustc, as plain text without a newline at its end."""
        lines = [f"{self.kind}: {self.message}", *_place(self.loc, self.source)]
        margin = " " * _gutter(self.loc)
        if self.help:
            lines += _remark(margin, "help", self.help)
        for note in self.notes:
            if note.loc == UNKNOWN:
                lines += _remark(margin, "note", note.message)
            else:
                lines += [f"note: {note.message}", *_place(note.loc, self.source)]
        return "\n".join(lines)


def render(
    kind: str,
    message: str,
    loc: Loc = UNKNOWN,
    help: str = "",
    notes: Sequence[str | Note] = (),
    source: str | None = None,
) -> str:
    """The text of a diagnostic, rustc-style."""
    return Diagnostic(kind, message, loc, help, _notes(notes), source).render()


def source_line(file: str, line: int, source: str | None = None) -> str:
    """Line ``line`` (from 1) of ``file`` or of ``source``, without its line end; empty if it cannot be had."""
    if source is None:
        return linecache.getline(file, line).rstrip("\r\n")
    lines = source.splitlines()
    return lines[line - 1] if 1 <= line <= len(lines) else ""


def excerpt(loc: Loc, source: str | None = None) -> list[str]:
    """The source lines of ``loc`` with a gutter, the range underlined; empty if the source cannot be had."""
    end_line = max(loc.line, loc.end_line)
    first = source_line(loc.file, loc.line, source) if loc.line > 0 else ""
    if not first.strip():
        return []
    width = _gutter(loc)
    rows = [f"{'':{width}} |"]
    for number in range(loc.line, min(end_line, loc.line + SHOWN_LINES - 1) + 1):
        text = source_line(loc.file, number, source)
        start = loc.column if number == loc.line else len(text) - len(text.lstrip())
        end = loc.end_column if number == loc.end_line else len(text)
        if loc.end_line <= 0:
            end = start + 1
        start = min(start, len(text))
        rows.append(f"{number:>{width}} | {text}".rstrip())
        if text.strip() or number == loc.line:
            rows.append(f"{'':{width}} | {_blank(text[:start])}{'^' * max(1, _columns(text[start:end]))}")
    if end_line > loc.line + SHOWN_LINES - 1:
        rows.append(f"{'...':>{width}}")
    return rows


def _gutter(loc: Loc) -> int:
    return max(2, len(str(max(loc.line, loc.end_line))))


def _place(loc: Loc, source: str | None) -> list[str]:
    if loc == UNKNOWN:
        return []
    return [f"{'':{_gutter(loc)}}--> {loc}", *excerpt(loc, source)]


def _remark(margin: str, label: str, text: str) -> list[str]:
    first, *more = text.splitlines() or [""]
    return [f"{margin} = {label}: {first}", *(f"{margin}   {'':{len(label)}}  {line}" for line in more)]


def _blank(text: str) -> str:
    """White space as wide as ``text``."""
    return "".join("\t" if c == "\t" else " " * _columns(c) for c in text)


def _columns(text: str) -> int:
    """How many columns a terminal takes for ``text``."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _notes(notes: Sequence[str | Note]) -> tuple[Note, ...]:
    return tuple(Note(note) if isinstance(note, str) else note for note in notes)


class AdcError(Exception):
    """Base of adc's errors: a message, a source range, a way out (``help``) and further notes."""

    def __init__(
        self,
        message: str,
        loc: Loc = UNKNOWN,
        *,
        help: str = "",
        notes: Sequence[str | Note] = (),
        source: str | None = None,
    ) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic("error", message, loc, help, _notes(notes), source)

    @property
    def message(self) -> str:
        return self.diagnostic.message

    @property
    def loc(self) -> Loc:
        return self.diagnostic.loc

    @property
    def help(self) -> str:
        return self.diagnostic.help

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.diagnostic.notes

    def render(self) -> str:
        return self.diagnostic.render()

    def __str__(self) -> str:
        where = "" if self.loc == UNKNOWN else f" ({self.loc})"
        hint = f"\nhelp: {self.help}" if self.help else ""
        return f"{self.message}{where}{hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.diagnostic)


class CompileError(AdcError, SyntaxError):
    """Source that adc does not compile. Python's traceback shows its line and a caret, as for any SyntaxError."""

    def __init__(
        self,
        message: str,
        loc: Loc = UNKNOWN,
        *,
        help: str = "",
        notes: Sequence[str | Note] = (),
        source: str | None = None,
    ) -> None:
        super().__init__(message, loc, help=help, notes=notes, source=source)
        self.msg = message
        if loc != UNKNOWN:
            self.filename, self.lineno, self.offset = loc.file, loc.line, loc.column + 1
            self.text = source_line(loc.file, loc.line, source) or None
            if loc.end_line > 0:
                self.end_lineno, self.end_offset = loc.end_line, loc.end_column + 1
        if help:
            self.add_note(f"help: {help}")
        for note in self.notes:
            self.add_note(f"note: {note.message}" + ("" if note.loc == UNKNOWN else f" ({note.loc})"))


class ArgumentError(AdcError, TypeError):
    """A call with arguments that the function does not take."""


class DifferentiationError(AdcError, TypeError):
    """A derivative that does not exist, or that adc cannot form."""


class ShapeError(AdcError, ValueError):
    """Arrays whose shapes do not fit."""


class BoundsError(AdcError, IndexError):
    """A subscript outside its array."""


def _rebuild(cls: type[AdcError], d: Diagnostic) -> AdcError:
    return cls(d.message, d.loc, help=d.help, notes=d.notes, source=d.source)


_OWN: dict[str, type[AdcError]] = {"IndexError": BoundsError, "BoundsError": BoundsError, "ShapeError": ShapeError}


def runtime_error(kind: str, message: str, loc: Loc = UNKNOWN) -> Exception:
    """The exception for a trap of compiled code: ``kind`` is the name of a built-in exception, or ``ShapeError``.

    The place is in the message; a traceback shows the source line below it.
    """
    error: Exception
    if kind in _OWN:
        error = _OWN[kind](message, loc)
    else:
        cls = getattr(builtins, kind, None)
        if not (isinstance(cls, type) and issubclass(cls, Exception)):
            raise ValueError(f"unknown kind of run-time error: {kind}")
        error = cls(message if loc == UNKNOWN else f"{message} ({loc})")
    if rows := excerpt(loc):
        error.add_note("\n".join(rows))
    return error


def format_message(message: str, values: Sequence[object]) -> str:
    """``message`` with its successive ``{}`` replaced by ``values``."""
    pieces = message.split("{}")
    shown = [str(v) for v in values] + ["{}"] * len(pieces)
    return "".join(piece + value for piece, value in zip(pieces, [*shown[: len(pieces) - 1], ""], strict=True))
