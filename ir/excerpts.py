"""Source lines with a range underlined, as in diagnostics.

A tab is shown as four columns, a wide character (CJK, emoji) takes two; a line that is too long is cut to the part
around the range.
"""

from __future__ import annotations

import linecache
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from adc.ir.core import Loc

SHOWN_LINES = 4  # of a range over several lines: the first three and the last
WIDTH = 116  # columns of a line of source
TAB = "    "
CUT = "..."
_ADC = Path(__file__).parents[1]


def source_line(file: str, line: int, source: str | None = None) -> str:
    """Line ``line`` (from 1) of ``file`` or of ``source``, without its line end; empty if it is not available."""
    if source is None:
        return linecache.getline(file, line).rstrip("\r\n")
    lines = source.splitlines()
    return lines[line - 1] if 1 <= line <= len(lines) else ""


def gutter(locs: Iterable[Loc]) -> int:
    """The width that line numbers need."""
    return max((2, *(len(str(max(loc.line, loc.end_line))) for loc in locs)))


def excerpt(loc: Loc, source: str | None = None, width: int | None = None) -> list[str]:
    """The source lines of ``loc`` with a gutter, the range underlined; empty if the source is not available."""
    end_line = max(loc.line, loc.end_line)
    first = source_line(loc.file, loc.line, source) if loc.line > 0 else ""
    if not first.strip():
        return []
    if width is None:
        width = gutter([loc])
    rows = [f"{'':{width}} |"]
    numbers = list(range(loc.line, end_line + 1))
    if len(numbers) > SHOWN_LINES:
        numbers = [*numbers[: SHOWN_LINES - 1], 0, numbers[-1]]
    for number in numbers:
        if number == 0:
            rows.append(f"{CUT:>{width}}")
            continue
        text = source_line(loc.file, number, source)
        start = loc.column if number == loc.line else len(text) - len(text.lstrip())
        end = loc.end_column if number == loc.end_line else len(text)
        if loc.end_line <= 0:
            end = start + 1
        start = min(start, len(text))
        if number != loc.line and not text.strip():
            rows.append(f"{number:>{width}} |")
            continue
        shown, carets = _underlined(text.rstrip(), start, end)
        rows += [f"{number:>{width}} | {shown}".rstrip(), f"{'':{width}} | {carets}"]
    return rows


def _underlined(text: str, start: int, end: int) -> tuple[str, str]:
    """The line as it is shown, and the carets below it."""
    before, marked, after = (_shown(part) for part in (text[:start], text[start:end], text[end:]))
    if _columns(before + marked + after) > WIDTH:
        room = WIDTH - 2 * len(CUT)
        if _columns(marked) > room:
            half = (room - len(CUT)) // 2
            marked = _head(marked, half) + CUT + _tail(marked, half)
        rest = WIDTH - _columns(marked)
        left = max(rest // 2, rest - _columns(after))
        if _columns(before) > left:
            before = CUT + _tail(before, left - len(CUT))
        right = rest - _columns(before)
        if _columns(after) > right:
            after = _head(after, right - len(CUT)) + CUT
    return before + marked + after, " " * _columns(before) + "^" * max(1, _columns(marked))


def _shown(text: str) -> str:
    """``text`` as a terminal shows it: tabs as spaces, other control characters as a question mark."""
    return "".join(TAB if c == "\t" else "?" if unicodedata.category(c) == "Cc" else c for c in text)


def _head(text: str, columns: int) -> str:
    """As much of the start of ``text`` as fits into ``columns``."""
    end = used = 0
    while end < len(text) and used + _columns(text[end]) <= columns:
        used += _columns(text[end])
        end += 1
    return text[:end]


def _tail(text: str, columns: int) -> str:
    return _head(text[::-1], columns)[::-1]


def _columns(text: str) -> int:
    """How many columns a terminal takes for ``text``."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def in_library(file: str) -> bool:
    """Whether a file is one of adc's own, whose lines mean nothing to a user."""
    return Path(file).is_relative_to(_ADC)
