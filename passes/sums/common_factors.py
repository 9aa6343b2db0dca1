"""Terms of sums most of whose factors are the same in all iterations of a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence

from adc.ir import ops
from adc.ir.core import Func, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.passes.analysis.costs import has_known_length, trips
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.kinds import COUNTED
from adc.passes.checkpointing.conventions import is_over_steps
from adc.passes.sums.fixed import Fixed
from adc.passes.sums.touched import Touched

FEWEST_ITERATIONS = 8
"""The least trip count of the loop that sums: the loops after it repeat one iteration."""

FEWEST_SAVED = 4
"""The least number of iterations that are saved for each sum."""


@dataclass(frozen=True)
class Term:
    """``accumulate``, in ``loop``, adds the product of ``varying`` and ``fixed`` factors, perhaps negated.

    ``skipped``: the loops around it, innermost first, on which ``varying`` does not depend. ``kept``: loops further out
    on whose counters ``fixed``, the subscripts or the limits of ``skipped`` depend.
    """

    accumulate: Op
    loop: Op
    varying: tuple[Value, ...]
    fixed: tuple[Value, ...]
    negated: bool
    skipped: tuple[Op, ...]
    kept: tuple[Op, ...]

    @property
    def at(self) -> Op:
        """The operation before which the sum is added to."""
        return self.skipped[-1] if self.skipped else self.accumulate

    @property
    def saves(self) -> bool:
        if not all(has_known_length(loop) for loop in self.skipped):
            return True
        return math.prod(trips(loop) for loop in self.skipped) >= FEWEST_SAVED


class Finder:
    """Finds the terms of one function, as long as its code does not change."""

    def __init__(self, func: Func, analysis: Analysis) -> None:
        self._func = func
        self._analysis = analysis
        self._touched = Touched(analysis)

    def term(self, op: Op) -> Term | None:
        """``op`` as a term of the outermost loop out of which factors can be taken."""
        around: list[Op] = []
        for outer in enclosing(op.parent):
            if outer.opdef not in COUNTED and outer.opdef is not ops.if_:
                break
            around.append(outer)
        while around:
            loop = around.pop()
            if loop.opdef in COUNTED and not is_over_steps(self._func, loop) and _runs_often(loop):
                term = self._in_loop(op, loop, around)
                if term is not None:
                    return term
        return None

    def _in_loop(self, op: Op, loop: Op, between: Sequence[Op]) -> Term | None:
        """``op`` as a term of ``loop``. ``between``: the operations around ``op`` inside ``loop``, innermost first."""
        value, base, *subscripts = op.operands
        if inside(base, loop) or not self._touched.leaves(loop, base):
            return None
        fixed = Fixed(self._analysis, loop)
        for outer in reversed(between):
            if outer.opdef in COUNTED and all(fixed.holds(v) for v in outer.operands[:3]):
                fixed.counters.add(outer.regions[0].args[0])
        if not all(fixed.holds(v) for v in subscripts):
            return None
        negated, factors = _factors(value)
        same = tuple(v for v in factors if fixed.holds(v))
        varying = tuple(v for v in factors if v not in same)
        if not varying:
            return None
        skipped: list[Op] = []
        for outer in between:
            if outer.opdef not in COUNTED or any(inside(v, outer) for v in varying):
                break
            if outer.regions[0].args[0] not in fixed.counters:
                return None
            skipped.append(outer)
        used = fixed.counters_of([*same, *subscripts, *(v for s in skipped for v in s.operands[:3])])
        kept = [o for o in between[len(skipped) :] if o.opdef in COUNTED and o.regions[0].args[0] in used]
        if any(inside(v, loop) for outer in kept for v in outer.operands[:3]):
            return None  # the sums of a triangle are not worth a rectangle of memory
        return Term(op, loop, varying, same, negated, tuple(skipped), tuple(reversed(kept)))


def _runs_often(loop: Op) -> bool:
    return not has_known_length(loop) or trips(loop) >= FEWEST_ITERATIONS


def _factors(value: Value) -> tuple[bool, list[Value]]:
    """The factors of a product, and whether it is negated."""
    op = value.op
    if op is not None and op.opdef is ops.negf:
        negated, factors = _factors(op.operands[0])
        return not negated, factors
    if op is not None and op.opdef is ops.mulf:
        (one, left), (other, right) = (_factors(v) for v in op.operands)
        return one != other, [*left, *right]
    return False, [value]
