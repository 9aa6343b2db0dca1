"""What has to be known of two linear forms for one to show, together with the other, that it is not negative: asked
before the proof is tried."""

from __future__ import annotations

from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Prospect:
    """``needed``: for each term of a form that has no bound, and that no other can cancel, the values of which another
    form must have one. ``offered``: the values that the form has, or gets when others take the place of its values."""

    needed: list[frozenset[Value]]
    offered: frozenset[Value]

    def fits(self, other: Prospect) -> bool:
        """Whether each of two forms may cancel what the other needs."""
        return not any(map(other.offered.isdisjoint, self.needed)) and not any(
            map(self.offered.isdisjoint, other.needed)
        )
