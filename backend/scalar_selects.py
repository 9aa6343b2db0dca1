"""Choices between numbers without a branch, on x86 processors without AVX-512.

These have no conditional move for floating point. LLVM's code generator makes a choice (``select``) of a comparison of
numbers of the same type into masks, but only if nothing else uses the comparison; otherwise it makes a branch. The
derivative of ``min`` uses one comparison for two choices (the cotangent goes here or there), and where data decides, a
branch is predicted wrongly half of the time: 5 ns. So after the optimiser, which would join equal comparisons, each
choice gets a comparison of its own, in another form than the others in the block: the code generator joins what is
spelled alike, too. There are four: ``a < b``, ``b > a``, and their opposites with the choices swapped.

A condition of many choices, as the strong zero of a cotangent in straight code, becomes a mask of integers in each
block. The scheduler of the code generator keeps the flags of a comparison for one user at a time, and with calls in
between it goes back and forth among all of them: 200 choices and 80 calls in one block take minutes.

References: LLVM 22, X86ISelLowering.cpp, ``LowerSELECT``, ``Cond->hasOneUse()``; ScheduleDAGRRList.cpp,
``UnscheduleNodeBottomUp``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from adc.backend.target import Target
from adc.ir.lazy_dataclass import dataclass

_NAME = r'%(?:[-\w.$]+|"[^"]+")'
_SELECT = re.compile(
    rf"  (?P<result>{_NAME}) = select (?P<flags>(?:\w+ )*)i1 (?P<condition>{_NAME}), "
    rf"(?P<type>double|float) (?P<yes>[^\s,]+), (?:double|float) (?P<no>[^\s,]+)"
)
_COMPARISON = re.compile(
    rf"  (?P<result>{_NAME}) = fcmp (?P<flags>(?:\w+ )*)(?P<predicate>[ou]\w\w) "
    r"(?P<type>double|float) (?P<left>[^\s,]+), (?P<right>[^\s,]+)"
)
_CHOSEN = re.compile(r" = select (?:\w+ )*i1 (\S+), (?:double|float) ")
_NAMES = re.compile(_NAME)
_BITS = {"double": "i64", "float": "i32"}
_MANY = 16  # choices by one condition
_COMMUTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_OPPOSITE = {"lt": "ge", "gt": "le", "le": "gt", "ge": "lt", "eq": "ne", "ne": "eq"}


def are_branches(target: Target) -> bool:
    """Whether the code generator makes branches of choices whose comparison is used elsewhere."""
    return target.is_x86 and not target.has("avx512f")


def may_be_many(text: str) -> bool:
    """Whether some condition of a module may have so many choices that the code generator takes too long."""
    if text.count(" = select ") <= _MANY:
        return False
    return max(Counter(_CHOSEN.findall(text)).values(), default=0) > _MANY


def by_masks(optimized: str) -> str:
    """The text of an optimised module with comparisons of their own for choices, and masks where these are many."""
    if _CHOSEN.search(optimized) is None:
        return optimized
    parts = re.split(r"(?m)^(?=define )", optimized)
    return "".join(part if _CHOSEN.search(part) is None else _Function(part).rewritten() for part in parts)


class _Function:
    """The text of one function, with what its lines say so far."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._uses = Counter(_NAMES.findall(text))  # and the definition
        self._comparisons: dict[str, re.Match[str]] = {}
        self._forms: dict[str, Iterator[_Form]] = {}  # that no choice in this block has taken, by the comparison's name
        self._added = 0
        self._choices = Counter(select["condition"] for line in self._lines if (select := _SELECT.match(line)))
        self._masks: dict[tuple[str, str], str] = {}  # in this block, by condition and integer type

    def rewritten(self) -> str:
        return "\n".join(new for line in self._lines for new in self._line(line))

    def _line(self, line: str) -> Sequence[str]:
        if not line.startswith(" "):
            self._forms, self._masks = {}, {}  # a label
        elif (comparison := _COMPARISON.match(line)) is not None:
            self._comparisons[comparison["result"]] = comparison
        elif (select := _SELECT.match(line)) is not None:
            return self._select(select)
        return (line,)

    def _select(self, select: re.Match[str]) -> Sequence[str]:
        name, yes, no = select["condition"], select["yes"], select["no"]
        if self._choices[name] > _MANY:
            return self._masked(select)
        comparison = self._comparisons.get(name)
        alone = self._uses[name] == 2
        if comparison is None or alone or comparison["type"] != select["type"]:
            return (select[0],)
        if {yes, no} == {comparison["left"], comparison["right"]}:
            return (select[0],)  # an instruction for the minimum or maximum
        form = next(self._forms.setdefault(name, _other_forms(comparison)), None)
        if form is None:
            return (select[0],)
        self._uses[name] -= 1
        self._added += 1
        if form.opposite:
            yes, no = no, yes
        own, type_ = f"%choice.{self._added}", select["type"]
        return (
            f"  {own} = fcmp {comparison['flags']}{form.predicate} {type_} {form.left}, {form.right}",
            f"  {select['result']} = select {select['flags']}i1 {own}, {type_} {yes}, {type_} {no}",
        )

    def _masked(self, select: re.Match[str]) -> list[str]:
        """The bits of one number where the mask is set, of the other elsewhere."""
        type_, integer = select["type"], _BITS[select["type"]]
        self._added += 1
        own, lines = f"%choice.{self._added}", []
        key = select["condition"], integer
        if key not in self._masks:
            self._masks[key] = f"{own}.mask"
            lines.append(f"  {own}.mask = sext i1 {select['condition']} to {integer}")
        return [
            *lines,
            f"  {own}.yes = bitcast {type_} {select['yes']} to {integer}",
            f"  {own}.no = bitcast {type_} {select['no']} to {integer}",
            f"  {own}.differ = xor {integer} {own}.yes, {own}.no",
            f"  {own}.taken = and {integer} {own}.differ, {self._masks[key]}",
            f"  {own}.bits = xor {integer} {own}.taken, {own}.no",
            f"  {select['result']} = bitcast {integer} {own}.bits to {type_}",
        ]


@dataclass
class _Form:
    """A way to write a comparison. ``opposite``: it is true where the comparison is false."""

    predicate: str
    left: str
    right: str
    opposite: bool


def _other_forms(comparison: re.Match[str]) -> Iterator[_Form]:
    ordered, relation = comparison["predicate"][0], comparison["predicate"][1:]
    left, right = comparison["left"], comparison["right"]
    if relation not in _OPPOSITE:  # whether there is a NaN
        return
    other = {"o": "u", "u": "o"}[ordered]
    yield _Form(other + _OPPOSITE[relation], left, right, opposite=True)
    if left.startswith("%") and right.startswith("%"):  # the code generator puts constants to the right
        commuted = _COMMUTED[relation]
        yield _Form(ordered + commuted, right, left, opposite=False)
        yield _Form(other + _OPPOSITE[commuted], right, left, opposite=True)
