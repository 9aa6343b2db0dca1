"""What the ranks of a distributed function send each other, and what all of them run: made from the plan of the passes
and from one run in which messages were counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from adc.ir.core import Loc
from adc.ir.excerpts import source_line
from adc.ir.lazy_dataclass import dataclass
from adc.ir.partitions import Counts
from adc.passes.plans import RanksPlan
from adc.reports.report import Report
from adc.reports.summary import shown_bytes


@dataclass(frozen=True)
class Sent:
    """What one rank sent for the elements that a line reads of one array.

    ``sweep``: "forward" or "reverse"; ``terms``: these are terms of a sum, which all ranks add up; ``loop``: the line
    of the loop around, 0 if there is none. In one call of the gradient, elements were fetched ``fetches`` times, with
    ``messages`` of ``bytes`` in all. ``repeated`` of these belong to steps that a schedule runs again: they are more
    than the value by itself sends in this line. ``halos``: the shapes of the boxes that were sent.
    """

    line: int
    array: str
    sweep: str
    terms: bool
    loop: int
    fetches: int
    messages: int
    bytes: int
    repeated: int
    halos: tuple[tuple[int, ...], ...]
    file: str = ""


@dataclass(frozen=True)
class Replicated:
    """Code that all ranks run on whole arrays, and why; ``refused``: where it would raise, in one of several versions
    of a loop that may not be reached."""

    line: int
    reason: str
    refused: bool
    file: str = ""


@dataclass(frozen=True)
class DistributedReport:
    """A distributed function's value and gradient on one rank.

    ``blocks``: by names of arguments, the shape of the whole array and of this rank's block. ``whole``: arrays that all
    ranks have entirely. ``peak``: the bytes of a call on one rank by itself, with whole arrays, if known in advance;
    ``part``: how much of that is this rank's, about. ``gradient``: the report of the code that it runs, line by line.
    """

    function: str
    shape: tuple[int, ...]
    ranks: tuple[int, ...]
    rank: int
    blocks: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
    whole: dict[str, tuple[int, ...]]
    messages: int
    bytes: int
    sent: tuple[Sent, ...]
    replicated: tuple[Replicated, ...]
    peak: int | None
    part: int | None
    gradient: Report

    @property
    def repeated(self) -> int:
        """The messages of steps that a schedule runs again."""
        return sum(each.repeated for each in self.sent)

    def as_dict(self) -> dict[str, Any]:
        """The report as numbers, texts, lists and dicts, suitable for JSON."""
        found = {k: v for k, v in vars(self).items() if k not in ("sent", "replicated", "gradient")}
        lists = {k: [asdict(each) for each in getattr(self, k)] for k in ("sent", "replicated")}
        return {**found, **lists, "repeated": self.repeated, "gradient": self.gradient.as_dict()}

    def __str__(self) -> str:
        extents = " x ".join(map(str, self.shape))
        layout = f"{_product(self.ranks)}, {self.ranks} along the axes of {extents} elements"
        return "\n".join(
            [
                f"value and gradient of {self.function} on rank {self.rank} of {layout}",
                *self._arrays(),
                self._memory(),
                self._messages(),
                *(self._line(each) for each in self.sent if each.messages),
                *self._replicated(),
                "  .gradient says what is stored, repeated and run on threads",
            ]
        )

    __repr__ = __str__

    def _arrays(self) -> list[str]:
        blocks = [f"{name} {block} of {whole}" for name, (whole, block) in self.blocks.items()]
        lines = [f"  blocks: {'; '.join(blocks)}"] if blocks else []
        whole = [f"{name} {shape}" for name, shape in self.whole.items()]
        return [*lines, *([f"  whole on all ranks: {'; '.join(whole)}"] if whole else [])]

    def _memory(self) -> str:
        if self.peak is None or self.part is None:
            return "  memory: not known in advance"
        return f"  memory: {shown_bytes(self.part)} of this rank, about; one process takes {shown_bytes(self.peak)}"

    def _messages(self) -> str:
        if not self.messages:
            return "  sends no messages"
        again = f"; {self.repeated} of them in steps that are run again" if self.repeated else ""
        return f"  sends {_count(self.messages, 'message')}, {shown_bytes(self.bytes)} in all{again}"

    def _line(self, sent: Sent) -> str:
        what = "terms of a sum" if sent.terms else sent.array or "an array"
        place = f"{sent.file}:{sent.line}" if sent.file else f"line {sent.line}"
        where = f", in the loop of line {sent.loop}" if sent.loop else ""
        told = f"    {place}, {sent.sweep}: {what}{where}: {_count(sent.messages, 'message')}"
        halos = " or ".join(" x ".join(map(str, shape)) for shape in sent.halos)
        again = f", {sent.repeated} of them in steps that are run again" if sent.repeated else ""
        fetches = _count(sent.fetches, "exchange")
        return f"{told} in {fetches}, of {halos} elements, {shown_bytes(sent.bytes)}{again}"

    def _replicated(self) -> list[str]:
        lines = []
        for each in self.replicated:
            place = f"{each.file}:{each.line}" if each.file else f"line {each.line}"
            what = "raises if it is reached" if each.refused else "all ranks run this on whole arrays"
            lines.append(f"  {place}: {what}: {each.reason}")
        return lines


def _product(numbers: Sequence[int]) -> int:
    found = 1
    for n in numbers:
        found *= n
    return found


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def sent_of(
    plans: Mapping[str, RanksPlan], counts: Mapping[int, Counts], once: Mapping[int, Counts] | None, file: str
) -> tuple[Sent, ...]:
    """What was sent, by places, in the order of lines. ``counts``: by the numbers of places; ``once``: those of the
    value by itself, if there is a schedule; ``file``: the function's."""
    places = {plan.site: plan for each in plans.values() for plan in each.fetches}
    rest: dict[tuple[int, int], int] = {}  # messages that the value sends, too, by lines
    for site, count in (once or {}).items():
        if site in places:
            line = places[site].loc.line, places[site].loop
            rest[line] = rest.get(line, 0) + count.messages
    found = []
    for site, count in counts.items():
        if site not in places:  # at the end of a call
            continue
        plan = places[site]
        line = plan.loc.line, plan.loop
        repeated = 0
        if once is not None and plan.loop and not plan.reverse:
            repeated = max(count.messages - rest.get(line, 0), 0)
            rest[line] = max(rest.get(line, 0) - count.messages, 0)
        sweep = "reverse" if plan.reverse else "forward"
        found.append(
            Sent(
                *(plan.loc.line, plan.array, sweep, plan.terms, plan.loop, count.fetches, count.messages, count.sent),
                *(repeated, tuple(sorted(count.shapes)), other_file(plan.loc, file)),
            )
        )
    return tuple(sorted(found, key=lambda each: (each.file, each.line, each.sweep)))


def replicated_of(plans: Mapping[str, RanksPlan], file: str) -> tuple[Replicated, ...]:
    found = {
        Replicated(plan.loc.line, plan.reason, plan.refused, other_file(plan.loc, file)): None
        for each in plans.values()
        for plan in each.replicated
        if source_line(plan.loc.file, plan.loc.line)
    }
    return tuple(sorted(found, key=lambda each: (each.file, each.line)))


def other_file(loc: Loc, file: str) -> str:
    """The name of the file of a place, if it is not ``file``."""
    return "" if loc.file == file else Path(loc.file).name
