"""When private copies never pay, whatever the extents turn out to be: then no code is made for them.

Copies pay if iterations do much more work than there are elements. If the subscripts of a term follow each loop of the
nest, each in a dimension of its own, no loop has more iterations than its dimension has elements, so the nest has no
more iterations than there are elements. Then the cost of an iteration decides, and that is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from adc.ir.core import Block, Op
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.costs import cost_of
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.form_conditions import TRUE
from adc.passes.analysis.kinds import COUNTED, LOOPS
from adc.passes.analysis.ranges import Ranges

Dims = frozenset[int]


def may_pay(analysis: Analysis, loop: Op, groups: Sequence[Sequence[Op]], least: float) -> bool:
    """Whether ``loop`` may do ``least`` operations, or more, for each element that any of ``groups`` adds to."""
    return all(_PerElement(analysis.forms, group).of_loop(loop, None) >= least for group in groups)


class _PerElement:
    """The most operations that a nest does for each element of the array that ``group`` adds to."""

    def __init__(self, forms: Forms, group: Sequence[Op]) -> None:
        self._forms = forms
        self._subscripts = [op.operands[2:] for op in group]

    def of_loop(self, loop: Op, free: Dims | None) -> float:
        """The same for one loop. ``free``: the dimensions that no loop around has taken; None: all of them."""
        dims = range(len(self._subscripts[0])) if free is None else free
        taken = next((d for d in dims if self._follows(loop, d)), None)
        if loop.opdef not in COUNTED or taken is None:
            return math.inf
        return self._of_block(loop.regions[0], frozenset(dims) - {taken})

    def _of_block(self, block: Block, free: Dims) -> float:
        total = sum(cost_of(op.opdef) for op in block.ops if not op.regions) + 1
        for op in block.ops:
            if op.regions and op.opdef not in LOOPS:
                total += sum(self._of_block(region, free) for region in op.regions)
        return total + sum(max(self.of_loop(loop, free) for loop in row) for row in self._rows(block))

    def _rows(self, block: Block) -> Iterator[list[Op]]:
        """The loops of a block; those whose ranges follow each other, like parts of one range, are together."""
        row: list[Op] = []
        for loop in (op for op in block.ops if op.opdef in LOOPS):
            if not all(self._apart(other, loop) for other in row):
                yield row
                row = []
            row.append(loop)
        if row:
            yield row

    def _apart(self, loop: Op, other: Op) -> bool:
        """Whether one range ends before the other begins. A reverse sweep goes through them in reverse order."""
        if loop.opdef not in COUNTED or other.opdef not in COUNTED:
            return False
        (lower, upper), (low, high) = ([self._forms.of(v) for v in o.operands[:2]] for o in (loop, other))
        ranges = Ranges(self._forms)
        return any(ranges.nonnegative(between) == TRUE for between in (low - upper, lower - high))

    def _follows(self, loop: Op, dim: int) -> bool:
        """Whether distinct iterations of ``loop`` have distinct subscripts in ``dim``."""
        counter = self._forms.symbol(loop.regions[0].args[0])
        factors = (self._forms.of(at[dim]).split(counter)[0] for at in self._subscripts)
        return any(factor.is_constant and factor.constant != 0 for factor in factors)
