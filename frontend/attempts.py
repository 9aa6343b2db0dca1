"""How a program is traced once more after it was refused: with more that is known, or its branches kept apart.

First nothing is known of sizes, so that the code is for all of them. If that is refused, functions are told the ints
and extents that their callers know: they may decide between paths of which one does not apply, or on which values have
other numbers of dimensions. If a variable has no common type after an ``if``, what comes after that is traced in each
of its branches. Last, the code is for arrays of the sizes that the arguments have, which whoever calls it must check.
"""

from __future__ import annotations

from dataclasses import field

from adc.ir.core import Loc
from adc.ir.diagnostics import CompileError
from adc.ir.lazy_dataclass import dataclass

_MOST_DIVIDED = 6  # each may double the code


@dataclass(eq=False)
class Attempt:
    """``counts``: functions of the program are told the ints and extents that their callers know. ``sized``: the code
    is for arrays of the extents that arguments and captured arrays have. ``divided``: the ``if`` statements in each of
    whose branches all that comes after them in the block is traced. ``captures_arrays``: arrays from outside were met.
    ``refused``: the refusal to show.
    """

    counts: bool = False
    sized: bool = False
    divided: set[Loc] = field(default_factory=set)
    captures_arrays: bool = False
    refused: CompileError | None = None

    def again(self, error: CompileError, calls: bool, given_arrays: bool) -> bool:
        """Whether to try once more after this refusal, with another attempt, which this becomes. ``calls``: functions
        are called; ``given_arrays``: arguments are arrays, whose sizes only the caller knows."""
        self.refused = error if self.refused is None else further(self.refused, error)
        if not self.counts and calls:
            self.counts = True
        elif error.divides is not None and self.may_divide(error.divides):
            self.divided.add(error.divides)
        elif not self.sized and not given_arrays and self.captures_arrays:
            self.counts = self.sized = True
            self.divided.clear()
        else:
            self.refused.sizes_may_help = given_arrays and not self.sized
            return False
        return True

    def may_divide(self, at: Loc | None) -> bool:
        """Whether another attempt may divide what comes after the ``if`` there."""
        return at is not None and at not in self.divided and len(self.divided) < _MOST_DIVIDED


def further(first: CompileError, later: CompileError) -> CompileError:
    """Which to show of two refusals of one program: ``later``, for which more was known, if it is of another line, or
    not only of a size that the first did not know, and not inside of calls that more knowledge keeps apart, those of a
    function that calls itself."""
    same = (first.loc.file, first.loc.line) == (later.loc.file, later.loc.line) and not first.of_unknown_size
    calls = [note.loc for note in later.notes]
    if same or len(set(calls)) < len(calls) or later.kind == "endless-recursion":
        return first
    # After an ``if`` was divided, its branches may still return values of different types.
    return first if first.divides is not None and later.kind == first.kind and later.divides is None else later
