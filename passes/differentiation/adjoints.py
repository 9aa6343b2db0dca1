"""What is known of a function that was differentiated, for those who use it and for the report."""

from __future__ import annotations

from dataclasses import dataclass, field

from adc.passes.differentiation.activity import Activity
from adc.passes.differentiation.storage_plan import StoragePlan


@dataclass
class Adjoint:
    """What differentiating one function gave: names of functions in the module, and the plans, which print."""

    name: str  # of the gradient, or of the augmented function
    reverse: str | None
    activity: Activity
    plan: StoragePlan
    text: str  # what was found out, in words; later passes change the code that the plans point at
    callees: list[Adjoint] = field(default_factory=list)
    computes: bool = True  # floats

    def __str__(self) -> str:
        told = (adjoint for adjoint in self.all() if adjoint is self or not adjoint.trivial)
        return "\n".join(adjoint.text for adjoint in told)

    @property
    def trivial(self) -> bool:
        """Whether there is nothing to say: the function computes and keeps nothing, as one that makes views."""
        return not (self.computes or self.plan.stored or self.plan.snapshots)

    def all(self) -> list[Adjoint]:
        """This and those of all callees."""
        return list(self._all({}).values())

    def _all(self, found: dict[str, Adjoint]) -> dict[str, Adjoint]:
        """The same by name."""
        if self.name not in found:
            found[self.name] = self
            for callee in self.callees:
                callee._all(found)
        return found
