"""What a gradient costs and why: a report for printing, made from the plans that the passes followed."""

from __future__ import annotations

import html
import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from adc.border.options import Derivative
from adc.border.selecting import everything
from adc.driver.compiler import Staged
from adc.driver.specialise import Specialisation
from adc.driver.subject import Subject
from adc.errors import AdcError, DifferentiationError
from adc.frontend.abstract import Abstract, Array
from adc.frontend.traced import Traced
from adc.ir import kinds
from adc.ir.core import Module
from adc.ir.excerpts import in_library
from adc.ir.lazy_dataclass import dataclass
from adc.passes.checkpointing.outline_steps import StepsPlan
from adc.passes.differentiation.storage.adjoints import Adjoint
from adc.passes.plans import LoopPlan, ParallelPlan, ShadowPlan
from adc.reports.report_details import Details, abstract_in_words
from adc.reports.summary import Measured, Stored, advice, measure, stored, summary


@dataclass(frozen=True)
class Report:
    """The plans of one gradient; of the pullback, for a function that does not return one float.

    ``adjoint`` says what is active and what is stored, callees included; ``steps`` which loops are checkpointed;
    ``parallel`` which loops of the function and of its gradient run on threads, and how the terms that several
    iterations add to one element are summed; ``overlap`` how arguments that share memory are treated.
    """

    function: str
    arguments: tuple[str, ...]
    with_respect_to: tuple[str, ...]
    adjoint: Adjoint
    parallel: ParallelPlan
    steps: tuple[StepsPlan, ...]
    seconds: dict[str, float]
    overlap: str = ""
    what: str = "gradient"
    measured: Measured | None = None
    labels: tuple[str, ...] = ()  # names of the numbers and arrays among the arguments
    types: tuple[str, ...] = ()
    file: str = ""
    simd: tuple[int, ...] | None = None  # lines of loops that became SIMD, if requested

    def summary(self) -> str:
        """What the gradient costs, in at most ten lines."""
        return "\n".join(summary(self))

    def loops(self) -> list[LoopPlan]:
        """The loops of the gradient, or of the two halves of the pullback, and of callees, without those of adc's own
        library; outer loops come before inner ones."""
        own = {name for adjoint in self.adjoint.all() for name in (adjoint.name, adjoint.reverse)}
        plans = (plan for name, plans in self.parallel.loops.items() if name in own for plan in plans)
        return [plan for plan in plans if not in_library(plan.loc.file)]

    def sums(self) -> list[ShadowPlan]:
        """How parallel loops sum terms of gradients, without those of adc's own library."""
        plans = (plan for plans in self.parallel.shadows.values() for plan in plans)
        return [plan for plan in plans if not in_library(plan.loc.file)]

    def stored(self) -> list[Stored]:
        """What the forward sweep keeps for the reverse sweep."""
        found = (kept for adjoint in self.adjoint.all() if not adjoint.trivial for kept in adjoint.findings.kept)
        hints = (argument.name for argument in self.adjoint.findings.arguments)
        return stored(found, dict(zip(hints, self.labels, strict=False)))

    def as_dict(self) -> dict[str, Any]:
        """The report as numbers, texts, lists and dicts, suitable for JSON."""
        return {
            "function": self.function,
            "what": self.what,
            "arguments": list(self.arguments),
            "with_respect_to": list(self.with_respect_to),
            "summary": summary(self),
            "advice": advice(self),
            "seconds": dict(self.seconds),
            "measured": None if self.measured is None else asdict(self.measured),
            "stored": [asdict(value) for value in self.stored()],
            "simd": None if self.simd is None else list(self.simd),
            "loops": {
                name: [
                    {"line": p.loc.line, "counter": p.counter, "depth": p.depth, "kind": p.kind, "reason": p.reason}
                    for p in plans
                ]
                for name, plans in self.parallel.loops.items()
            },
            "sums": [
                {"line": p.loc.line, "shadow": p.shadow, "kind": p.kind, "reason": p.reason} for p in self.sums()
            ],
            "checkpointing": list(dict.fromkeys(map(str, self.steps))),
            "overlap": self.overlap,
        }

    def _repr_html_(self) -> str:
        """For notebooks: the summary, with the details folded."""
        return (
            f"<pre>{html.escape(self.summary())}</pre><details><summary>line by line</summary>"
            f"<pre>{html.escape(self._details())}</pre></details>"
        )

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{self._details()}"

    def _details(self) -> str:
        lines = [
            f"{self.function}({', '.join(self.arguments)})",
            f"{self.what} with respect to {', '.join(self.with_respect_to)}",
            *([self.overlap] if self.overlap else []),
            "",
            *Details(self.adjoint, self.parallel, self.labels, self.types, self.file).made(),
            *self._checkpointing(),
            "",
            "compiled in " + ", ".join(f"{stage} {1e3 * s:.1f} ms" for stage, s in self.seconds.items()),
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def _checkpointing(self) -> list[str]:
        if not self.steps:
            return []
        hint = f"  {self.function}.grad.forecast(...) says the bytes of a call, where they can be known before"
        return ["", "checkpointing:", *dict.fromkeys(map(str, self.steps)), hint]


def with_run(found: Report, value: Callable[..., Any], gradient: Any, args: Sequence[Any]) -> Report:
    """The report with the time and memory of a run with these arguments."""
    try:
        peak = gradient.forecast(*args).peak
    except (AdcError, AttributeError):  # not known in advance
        peak = None
    return replace(found, measured=measure(value, gradient, peak, args))


def report(subject: Subject, abstracts: Sequence[Abstract], derivative: Derivative, *, simd: bool = False) -> Report:
    """Compile the gradient as far as the final IR, and report on it; for a function that does not return one float, the
    pullback. ``simd``: LLVM compiles it, too, to find out which loops become SIMD. The last report is kept, for as long
    as a call would be traced in the same way."""
    key = subject.options, tuple(abstracts), derivative, simd
    with subject.lock:
        found: Report = subject.reports.value("report", key, lambda: _made(subject, abstracts, derivative, simd))
        return replace(found, seconds=dict(found.seconds))


def _made(
    subject: Subject, abstracts: Sequence[Abstract], derivative: Derivative, simd: bool
) -> tuple[Traced, Report]:
    """A report, and what it is about as it was traced."""
    staged, what = Staged(subject, tuple(abstracts)), "gradient"
    try:
        traced, wanted = staged.traced_for(derivative.chain, has_aux=derivative.has_aux)
        module, adjoint = staged.gradient(traced, wanted, with_value=True, clears=True)
        roots = [adjoint.name]
    except DifferentiationError as error:
        if error.kind != kinds.NOT_SCALAR.name:
            raise
        staged, what = Staged(subject, tuple(abstracts)), "pullback"
        traced = staged.traced(reverse=True)
        wanted = everything(subject.parameters.names, staged.abstracts, traced)
        module, adjoint, plan = staged.split(traced, wanted)
        roots = [plan.augmented, plan.reverse]
    parallel = staged.planned(module, [traced.entry, *roots])
    leaves = traced.leaves
    names = Specialisation(staged, traced)
    labels = tuple(names.leaf_name(k) for k in range(len(leaves)))
    wrt = tuple(labels[k] for k in wanted.wrt)
    arguments = tuple(f"{n}: {a}" for n, a in zip(subject.parameters.names, staged.abstracts, strict=True))
    steps, overlap = tuple(staged.steps), _overlap(traced, labels)
    lines = _simd_lines(staged, module, roots) if simd else None
    return traced, Report(
        subject.name,
        arguments,
        wrt,
        adjoint,
        parallel,
        steps,
        staged.seconds,
        overlap,
        what,
        labels=labels,
        types=tuple(abstract_in_words(leaf.abstract) for leaf in leaves),
        file=inspect.getsourcefile(subject.fn) or "",
        simd=lines,
    )


def _simd_lines(staged: Staged, module: Module, roots: Sequence[str]) -> tuple[int, ...]:
    """The lines of those loops of the final code that became SIMD."""
    final = staged.prepared(module, roots)
    return tuple(sorted(set(staged.subject.target.simd_lines(final, roots, staged.subject.options))))


def _overlap(traced: Traced, labels: Sequence[str]) -> str:
    """How array arguments that share memory are treated; empty if there are fewer than two arrays."""
    arrays = [k for k, leaf in enumerate(traced.leaves) if isinstance(leaf.abstract, Array)]
    if len(arrays) < 2:
        return ""
    if groups := traced.alias_groups:
        names = ["{" + ", ".join(labels[k] for k in members) + "}" for members in groups.values()]
        return f"overlap: {', '.join(names)} share memory that is written to: each group has one shadow"
    if traced.stored:
        names = [labels[k] for k in sorted(traced.stored)]
        verb = "are" if len(names) > 1 else "is"
        them = "them share their shadows" if len(names) > 1 else "it share its shadow"
        return f"overlap: {', '.join(names)} {verb} written to: arguments that overlap with {them}"
    return "overlap: arrays are only read: each has its own partial derivative, also where they share memory"
