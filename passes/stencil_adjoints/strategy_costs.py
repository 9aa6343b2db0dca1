"""The costs of the ways of adding the terms of stencils.

Gathering repeats what terms need for each of their shifts. Tiles keep terms, and run the iterations that two tiles
share twice. Both are separate nests for each shadow, beside what is left of the loop. Blocks do everything in one nest,
each iteration once, but add each row's terms to memory in several steps, and there is a barrier between two phases.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence

from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.costs import cost_of, storage_cost
from adc.passes.analysis.kinds import ELEMENT_WRITES
from adc.passes.distribution.fission import Fission
from adc.passes.stencil_adjoints.stencils import Stencil
from adc.passes.stencil_adjoints.tiles import size_of

KEEPING = 6.0  # for a term, in units of ``costs``: storing and loading it
ADDING = 4.0  # for an element: loading, adding, storing it
GAIN = 1.2  # a more complicated way must be better by so much


@dataclass(frozen=True)
class Weighed:
    """The cost of an iteration in separate nests for the stencils, and in blocks for all."""

    separate: float
    together: float

    @property
    def favours_blocks(self) -> bool:
        return self.separate > GAIN * self.together


class Costs:
    """The costs of one iteration of a nest."""

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
        """A nest for each stencil, and one for the rest of the loop."""
        total = sum(self.tiled(s) if self.favour_tiles(s) else self.gathered(s) for s in stencils)
        rest = [op for op in self.fission.position if op not in _terms(stencils) and op.opdef in ELEMENT_WRITES]
        results = self.fission.loop.regions[0].terminator.operands
        return total + _cost(self.fission.slice([v for op in rest for v in op.operands] + list(results))) + _cost(rest)

    def together(self, stencils: Sequence[Stencil]) -> float:
        """Blocks: the loop as it is, except for buffers of terms."""
        mine = _terms(stencils)
        total = _cost(op for op in self.fission.position if op not in mine and not op.regions)
        for stencil in stencils:
            targets = {shift[:-1] for shift in stencil.shifts}
            total += KEEPING * len(stencil.shifts) + ADDING * len(targets)
        return total

    def weigh_with(self, before: Op, stencils: Sequence[Stencil]) -> Weighed:
        """The same if the loop ``before`` were part of this one: then what both compute is computed once, and what the
        first keeps for the second needs no memory."""
        alone = [op for op in before.regions[0].walk() if not op.regions]
        again, kept = _shared(before, self.fission.loop)
        weighed = self.weigh(stencils)
        tape = math.fsum(storage_cost(store.operands[0]) for store in kept)
        left = _cost(op for op in alone if op not in again and op not in kept)
        return Weighed(weighed.separate + _cost(alone) + tape, weighed.together + left)

    def _slice(self, stencil: Stencil, shifts: Sequence[tuple[int, ...]]) -> set[Op]:
        return self.fission.slice(term.value for term in stencil.terms if term.shift in shifts)


def _terms(stencils: Iterable[Stencil]) -> set[Op]:
    return {term.op for stencil in stencils for term in stencil.terms}


def _shared(one: Op, other: Op) -> tuple[set[Op], set[Op]]:
    """What loop ``one`` computes or loads that loop ``other``, of the same range, computes or loads too; and its stores
    to arrays of the function's own that the other loop loads from."""
    found: dict[Hashable, Op] = {}
    numbers: dict[Value, Hashable] = {}
    again: set[Op] = set()
    loads: set[Hashable] = set()
    for loop in (other, one):
        for depth, nested in enumerate(_nest(loop)):
            numbers[nested.regions[0].args[0]] = depth
        for op in loop.regions[0].walk():
            if op.regions or not (op.opdef.pure or op.opdef is ops.load):
                continue
            key = (op.opdef, attr_key(op.attrs), *(numbers.get(v, v) for v in op.operands))
            first = found.setdefault(key, op)
            if first is not op and loop is one:
                again.add(op)
            numbers.update((r, (first, r.index)) for r in op.results)
            if op.opdef is ops.load and loop is other:
                loads.add(key[2:])
    stores = [op for op in one.regions[0].walk() if op.opdef is ops.store]
    local = [op for op in stores if op.operands[1].op is not None and op.operands[1].op.opdef is ops.alloc]
    return again, {op for op in local if tuple(numbers.get(v, v) for v in op.operands[1:]) in loads}


def _nest(loop: Op) -> Iterator[Op]:
    """``loop``, and as long as there is exactly one loop inside, that loop."""
    inner: list[Op] = [loop]
    while len(inner) == 1 and inner[0].opdef is ops.parallel:
        yield inner[0]
        inner = [op for op in inner[0].regions[0].ops if op.regions]


def _cost(found: Iterable[Op]) -> float:
    return math.fsum(cost_of(op.opdef) for op in found)  # whatever the order of a set
