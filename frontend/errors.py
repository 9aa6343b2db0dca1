"""Refusals: what the frontend says of source that it cannot compile."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir.core import Loc
from adc.ir.diagnostics import CompileError, Note


def refuse(loc: Loc, message: str, help: str = "", notes: Sequence[str | Note] = ()) -> CompileError:
    """The error to raise for the source range ``loc``; ``help`` says what to write in its place."""
    return CompileError(message, loc, help=help, notes=tuple(notes))


def with_note(error: CompileError, note: Note) -> CompileError:
    """``error`` with one more note: the next call outwards on the way to the line that failed."""
    return CompileError(error.message, error.loc, help=error.help, notes=(*error.notes, note))
