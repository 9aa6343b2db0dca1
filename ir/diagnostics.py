"""Errors that adc raises, and how they are shown: the message, where in the Python source, what to do about it.

Every error of adc's own is an ``AdcError`` and also the built-in that a Python programmer would expect there. What is
wrong has a kind, a short name of the table in ``kinds.py``. ``str(error)`` is the diagnostic in the style of rustc,
and ``render()`` the same with the head that the command line prints:

    error[unsupported-statement]: with is not supported
      --> heat.py:12:5
       |
    12 |     with open(path) as file:
       |     ^^^^^^^^^^^^^^^^^^^^^^^^
       = help: open resources outside the compiled function
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from adc.ir.core import UNKNOWN, Loc
from adc.ir.excerpts import excerpt, gutter, source_line
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Note:
    """A further remark, perhaps on another place."""

    message: str
    loc: Loc = UNKNOWN


@dataclass(frozen=True)
class Diagnostic:
    """What is wrong and where.

    ``kind`` is the name of a kind of ``kinds.py``, empty for remarks that are not refusals; ``label`` is the severity.
    ``source`` is the text of ``loc.file`` if that is not a file that can be read.
    """

    kind: str
    message: str
    loc: Loc = UNKNOWN
    help: str = ""
    notes: tuple[Note, ...] = ()
    source: str | None = None
    label: str = "error"

    def render(self) -> str:
        """The diagnostic in the style of rustc, as plain text without a newline at its end."""
        kind = f"[{self.kind}]" if self.kind else ""
        return "\n".join([f"{self.label}{kind}: {self.message}", *self._details()])

    def text(self) -> str:
        """The same without a label: what follows the name of the exception in a traceback."""
        kind = f" [{self.kind}]" if self.kind else ""
        return "\n".join([f"{self.message}{kind}", *self._details()])

    def _details(self) -> list[str]:
        width = gutter([self.loc, *(note.loc for note in self.notes)])
        margin = " " * width
        lines = _place(self.loc, self.source, width)
        if self.help:
            lines += _remark(margin, "help", self.help)
        for note in self.notes:
            if note.loc == UNKNOWN:
                lines += _remark(margin, "note", note.message)
            else:
                lines += [f"note: {note.message}", *_place(note.loc, self.source, width)]
        return lines


def render(
    label: str,
    message: str,
    loc: Loc = UNKNOWN,
    help: str = "",
    notes: Sequence[str | Note] = (),
    source: str | None = None,
) -> str:
    """The text of a remark without a kind, in the style of rustc."""
    return Diagnostic("", message, loc, help, _notes(notes), source, label).render()


def place(loc: Loc) -> list[str]:
    """Lines that show a place: file and line, and the source."""
    return _place(loc, None, gutter([loc]))


def _place(loc: Loc, source: str | None, width: int) -> list[str]:
    if loc == UNKNOWN:
        return []
    return [f"{'':{width}}--> {loc}", *excerpt(loc, source, width)]


def _remark(margin: str, label: str, text: str) -> list[str]:
    first, *more = text.splitlines() or [""]
    return [f"{margin} = {label}: {first}", *(f"{margin}   {'':{len(label)}}  {line}" for line in more)]


def _notes(notes: Sequence[str | Note]) -> tuple[Note, ...]:
    return tuple(Note(note) if isinstance(note, str) else note for note in notes)


E = TypeVar("E", bound="AdcError")
X = TypeVar("X", bound=BaseException)


class AdcError(Exception):
    """Base of adc's errors.

    ``kind`` is a short stable name for what is wrong, listed in docs/errors.md; ``message`` says it, ``help`` is the
    way out (perhaps empty), ``notes`` lead from the line that fails to the call that the user made. ``filename``,
    ``lineno``, ``offset``, ``end_lineno``, ``end_offset`` and ``text`` are those of Python's SyntaxError: lines and
    columns count from one, ``end_offset`` is exclusive; all are None where the error is not about a line of source.
    """

    default_kind: ClassVar[str] = ""
    filename: str | None
    lineno: int | None
    offset: int | None
    end_lineno: int | None
    end_offset: int | None
    text: str | None
    divides: Loc | None = None  # the ``if`` after whose branches a variable has no common type
    peels: Loc | None = None  # the loop whose first iteration changes the type of a variable
    unrolls: Loc | None = None  # the loop whose items may have to be known one by one
    undecided: tuple[Loc, ...] = ()  # the choices around it, the innermost first: it may not have to be run
    of_unknown_size = False  # whether all that is wrong is that a number of items is not known

    def __init__(
        self,
        message: str,
        loc: Loc = UNKNOWN,
        *,
        help: str = "",
        notes: Sequence[str | Note] = (),
        source: str | None = None,
        kind: str = "",
    ) -> None:
        super().__init__(message)
        self._describe(Diagnostic(kind or self.default_kind, message, loc, help, _notes(notes), source))

    def _describe(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        loc, known = diagnostic.loc, diagnostic.loc != UNKNOWN
        ends = known and loc.end_line > 0
        self.filename = loc.file if known else None
        self.lineno = loc.line if known else None
        self.offset = loc.column + 1 if known else None
        self.end_lineno = loc.end_line if ends else None
        self.end_offset = loc.end_column + 1 if ends else None
        self.text = (source_line(loc.file, loc.line, diagnostic.source) or None) if known else None
        self.msg = diagnostic.text()  # Python shows this of a SyntaxError

    @property
    def kind(self) -> str:
        return self.diagnostic.kind

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

    def _saying(self: E, diagnostic: Diagnostic) -> E:
        error = rebuilt(type(self), diagnostic)
        error.divides, error.peels, error.unrolls = self.divides, self.peels, self.unrolls
        error.undecided, error.of_unknown_size = self.undecided, self.of_unknown_size
        return error

    def noted(self: E, note: Note) -> E:
        """This error with one more note: the next call outwards on the way to the line that failed."""
        d = self.diagnostic
        return self._saying(Diagnostic(d.kind, d.message, d.loc, d.help, (*d.notes, note), d.source, d.label))

    def placed(self: E, loc: Loc) -> E:
        """This error with a place."""
        d = self.diagnostic
        return self._saying(Diagnostic(d.kind, d.message, loc, d.help, d.notes, d.source, d.label))

    def helped(self: E, help: str) -> E:
        """This error with a way out."""
        d = self.diagnostic
        return self._saying(Diagnostic(d.kind, d.message, d.loc, help, d.notes, d.source, d.label))

    def render(self) -> str:
        """The diagnostic as the command line prints it, without colours."""
        return self.diagnostic.render()

    def __str__(self) -> str:
        return self.diagnostic.text()

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"__notes__": self.__notes__} if hasattr(self, "__notes__") else None
        return rebuilt, (type(self), self.diagnostic), state


def rebuilt(cls: type[E], diagnostic: Diagnostic) -> E:
    """An error of class ``cls`` that says what ``diagnostic`` says."""
    error = cls(diagnostic.message)
    error._describe(diagnostic)
    return error


class CompileError(AdcError):
    """Base of the refusals of source code: what adc does not compile."""

    sizes_may_help = False  # whether code for these sizes of the arguments alone has not been tried


class CompileSyntaxError(CompileError, SyntaxError):
    """A statement, an expression or a use of them that adc does not support. Python's traceback shows its line too."""


class CompileTypeError(CompileError, TypeError):
    """Operands, arguments or variables of types that do not go together here."""


class CompileValueError(CompileError, ValueError):
    """A value known when the function is compiled that is not valid there: shapes, axes, steps."""


class CompileIndexError(CompileError, IndexError):
    """A subscript that the object does not take."""


class CompileKeyError(CompileError, KeyError):
    """A key that a dict does not have."""


class CompileNameError(CompileError, NameError):
    """A name that is not defined."""


class CompileUnboundError(CompileError, UnboundLocalError):
    """A local variable that is read where it has no value."""


class CompileAttributeError(CompileError, AttributeError):
    """An attribute or a method that is not there, or not supported."""


class CompileRecursionError(CompileError, RecursionError):
    """Source that is nested too deeply, or calls that go too deep, to be compiled."""


class ArgumentError(AdcError, TypeError):
    """A call with arguments that the function does not take."""


class ArgumentValueError(AdcError, ValueError):
    """An argument or an option of the right type with an invalid value."""


class RangeError(AdcError, OverflowError):
    """A number that does not fit where it goes: into 64 bits, into an int32."""

    default_kind = "number-too-large"


class DifferentiationError(AdcError, TypeError):
    """A derivative that does not exist, or that adc cannot form."""


class ShapeError(AdcError, ValueError):
    """Arrays whose shapes do not fit."""

    default_kind = "shape-mismatch"


class BoundsError(AdcError, IndexError):
    """A subscript outside its array."""

    default_kind = "index-out-of-bounds"


class DivisionError(AdcError, ZeroDivisionError):
    """An integer division by zero."""

    default_kind = "division-by-zero"


class NotFiniteError(AdcError, FloatingPointError):
    """With ``debug="nan"``: a NaN or an infinity that was made of finite numbers."""

    default_kind = "not-finite"


class ComputedValueError(AdcError, ValueError):
    """A computed value that is not valid where it is used: a step of zero, a negative extent."""

    default_kind = "computed-value"


class UnsetError(AdcError, UnboundLocalError):
    """A variable is read that the path which was taken has not set."""

    default_kind = "unset-variable"


class OutOfMemoryError(AdcError, MemoryError):
    """Memory that compiled code asked for and did not get."""

    default_kind = "out-of-memory"


class FileError(AdcError, OSError):
    """A file for snapshots that compiled code could not open or write."""

    default_kind = "no-file"


class RankError(AdcError, RuntimeError):
    """Ranks that do not fit together: one has failed, all wait for one another, or they do different things."""

    default_kind = "rank-failed"


class ToolError(AdcError, OSError):
    """A file that cannot be used, or a program (the linker) that failed."""


class WorkerError(AdcError, RuntimeError):
    """A worker of an executor that ended before its task."""


class InternalError(AdcError, RuntimeError):
    """A defect of adc: it failed where it should have compiled or refused."""


_OWN: dict[str, type[AdcError]] = {
    "BoundsError": BoundsError,
    "ComputedValueError": ComputedValueError,
    "FileError": FileError,
    "FloatingPointError": NotFiniteError,
    "IndexError": BoundsError,
    "MemoryError": OutOfMemoryError,
    "OverflowError": RangeError,
    "RangeError": RangeError,
    "ShapeError": ShapeError,
    "UnboundLocalError": UnsetError,
    "ValueError": ComputedValueError,
    "ZeroDivisionError": DivisionError,
}


def own_class(name: str) -> type[AdcError] | None:
    """The class of adc's own with this name, such as ``ShapeError``; None for the name of one of Python's."""
    cls = _OWN.get(name)
    return cls if cls is not None and cls.__name__ == name else None


def runtime_error(kind: str, message: str, loc: Loc = UNKNOWN) -> Exception:
    """The exception for a failed check of adc's own in compiled code.

    ``kind`` is the name of a built-in exception, or of one of adc's (``own_class``). For a built-in one, the result is
    adc's subclass of it where there is one. Exceptions that the program itself raises do not come here.
    """
    if kind in _OWN:
        return _OWN[kind](message, loc)
    cls = getattr(builtins, kind, None)
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        raise ValueError(f"unknown kind of run-time error: {kind}")
    error = made(cls(message if loc == UNKNOWN else f"{message} ({loc})"))
    if rows := excerpt(loc):
        error.add_note("\n".join(rows))
    return error


_MARK = "_adc_made"


def made(error: X) -> X:
    """``error``, marked as one that adc raises: users do not see adc's frames in its traceback."""
    setattr(error, _MARK, True)
    return error


def is_own(error: BaseException) -> bool:
    """Whether adc made this exception: an ``AdcError``, or what compiled code raised."""
    return isinstance(error, AdcError) or hasattr(error, _MARK)


def format_message(message: str, values: Sequence[object]) -> str:
    """``message`` with its successive ``{}`` replaced by ``values``."""
    pieces = message.split("{}")
    shown = [str(v) for v in values] + ["{}"] * len(pieces)
    return "".join(piece + value for piece, value in zip(pieces, [*shown[: len(pieces) - 1], ""], strict=True))
