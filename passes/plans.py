"""Plans of the parallel passes: which loops run in parallel and why others do not, how shadows are accumulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import groupby
from zlib import crc32

from adc.ir.core import UNKNOWN, Loc, Op
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class LoopPlan:
    """The plan for one loop: "threads" (iterations are shared out), "parallel" (in any order) or "sequential"."""

    loc: Loc
    counter: str
    depth: int
    kind: str
    reason: str = ""

    def __str__(self) -> str:
        return _told(f"{place(self.loc)} for {self.counter or '_'}", self.kind, self.reason)


@dataclass(frozen=True)
class ShadowPlan:
    """How the terms that a parallel loop nest adds to one shadow are summed.

    ``kind``: "plain" (iterations touch distinct elements), "gather" (each element collects its terms), "rows" (terms of
    a tile are kept, then added shifted), "blocks" (in two phases), "interchange" (loops are reordered), "passes" (one
    loop for each term), "reduction" (one sum), "colours" (of blocks), "private" (copies are merged), "atomic",
    "serial" (one after the other).
    """

    loc: Loc
    shadow: str
    kind: str
    reason: str = ""

    def __str__(self) -> str:
        return _told(f"{place(self.loc)} {self.shadow or 'shadow'}", self.kind, self.reason)


@dataclass(frozen=True)
class NestPlan:
    """How a nest is cut so that what it reads again is in cache: "blocks of" loops inside, or "whole". For a time loop:
    how many steps are run at once, "one", "several" or a number. And why."""

    loc: Loc
    counter: str
    kind: str
    reason: str = ""

    def __str__(self) -> str:
        return _told(f"{place(self.loc)} for {self.counter or '_'}", self.kind, self.reason)


@dataclass(frozen=True)
class FetchPlan:
    """Where elements of other ranks are fetched: in front of a loop over elements of distributed arrays.

    ``array``: the name of the array, if it has one; ``reverse``: whether it is in the reverse sweep; ``loop``: the line
    of the loop around, 0 if there is none; ``terms``: whether these are terms that all ranks add up to a sum.
    """

    loc: Loc
    array: str
    reverse: bool
    loop: int
    terms: bool = False

    @property
    def site(self) -> int:
        """A number of this place that is the same on all ranks, in all processes."""
        return crc32(repr((self.loc.file, self.loc.line, self.array, self.reverse, self.loop, self.terms)).encode())


@dataclass(frozen=True)
class ReplicatedPlan:
    """Code that all ranks run on whole arrays, or that raises when it is reached (``refused``), and why."""

    loc: Loc
    reason: str
    refused: bool = False


@dataclass
class RanksPlan:
    """What ranks fetch, and which code all of them run."""

    fetches: list[FetchPlan] = field(default_factory=list)
    replicated: list[ReplicatedPlan] = field(default_factory=list)


@dataclass
class ParallelPlan:
    """For each function: its loops, outer before inner, the shadows that they accumulate into, how nests are cut for
    the cache, how many steps of time loops are run at once, and how arrays are distributed among ranks."""

    loops: dict[str, list[LoopPlan]] = field(default_factory=dict)
    shadows: dict[str, list[ShadowPlan]] = field(default_factory=dict)
    tiles: dict[str, list[NestPlan]] = field(default_factory=dict)
    times: dict[str, list[NestPlan]] = field(default_factory=dict)
    ranks: dict[str, RanksPlan] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = []
        for name, loops in self.loops.items():
            if loops:
                lines.append(f"loops of @{name}")
                lines += _each_once(_nests(loops))
        for name, shadows in self.shadows.items():
            if shadows:
                lines.append(f"accumulation in @{name}")
                lines += _each_once([f"  {plan}"] for plan in shadows)
        for title, plans in (("cache", self.tiles), ("steps at a time", self.times)):
            for name, nests in plans.items():
                if nests:
                    lines.append(f"{title} in @{name}")
                    lines += _each_once([f"  {plan}"] for plan in nests)
        return "\n".join(lines)


def _nests(loops: Iterable[LoopPlan]) -> Iterator[list[str]]:
    """The lines of each outermost loop and the loops inside it."""
    found: list[str] = []
    for plan in loops:
        if plan.depth == 0 and found:
            yield found
            found = []
        found.append("  " * (plan.depth + 1) + str(plan))
    if found:
        yield found


def _each_once(items: Iterable[list[str]]) -> list[str]:
    """The lines of all items. Equal items in a row, as one statement on whole arrays may give, appear once, with their
    number."""
    lines: list[str] = []
    for item, equal in groupby(items):
        count = sum(1 for _ in equal)
        lines += [item[0] + (f" ({count} times)" if count > 1 else ""), *item[1:]]
    return lines


def _told(what: str, kind: str, reason: str) -> str:
    return f"{what}: {kind}" + (f": {reason}" if reason else "")


def place(loc: Loc) -> str:
    return "-" if loc == UNKNOWN else f"{loc.file.rsplit('/', 1)[-1]}:{loc.line}"


def lines_of(ops: Iterable[Op]) -> str:
    """``line 3`` or ``lines 3 and 5`` of operations."""
    numbers = sorted({op.loc.line for op in ops})
    text = " and ".join(map(str, numbers))
    return f"line {text}" if len(numbers) == 1 else f"lines {text}"
