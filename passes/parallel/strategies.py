"""What the ways of adding the terms of stencils cost, and which a user may ask for.

Gathering repeats what terms need for each of their shifts. Tiles keep terms, and run the iterations that two tiles
share twice. Both are nests of their own for each shadow, beside what is left of the loop. Blocks do all in one nest,
each iteration once, but add each row's terms to memory in several steps, and there is a barrier between two phases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adc.ir import ops
from adc.ir.core import Op
from adc.passes.costs import cost_of
from adc.passes.parallel.fission import Fission
from adc.passes.parallel.stencils import Stencil
from adc.passes.parallel.tiles import size_of

AUTO = "auto"
KINDS = (AUTO, "gather", "rows", "blocks", "colours", "private", "serial", "atomic")
"""What can be asked for; where it would not be right, what is right is done."""

KEEPING = 6.0  # a term, in units of ``costs``: storing and loading it
ADDING = 4.0  # to an element: loading, adding, storing it
GAIN = 1.2  # what is more complicated must be better by so much


@dataclass(frozen=True)
class Weighed:
    """What an iteration costs in nests of their own for each stencil, and in blocks for all."""

    separate: float
    together: float

    @property
    def favours_blocks(self) -> bool:
        return self.separate > GAIN * self.together


class Costs:
    """Of one iteration of a nest."""

    def __init__(self, fission: Fission) -> None:
        self.fission = fission

    def favour_tiles(self, stencil: Stencil) -> bool:
        """Whether repeating terms costs more than keeping them."""
        return self.gathered(stencil) > GAIN * self.tiled(stencil)

    def weigh(self, stencils: Sequence[Stencil]) -> Weighed:
        return Weighed(self.separate(stencils), self.together(stencils))

    def gathered(self, stencil: Stencil) -> float:
        return ADDING + sum(_cost(self._slice(stencil, [shift])) for shift in stencil.shifts)

    def tiled(self, stencil: Stencil) -> float:
        least, greatest = stencil.span(0)
        kept = _cost(self._slice(stencil, stencil.shifts)) + KEEPING * len(stencil.shifts)
        return ADDING + kept * (1 + (greatest - least) / size_of(stencil))

    def separate(self, stencils: Sequence[Stencil]) -> float:
        """A nest for each stencil, and one for what else the loop does."""
        total = sum(self.tiled(s) if self.favour_tiles(s) else self.gathered(s) for s in stencils)
        rest = [op for op in self.fission.position if op not in _terms(stencils) and op.opdef in _WRITES]
        results = self.fission.loop.regions[0].terminator.operands
        return total + _cost(self.fission.slice([v for op in rest for v in op.operands] + list(results))) + _cost(rest)

    def together(self, stencils: Sequence[Stencil]) -> float:
        """Blocks: the loop as it is, but for buffers of terms."""
        mine = _terms(stencils)
        total = _cost(op for op in self.fission.position if op not in mine and not op.regions)
        for stencil in stencils:
            targets = {shift[:-1] for shift in stencil.shifts}
            total += KEEPING * len(stencil.shifts) + ADDING * len(targets)
        return total

    def _slice(self, stencil: Stencil, shifts: Sequence[tuple[int, ...]]) -> set[Op]:
        return self.fission.slice(term.value for term in stencil.terms if term.shift in shifts)


_WRITES = frozenset({ops.store, ops.accumulate})


def _terms(stencils: Iterable[Stencil]) -> set[Op]:
    return {term.op for stencil in stencils for term in stencil.terms}


def _cost(found: Iterable[Op]) -> float:
    return sum(cost_of(op.opdef) for op in found)
