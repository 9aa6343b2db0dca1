"""Refusals: errors of the frontend for source that it cannot compile."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adc.ir.core import Loc
from adc.ir.diagnostics import AdcError, Note
from adc.ir.kinds import Kind


def refuse(loc: Loc, message: str, help: str = "", notes: Sequence[str | Note] = (), *, kind: Kind) -> AdcError:
    """The error to raise for the source range ``loc``; ``help`` says what to write instead."""
    message, help = shown(message), shown(help)
    told = [note for note in notes if not (isinstance(note, Note) and note.loc == loc)]  # the place is shown anyway
    return kind(message, loc, help=help, notes=told)


def shown(text: str) -> str:
    """``text`` with variables named as in the source: those of generators are renamed in a loop."""
    return _APART.sub("", text) if "<" in text else text


_APART = re.compile(r"<[^<>]+ \d+>(?=[^\W\d])")
