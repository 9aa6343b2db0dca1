"""How a program is traced once more after it was refused: with more that is known, or its branches kept apart.

First nothing is known of sizes, so that the code is for all of them. If that is refused, functions are told the ints
and extents that their callers know: they may decide between paths of which one does not apply, or on which values have
other numbers of dimensions. If a variable has no common type after an ``if``, what comes after that is traced in each
of its branches. If what is refused is a side of conditions on integers that can be made constants (``data/pins.py``),
their values decide, the innermost first. Last, the code is for arrays of the sizes that the arguments have, which
whoever calls it must check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field

from adc.frontend.data.pins import pin_of
from adc.frontend.data.values import AbstractValue, Scalar
from adc.ir import kinds
from adc.ir.core import Loc, Value
from adc.ir.diagnostics import CompileError
from adc.ir.lazy_dataclass import dataclass

_OF_ITEMS = (kinds.NOT_CONSTANT.name, kinds.TYPE_DIFFERS.name, kinds.TYPE_CHANGE_IN_LOOP.name)
_MOST_DIVIDED = 6  # each may double the code


@dataclass(eq=False)
class Attempt:
    """``counts``: functions of the program are told the ints and extents that their callers know. ``sized``: the code
    is for arrays of the extents that arguments and captured arrays have; ``sizable``: it may be. ``divided``: the
    ``if`` statements in each of whose branches all that comes after them in the block is traced. ``decided``: the
    choices between two sides that are made by the values of integers when the code is compiled, and the loops and lists
    whose counts are known then; ``decidable``: those that may be; ``around``: those around the insertion point.
    ``peeled``: the loops whose first iteration is traced apart, because it gives variables other types. ``unrolled``:
    the loops over arrays of few items that are traced for each item, because the items become objects or numbers that
    must be known; ``few``: all that could be.
    ``divisible``: the loops being traced whose first iteration may stand apart because ints are floats in the others;
    ``apart``: those where it does; ``whole``: those where it must not; ``blamed``: the refusals, by kind and line, for
    which this was tried; ``asked``: by their identities, the numbers whose types the program asks for or shows.
    ``captures_arrays``: arrays from outside were met. ``refused``: the refusal to show.
    """

    counts: bool = False
    sized: bool = False
    sizable: bool = False
    divided: set[Loc] = field(default_factory=set)
    decided: set[Loc] = field(default_factory=set)
    decidable: dict[Loc, None] = field(default_factory=dict)  # in the order of the program
    repeated: set[Loc] = field(default_factory=set)  # where ``while`` loops are
    around: list[Loc] = field(default_factory=list)
    peeled: set[Loc] = field(default_factory=set)
    unrolled: set[Loc] = field(default_factory=set)
    few: set[Loc] = field(default_factory=set)
    divisible: set[Loc] = field(default_factory=set)
    apart: set[Loc] = field(default_factory=set)
    firsts: int = 0  # the first iterations of such loops around the insertion point
    whole: set[Loc] = field(default_factory=set)
    blamed: set[tuple[str, int]] = field(default_factory=set)
    asked: dict[int, object] = field(default_factory=dict)
    captures_arrays: bool = False
    refused: CompileError | None = None

    def again(self, error: CompileError, calls: bool, given_arrays: bool) -> bool:
        """Whether to try once more after this refusal, with another attempt, which this becomes. ``calls``: functions
        are called; ``given_arrays``: arguments are arrays, whose sizes only the caller knows."""
        if self._made_whole(error):
            return True
        self.refused = error if self.refused is None else further(self.refused, error)
        if not self.counts and calls:
            self.counts = True
        elif error.divides is not None and self.may_divide(error.divides):
            self.divided.add(error.divides)
        elif (at := self._to_decide(error)) is not None:
            self.decided.add(at)
        elif error.peels is not None and error.peels not in self.peeled:
            self.peeled.add(error.peels)
        elif error.unrolls is not None and error.unrolls not in self.unrolled:
            self.unrolled.add(error.unrolls)
        elif self.sized and error.kind in _OF_ITEMS and self.few - self.unrolled:
            self.unrolled |= self.few  # one of them may have made the list of objects that is refused elsewhere
        elif not self.sized and not given_arrays and self.captures_arrays:
            self.counts = self.sized = True
            self.divided.clear()
        else:
            self.refused.sizes_may_help = given_arrays and not self.sized
            return False
        return True

    def ask(self, number: AbstractValue) -> None:
        """The program asks for the type of that, or shows it."""
        asked = number.value if isinstance(number, Scalar) else number
        self.asked[id(asked)] = asked

    def _made_whole(self, error: CompileError) -> bool:
        """Whether to try with all loops whole, of which the first iteration stood apart, as that may have led to this
        refusal. If it comes again then, it did not."""
        here = error.kind, error.loc.line
        if here in self.blamed:
            self.whole.clear()
        elif not self.apart <= self.whole:
            self.blamed.add(here)
            self.whole |= self.apart
            return True
        return False

    def _to_decide(self, error: CompileError) -> Loc | None:
        choices = (*error.undecided, error.divides)
        return next((at for at in choices if at is not None and self.may_decide(at)), None)

    def decide(self, at: Loc, known: bool | Value) -> bool | Value:
        """The condition of the choice between two sides that stands at a place. The numbers that integers have decide
        it if an earlier attempt has found that one of the sides cannot be compiled."""
        pin = None if isinstance(known, bool) else pin_of(known, data=False)
        return bool(pin()) if pin is not None and self.decides(at, ()) else known

    def decides(self, at: Loc, numbers: Iterable[Value]) -> bool:
        """Whether the numbers on which it depends what is there are to be made constants, if they can be."""
        if any(pin_of(number, data=False) is None for number in numbers):
            return False
        self.decidable[at] = None
        return at in self.decided

    def may_decide(self, at: Loc) -> bool:
        """Whether another attempt may decide that choice or count."""
        return at in self.decidable and at not in self.decided

    def open_around(self, also: Iterable[Loc]) -> tuple[Loc, ...]:
        """The choices and counts around the insertion point, and ``also``, that another attempt may decide."""
        return tuple(at for at in (*reversed(self.around), *also) if self.may_decide(at))

    @contextmanager
    def undecided(self, at: Loc) -> Iterator[None]:
        """What depends on the choice or the count there is traced: a refusal may be of what need not be run."""
        self.around.append(at)
        try:
            yield
        except CompileError as error:
            error.undecided = (*error.undecided, at)
            raise
        finally:
            self.around.pop()

    @contextmanager
    def peelable(self, at: Loc) -> Iterator[None]:
        """The loop there is traced; its first iteration may be traced apart."""
        try:
            yield
        except CompileError as error:
            if error.kind == kinds.TYPE_CHANGE_IN_LOOP.name and error.peels is None:
                error.peels = at
            raise

    @contextmanager
    def unrollable(self, at: Loc) -> Iterator[bool]:
        """The loop there, over a few items that can be known one by one, is traced; whether it is unrolled."""
        unrolls = at in self.unrolled
        self.few.add(at)
        try:
            yield unrolls
        except CompileError as error:
            if not unrolls and error.kind in _OF_ITEMS and error.unrolls is None:
                error.unrolls = at
            raise

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
