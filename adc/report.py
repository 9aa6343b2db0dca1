"""What a gradient costs and why: a report that prints, made of the plans that the passes followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adc.compiler import Staged, Subject
from adc.errors import DifferentiationError
from adc.frontend.abstract import Abstract, Array
from adc.frontend.traced import Leaf, Traced
from adc.ir import kinds
from adc.options import Derivative
from adc.passes.checkpointing.outline_steps import StepsPlan
from adc.passes.differentiation.differentiate import Adjoint
from adc.passes.plans import ParallelPlan
from adc.selecting import everything


@dataclass(frozen=True)
class Report:
    """The plans of one gradient; of the pullback, for a function that does not return one float.

    ``adjoint`` holds what is active and what is stored, of callees too; ``steps`` which loops are checkpointed;
    ``parallel`` which loops of the function and of its gradient run on threads, and how the terms that several
    iterations add to one element are summed; ``overlap`` what holds of arguments that share memory.
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

    def __str__(self) -> str:
        lines = [
            f"{self.function}({', '.join(self.arguments)})",
            f"{self.what} with respect to {', '.join(self.with_respect_to)}",
            *([self.overlap] if self.overlap else []),
            "",
            str(self.adjoint),
            *self._checkpointing(),
            "",
            str(self.parallel),
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


def report(subject: Subject, abstracts: Sequence[Abstract], derivative: Derivative) -> Report:
    """Compile the gradient as far as the IR goes, and report on it. Of a function that does not return one float: the
    pullback."""
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
    wrt = tuple(_name(leaves[k]) for k in wanted.wrt)
    arguments = tuple(f"{n}: {a}" for n, a in zip(subject.parameters.names, staged.abstracts, strict=True))
    steps, overlap = tuple(staged.steps), _overlap(traced)
    return Report(subject.name, arguments, wrt, adjoint, parallel, steps, staged.seconds, overlap, what)


def _name(leaf: Leaf) -> str:
    return str(leaf.path[0]) + "".join(f"[{n}]" for n in leaf.path[1:])


def _overlap(traced: Traced) -> str:
    """What holds of arrays among the arguments that share memory; nothing if they cannot."""
    arrays = [k for k, leaf in enumerate(traced.leaves) if isinstance(leaf.abstract, Array)]
    if len(arrays) < 2:
        return ""
    if groups := traced.alias_groups:
        names = ["{" + ", ".join(_name(traced.leaves[k]) for k in members) + "}" for members in groups.values()]
        return f"overlap: {', '.join(names)} share memory that is written: one shadow for each of these"
    if traced.stored:
        names = [_name(traced.leaves[k]) for k in sorted(traced.stored)]
        verb = "are" if len(names) > 1 else "is"
        return f"overlap: {', '.join(names)} {verb} written: what shares memory with that shares one shadow"
    return "overlap: arrays are only read: each has its own partial derivative, also where they share memory"
