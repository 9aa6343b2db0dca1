"""What is known about a differentiated function, for its users and for the report."""

from __future__ import annotations

from dataclasses import field

from adc.ir.core import Loc
from adc.ir.lazy_dataclass import dataclass
from adc.passes.differentiation.activity.activity import Activity, ArgumentState
from adc.passes.differentiation.storage.kept import Kept
from adc.passes.differentiation.storage.storage_plan import StoragePlan


@dataclass
class Findings:
    """What was found out about a function, recorded while its plans still match its code, which later passes change.

    ``text``: activity and storage plan as they print. ``arguments`` and ``kept``: the same as data. ``forward``:
    positions of arguments whose derivatives are computed in forward mode. ``notes``: the rest, line by line.
    """

    loc: Loc
    text: str
    arguments: tuple[ArgumentState, ...] = ()
    kept: tuple[Kept, ...] = ()
    forward: frozenset[int] = frozenset()
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([*([self.text] if self.text else []), *self.notes])


def findings_of(activity: Activity, plan: StoragePlan) -> Findings:
    """Record what an activity and a storage plan say at this point."""
    refused = sorted({(op.loc.line, why) for op, why in plan.refused.items()})
    why = [f"  line {line}: the load cannot be repeated in the reverse sweep: {why}" for line, why in refused]
    text = f"{activity}\n{plan}"
    return Findings(activity.func.loc, text, activity.arguments(), tuple(plan.kept()), notes=why)


@dataclass
class Adjoint:
    """The result of differentiating one function: names of functions in the module, and the plans, which print."""

    name: str  # of the gradient, or of the augmented function
    reverse: str | None
    activity: Activity
    plan: StoragePlan
    findings: Findings
    callees: list[Adjoint] = field(default_factory=list)
    computes: bool = True  # whether it computes floats

    def __str__(self) -> str:
        told = (adjoint for adjoint in self.all() if adjoint is self or not adjoint.trivial)
        return "\n".join(str(adjoint.findings) for adjoint in told)

    @property
    def trivial(self) -> bool:
        """Whether there is nothing to report: the function computes and keeps nothing, like one that only makes
        views."""
        return not (self.computes or self.plan.stored or self.plan.snapshots)

    def all(self) -> list[Adjoint]:
        """This and those of all callees."""
        return list(self._all({}).values())

    def _all(self, found: dict[str, Adjoint]) -> dict[str, Adjoint]:
        """Collect this one and those of its callees in ``found``, by name."""
        if self.name not in found:
            found[self.name] = self
            for callee in self.callees:
                callee._all(found)
        return found
