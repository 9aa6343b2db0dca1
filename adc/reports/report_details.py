"""The details of a report, line by line, in the words of the program: no types or names of the IR."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import groupby
from typing import TYPE_CHECKING

from adc.frontend.abstract import Abstract, Array, numpy_dtype
from adc.ir.core import Loc
from adc.ir.excerpts import in_library, source_line
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import FloatType, IndexType, IntType, MemRefType, RecordType, Type
from adc.passes.plans import LoopPlan, NestPlan, ParallelPlan, ShadowPlan

if TYPE_CHECKING:
    from adc.passes.differentiation.storage.adjoints import Adjoint
    from adc.passes.differentiation.storage.kept import Kept

_KINDS = {"threads": "on threads", "parallel": "in any order", "sequential": "in order"}
_FORWARD, _REVERSE = ("aug", "forward"), ("rev", "reverse")
_HELD, _OF_OBJECT = "held", "attributes of an object"  # the frontend's names for carried values
_OPERATION = re.compile(r"\b(?:adc|arith|func|linalg|math|memref|scf)\.(\w+)")
_CALLED = {
    "alloc": "new memory",
    "assert": "a check",
    "bound": "a check of a subscript",
    "call": "a call",
    "copy": "a copy of an array",
    "for": "a loop",
    "foreign": "a call of a C function",
    "if": "a branch",
    "load": "a read of an array",
    "parallel": "a parallel loop",
    "store": "a store into an array",
    "while": "a while loop",
}
_DEFINED = re.compile(r"\s*(?:async )?def (\w+)")


def type_in_words(t: Type) -> str:
    """A type of the IR as NumPy and Python name it."""
    if isinstance(t, RecordType):
        return "record of a call"
    if not isinstance(t, MemRefType):
        return "int" if isinstance(t, IndexType) else "float" if t == FloatType(64) else _element(t)
    if isinstance(t.element, MemRefType | RecordType):
        return "list of arrays"
    axes, element = t.rank, _element(t.element)
    if isinstance(t.element, FloatType) and t.rank and t.shape[-1] == 2 and None in t.shape:  # real and imaginary part
        axes, element = axes - 1, f"complex{2 * t.element.width}"
    return _array_in_words(element, axes)


def _array_in_words(element: object, axes: int) -> str:
    return f"array of {element} with {axes} {'axis' if axes == 1 else 'axes'}"


def _element(t: Type) -> str:
    if isinstance(t, IntType):
        return "bool" if t.width == 1 else f"{'u' * t.unsigned}int{t.width}"
    return f"float{t.width}" if isinstance(t, FloatType) else "int64"


def abstract_in_words(given: Abstract) -> str:
    """The type of an argument that is a number or an array."""
    if isinstance(given, Array):
        return _array_in_words(numpy_dtype(given.element), given.rank)
    return str(given)


def name_in_words(kept: Kept) -> str:
    """A kept value in words: its variable, or a description if it has none."""
    if kept.name == _HELD:
        return _OF_OBJECT
    return kept.name or ("an array" if kept.refers else "an intermediate value")


def function_in_words(name: str, loc: Loc | None = None) -> str:
    """The name of the program's function from which a function of the IR was made."""
    first, *rest = name.split(".")
    written = _DEFINED.match(source_line(loc.file, loc.line)) if loc is not None else None
    if written is not None:
        first = written[1]
    if rest and rest[-1] in _FORWARD:
        return f"the forward sweep of {first}"
    if rest and rest[-1] in _REVERSE:
        return f"the reverse sweep of {first}"
    return f"the gradient of {first}" if "grad" in rest else first


def in_words(text: str) -> str:
    """A reason in words, without names of functions and operations of the IR."""
    text = re.sub(r"@([\w.]+)", lambda found: function_in_words(found[1].rstrip(".")), text)
    text = _OPERATION.sub(lambda found: _CALLED.get(found[1], f"an operation ({found[1]})"), text)
    text = text.replace(f"carries {_HELD} from", f"carries {_OF_OBJECT} from")
    return text.replace("trips of the loop at line", "iterations of the loop in line")


def of_program(name: str, loc: Loc) -> bool:
    """Whether a function belongs to the program. Functions of adc's own library have the place where the program uses
    them."""
    if in_library(loc.file):
        return False
    line, first = source_line(loc.file, loc.line), name.split(".")[0]
    if _DEFINED.match(line) or "lambda" in line:
        return True
    pattern = re.compile(rf"\s*(?:async )?def {re.sub('_[0-9]+$', '', first)}\b")
    return any(map(pattern.match, linecache.getlines(loc.file)))


@dataclass
class Details:
    """``labels``: the names of the arguments in the program, by position; ``types``: their types."""

    adjoint: Adjoint
    parallel: ParallelPlan
    labels: Sequence[str]
    types: Sequence[str]
    file: str
    lines: list[str] = field(default_factory=list)

    def made(self) -> list[str]:
        for adjoint in self.adjoint.all():
            root = adjoint is self.adjoint
            if root or (not adjoint.trivial and of_program(adjoint.name, adjoint.findings.loc)):
                self._function(adjoint, root)
            elif adjoint.findings.kept and not in_library(adjoint.findings.loc.file):
                self.lines.append(f"tape of {function_in_words(adjoint.name)} ({self._place(adjoint.findings.loc)}):")
                self.lines += [f"  {self._kept(kept, {})}" for kept in adjoint.findings.kept]
        for name, loops in self.parallel.loops.items():
            self._listed("loops of", name, self._nests(name, loops))
        for name, shadows in self.parallel.shadows.items():
            own = (p for p in shadows if of_program(name, p.loc))
            self._listed("sums of cotangents in", name, ([f"  {self._shadow(p)}"] for p in own))
        for name, nests in self.parallel.tiles.items():
            lines = ([f"  {self._nest(name, p)}"] for p in nests if _shown(name, p))
            self._listed("blocks for the cache in", name, lines)
        for name, nests in self.parallel.times.items():
            self._listed("time steps of", name, ([f"  {self._steps(name, p)}"] for p in nests if _shown(name, p)))
        return self.lines

    # Functions --------------------------------------------------------------------------------------------------------

    def _function(self, adjoint: Adjoint, root: bool) -> None:
        found = adjoint.findings
        names = dict(zip((a.name for a in found.arguments), self.labels, strict=False)) if root else {}
        count = len(self.labels) if root else sum(not a.name.endswith("_bar") for a in found.arguments)
        title = function_in_words(adjoint.name, found.loc)
        self.lines.append("arguments" if root else f"arguments of {title}")
        for position, argument in enumerate(found.arguments[:count]):
            state = "active" if argument.active or position in found.forward else "passive"
            if position in found.forward:
                state += ", in forward mode"
            kind = self.types[position] if root else type_in_words(argument.type)
            self.lines.append(f"  {names.get(argument.name, argument.name or 'an argument')}: {kind}: {state}")
        if not found.arguments[:count]:
            self.lines.pop()
        if found.text:
            self.lines.append("tape:" if found.kept else "tape: nothing is stored")
        for kept in found.kept:
            self.lines.append(f"  {self._kept(kept, names)}")
        self.lines += [in_words(note) for note in found.notes]

    def _kept(self, kept: Kept, names: dict[str, str]) -> str:
        name = names.get(kept.name) or name_in_words(kept)
        several = f"{kept.count} times " if kept.count > 1 else ""
        times = "".join(f" x {extent}" for extent in kept.extents)
        if kept.refers:
            size = f"the array itself{times}"
        else:
            size = f"{several}{type_in_words(kept.type)}, {kept.bytes} bytes{times}"
        note = " (where subscripts are checked one by one)" if kept.checked else ""
        return f"line {kept.line}: {name}: {in_words(size)}{note}"

    def _listed(self, title: str, name: str, items: Iterable[list[str]]) -> None:
        lines = _each_once(items)
        if lines:
            self.lines += ["", f"{title} {function_in_words(name)}"]
            self.lines += lines

    # Loops ------------------------------------------------------------------------------------------------------------

    def _nests(self, name: str, loops: Iterable[LoopPlan]) -> Iterator[list[str]]:
        """The lines of each outermost loop with those inside."""
        found: list[str] = []
        for plan in loops:
            if plan.depth == 0 and found:
                yield found
                found = []
            if of_program(name, plan.loc):
                found.append("  " * (plan.depth + 1) + self._loop(name, plan))
        if found:
            yield found

    def _loop(self, name: str, plan: LoopPlan) -> str:
        reason = "" if plan.reason == "a while loop" else _because(plan.reason)
        return f"{self._named(name, plan)}: {_KINDS.get(plan.kind, plan.kind)}{reason}"

    def _named(self, name: str, plan: LoopPlan | NestPlan) -> str:
        """Line and counter, as in the program. Loops of array expressions and of reverse sweeps have no counter."""
        if plan.counter == "while":
            return f"{self._place(plan.loc)} (while)"
        if not plan.counter and function_in_words(name) != name:
            return f"{self._place(plan.loc)} (reverse sweep)"
        return f"{self._place(plan.loc)} (for {plan.counter})" if _counts(plan) else self._place(plan.loc)

    def _shadow(self, plan: ShadowPlan) -> str:
        of = f", to {plan.shadow.removesuffix('_bar')}" if plan.shadow.removesuffix("_bar") else ""
        return f"{self._place(plan.loc)}{of}: {plan.kind}" + (f": {in_words(plan.reason)}" if plan.reason else "")

    def _nest(self, name: str, plan: NestPlan) -> str:
        return f"{self._named(name, plan)}: {plan.kind}" + (f": {in_words(plan.reason)}" if plan.reason else "")

    def _steps(self, name: str, plan: NestPlan) -> str:
        many = "one step" if plan.kind == "one" else f"{plan.kind} steps"
        return f"{self._named(name, plan)}: {many} at a time" + (f": {in_words(plan.reason)}" if plan.reason else "")

    def _place(self, loc: Loc) -> str:
        return f"line {loc.line}" if loc.file == self.file else f"{loc.file.rsplit('/', 1)[-1]}, line {loc.line}"


def _shown(name: str, plan: NestPlan) -> bool:
    """Whether a nest belongs to the program, or to its reverse sweep."""
    return of_program(name, plan.loc) and (plan.counter in ("", "while") or _counts(plan))


def _counts(plan: LoopPlan | NestPlan) -> bool:
    """Whether the program names the counter of a loop."""
    text = source_line(plan.loc.file, plan.loc.line)
    return bool(plan.counter) and re.search(rf"\bfor\b.*\b{re.escape(plan.counter)}\b.*\bin\b", text) is not None


def _because(reason: str) -> str:
    if not reason:
        return ""
    return f", since it {in_words(reason)}" if reason.startswith("carries ") else f": {in_words(reason)}"


def _each_once(items: Iterable[list[str]]) -> list[str]:
    """The lines of all items. Equal successive items, as from a statement on whole arrays, are shown once."""
    lines: list[str] = []
    for item, equal in groupby(items):
        count = sum(1 for _ in equal)
        lines += [item[0] + (f" ({count} times)" if count > 1 else ""), *item[1:]] if item else []
    return lines
