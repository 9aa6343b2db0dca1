"""A position in a text that is read from its beginning to its end, token by token."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import ClassVar, TypeVar

from adc.ir import kinds
from adc.ir.core import Loc
from adc.ir.diagnostics import AdcError

T = TypeVar("T")

_SKIP = re.compile(r"(?:\s+|//[^\n]*)*")
_HERE = re.compile(r"[\w.%@$]+|.?")


class Cursor:
    """Each read moves past what was read and the white space and comments after it."""

    help: ClassVar[str] = ""  # of its errors

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.position = 0
        self.skip()

    def skip(self) -> None:
        found = _SKIP.match(self.text, self.position)
        assert found is not None
        self.position = found.end()

    def place(self, start: int, end: int) -> Loc:
        """A range of the text, within one line."""
        row = bisect_right(self._line_starts, start) - 1
        first = self._line_starts[row]
        return Loc(self.file, row + 1, start - first, row + 1, end - first)

    def error(self, message: str, start: int | None = None) -> AdcError:
        """The error at ``start`` (default: here), to be raised by the caller."""
        start = self.position if start is None else start
        word = _HERE.match(self.text, start)
        end = start + max(1, len(word.group()) if word else 1)
        return kinds.INVALID_SOURCE(message, self.place(start, end), source=self.text, help=self.help)

    def read(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past ``pattern``; None, without moving, if it is not here."""
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
            self.skip()
        return found

    def need(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = self.read(pattern)
        if found is None:
            raise self.error(f"expected {what}")
        return found

    def at(self, literal: str) -> bool:
        end = self.position + len(literal)
        if not self.text.startswith(literal, self.position):
            return False
        after = self.text[end : end + 1]
        return not (literal[-1].isalnum() and (after.isalnum() or after == "_"))

    def accept(self, literal: str) -> bool:
        if not self.at(literal):
            return False
        self.position += len(literal)
        self.skip()
        return True

    def expect(self, literal: str) -> None:
        if not self.accept(literal):
            raise self.error(f"expected '{literal}'")

    @property
    def done(self) -> bool:
        return self.position == len(self.text)

    def items(self, item: Callable[[], T], close: str) -> list[T]:
        """``item, item, ... close``, perhaps empty; the opening bracket was read."""
        out: list[T] = []
        if self.accept(close):
            return out
        while True:
            out.append(item())
            if self.accept(close):
                return out
            if not self.accept(","):
                raise self.error(f"expected ',' or '{close}'")
